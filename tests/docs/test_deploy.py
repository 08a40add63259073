"""The files of `examples/deploy` are valid, and what they run exists: units, manifests and the container file."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import make_url

from horae.cli.command_group import lazy_commands
from horae.domain.cluster.roles import NodeRole, parse_roles
from horae.domain.times.duration import parse_duration
from horae.settings import OTHER_VARIABLES, Settings, settings
from tests.docs.transcripts import ROOT

FOLDER: Final = ROOT / "examples/deploy"
UNITS: Final = sorted((FOLDER / "systemd").glob("*.service"))
MANIFESTS: Final = sorted((FOLDER / "kubernetes").glob("*.yaml"))
DOCKERFILE: Final = (FOLDER / "docker/Dockerfile").read_text()
GUIDE: Final = (ROOT / "docs/guides/fleets.md").read_text()
AFTER_GRACE: Final = 5.0
"""Seconds after the grace period within which a node ends."""
APPLICATION: Final = """
from horae import Horae

horae = Horae()

@horae.job
def work() -> None: ...
"""

yaml: Any = import_module("yaml")


def parse(arguments: list[str]) -> dict[str, Any]:
    """Parse the arguments of `horae` as the program does; return the options of the command."""
    command: Any = lazy_commands()[arguments[0]].load()
    rest = arguments[1:]
    while hasattr(command, "commands"):
        command, rest = command.commands[rest[0]], rest[1:]
    return dict(command.make_context("horae", rest).params)


def seconds(text: str) -> float:
    return parse_duration("grace", text).total_seconds()


def variables(text: str) -> dict[str, str]:
    """Read lines such as `NAME=value`."""
    return dict(
        line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#")
    )


def check_settings(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Check that these variables are settings with valid values."""
    for name, value in given.items():
        assert (
            name in OTHER_VARIABLES or name.removeprefix("HORAE_").lower() in Settings.model_fields
        ), name
        monkeypatch.setenv(name, value)
    return settings()


SHARED: Final = variables((FOLDER / "systemd/horae.env").read_text())


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_valid_and_waits_for_the_grace_period(unit: Path, tmp_path: Path) -> None:
    lines = variables(unit.read_text())
    program, *arguments = shlex.split(lines["ExecStart"].replace("%H-%i", "host-1"))
    assert program == "/srv/shop/.venv/bin/horae"
    given = parse(arguments)
    if "horae run" in lines["ExecStart"]:
        assert parse_roles(given["roles"])
        assert float(lines["TimeoutStopSec"]) == seconds(SHARED["HORAE_GRACE"]) + AFTER_GRACE
        assert lines["KillMode"] == "mixed"
        if parse_roles(given["roles"]) != (NodeRole.WEB,):
            assert SHARED["HORAE_JOURNAL_DIR"] == f"/run/{lines['RuntimeDirectory']}"
            assert (
                lines["RuntimeDirectoryPreserve"] == "yes"
            )  # it is shared, and outlives a killed node
    if (analyze := shutil.which("systemd-analyze")) is not None:
        for each in UNITS:
            executable = each.read_text().replace("/srv/shop/.venv/bin/horae", "/bin/true")
            (tmp_path / each.name).write_text(executable)
        done = subprocess.run(
            [analyze, "verify", "--recursive-errors=no", tmp_path / unit.name.replace("@.", "@1.")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_the_settings_of_the_units_are_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_settings(SHARED, monkeypatch).grace.total_seconds() == seconds(
        SHARED["HORAE_GRACE"]
    )
    assert set(variables((FOLDER / "systemd/web.env").read_text())) >= {"HORAE_TOKENS"}


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_files_that_a_unit_names_exist_and_give_it_its_role(
    unit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, str] = {}
    for name in re.findall(r"^EnvironmentFile=/etc/horae/(.*)$", unit.read_text(), re.MULTILINE):
        given |= variables((FOLDER / "systemd" / name).read_text())
    of = {"horae-web": "shop_web", "horae-migrate": "shop_owner"}.get(unit.stem, "shop_worker")
    assert make_url(check_settings(given, monkeypatch).database).username == of


def documents() -> Iterator[dict[str, Any]]:
    """All objects of the manifests."""
    for manifest in MANIFESTS:
        yield from yaml.safe_load_all(manifest.read_text())


OBJECTS: Final = {(each["kind"], each["metadata"]["name"]): each for each in documents()}
PODS: Final = {
    name: each["spec"]["template"]["spec"]
    for (kind, name), each in OBJECTS.items()
    if kind in ("Deployment", "Job")
}


def environment_of(container: dict[str, Any]) -> dict[str, str]:
    """The variables that a container gets from the objects which it names."""
    found: dict[str, str] = {}
    for source in container["envFrom"]:
        [(reference, named)] = source.items()
        kind = {"configMapRef": "ConfigMap", "secretRef": "Secret"}[reference]
        found |= OBJECTS[kind, named["name"]].get(
            "data" if kind == "ConfigMap" else "stringData", {}
        )
    return found


@pytest.mark.parametrize("name", sorted(PODS))
def test_a_pod_runs_what_exists(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    [container] = PODS[name]["containers"]
    arguments = parse(container["args"])
    given = check_settings(environment_of(container), monkeypatch)
    if container["args"][0] != "run":
        assert container["args"] == ["migrate", "up"]
        assert "owner" in given.database
        return
    assert PODS[name]["enableServiceLinks"] is False
    assert PODS[name]["terminationGracePeriodSeconds"] == given.grace.total_seconds() + AFTER_GRACE
    roles = parse_roles(arguments["roles"])
    assert "web" in roles  # for the probes
    if roles != (NodeRole.WEB,):
        [mount], [volume] = container["volumeMounts"], PODS[name]["volumes"]
        assert (mount["name"], mount["mountPath"]) == (volume["name"], str(given.journal_dir))
    assert given.tokens
    assert given.port == container["ports"][0]["containerPort"]
    assert [
        container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")
    ] == [
        "/healthz",
        "/readyz",
    ]


def test_every_role_is_deployed_and_labels_agree() -> None:
    deployments = [each for (kind, _), each in OBJECTS.items() if kind == "Deployment"]
    roles = {
        role
        for each in deployments
        for role in parse(PODS[each["metadata"]["name"]]["containers"][0]["args"])["roles"].split(
            ","
        )
    }
    assert roles == {"worker", "scheduler", "web"}
    for each in deployments:
        assert (
            each["spec"]["selector"]["matchLabels"]
            == each["spec"]["template"]["metadata"]["labels"]
        )
    served = OBJECTS["Service", "shop-web"]["spec"]["selector"]
    assert served in [each["spec"]["selector"]["matchLabels"] for each in deployments]


def test_the_autoscaler_reads_a_metric_that_exists_for_a_queue_that_is_served() -> None:
    scaled = OBJECTS["ScaledObject", "shop-export-workers"]["spec"]
    [trigger] = scaled["triggers"]
    metric, queue = re.fullmatch(
        r'max\((\w+)\{queue="(\w+)"\}\)', trigger["metadata"]["query"]
    ).groups()  # type: ignore[union-attr]
    assert f'"{metric}"' in (ROOT / "src/horae/api/metrics.py").read_text()
    arguments = parse(PODS[scaled["scaleTargetRef"]["name"]]["containers"][0]["args"])
    assert queue in arguments["queues"].split(",")
    assert float(trigger["metadata"]["threshold"]) == arguments["concurrency"] * 60
    shown = [
        block
        for block in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
        if "ScaledObject" in block
    ]
    assert [yaml.safe_load(block) for block in shown] == [
        OBJECTS["ScaledObject", "shop-export-workers"]
    ]


def instructions(kind: str) -> list[str]:
    return re.findall(rf"^{kind} (.*)$", DOCKERFILE, re.MULTILINE)


def test_the_requirements_of_the_image_are_extras_that_exist() -> None:
    [line] = (FOLDER / "docker/requirements.txt").read_text().splitlines()
    extras = re.fullmatch(r"horae\[([\w,]+)\]", line).group(1).split(",")  # type: ignore[union-attr]
    assert (
        set(extras)
        <= tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
            "optional-dependencies"
        ].keys()
    )


@pytest.mark.slow
def test_the_commands_of_the_image_run_and_stop_in_order(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    image = variables("\n".join(instructions("ENV")[0].split()))
    environment = {**os.environ, **image, "HORAE_DATABASE": f"sqlite:///{tmp_path}/horae.db"}
    [entry], command = (
        yaml.safe_load(instructions("ENTRYPOINT")[0]),
        yaml.safe_load(instructions("CMD")[0]),
    )
    assert entry == "horae"
    horae = [sys.executable, "-m", entry]
    subprocess.run(
        [*horae, "migrate", "up"], cwd=tmp_path, env=environment, check=True, capture_output=True
    )
    node = subprocess.Popen(
        [*horae, *command], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert node.stdout is not None
        assert '"event":"ready"' in node.stdout.readline()
        node.send_signal(getattr(signal, instructions("STOPSIGNAL")[0]))
        assert node.wait(60) == 0
    finally:
        node.kill()
        node.communicate()
