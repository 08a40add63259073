"""The wheel contains the dashboard, although it is not in git."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final
from urllib.request import urlopen
from zipfile import ZipFile

import pytest

ROOT: Final = Path(__file__).parents[2]
STATIC: Final = "horae/api/static"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZipFile]:
    """Build it as for a release: a source distribution, and the wheel from that."""
    checkout, made = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, checkout)
    shutil.copytree(ROOT / "src", checkout / "src", ignore=shutil.ignore_patterns("__pycache__"))
    if not (checkout / "src" / STATIC / "index.html").is_file():
        pytest.fail("the dashboard is not built: run `make web`")
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        str(made),
        str(checkout),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with ZipFile(next(made.glob("*.whl"))) as opened:
        yield opened


@pytest.mark.slow
def test_it_has_the_dashboard_with_every_file_that_its_page_names(wheel: ZipFile) -> None:
    index = wheel.read(f"{STATIC}/index.html").decode()
    named = re.findall(r'(?:src|href)="\./([^"]+)"', index)
    assert any(name.endswith(".js") for name in named)
    assert {f"{STATIC}/{name}" for name in named} <= set(wheel.namelist())


@pytest.mark.slow
def test_it_has_all_that_the_build_left_and_the_types(wheel: ZipFile) -> None:
    built = {
        f"{STATIC}/{file.relative_to(ROOT / 'src' / STATIC)}"
        for file in (ROOT / "src" / STATIC).rglob("*.*")
    }
    assert built <= set(wheel.namelist())
    assert "horae/py.typed" in wheel.namelist()


@pytest.mark.slow
def test_it_has_the_licence_of_each_library_in_its_page(wheel: ZipFile) -> None:
    notices = wheel.read(f"{STATIC}/licenses.md").decode()
    named = re.findall(r"^## (\S+) - [\d.]+ \(MIT\)$", notices, re.MULTILINE)
    assert {
        "@vue/reactivity",
        "@vue/runtime-core",
        "@vue/runtime-dom",
        "pinia",
        "uplot",
        "vue-router",
    } <= set(named)
    assert len(re.findall(r"^## ", notices, re.MULTILINE)) == len(named), (
        "a library under another licence than MIT"
    )
    assert notices.count("Permission is hereby granted") == len(named)


def first_job() -> str:
    """The application of the README."""
    [code] = re.findall(r"(?ms)^```python\n(# app\.py\n.*?)^```", (ROOT / "README.md").read_text())
    return str(code)


@pytest.mark.slow
def test_in_an_environment_of_its_own_it_runs_the_first_job_of_the_readme(
    wheel: ZipFile, tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv/bin/python"
    [packages] = (tmp_path / "venv/lib").glob("python*/site-packages")
    wheel.extractall(packages)
    # The libraries are those of the tests; a path in a .pth file takes none of their .pth files
    # along, and so not the checkout.
    (packages / "libraries.pth").write_text(sysconfig.get_path("purelib"))
    (tmp_path / "app.py").write_text(first_job())
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    run = partial(
        subprocess.Popen, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    )
    with run([python, "-m", "horae", "run", "app:horae", "--port", "0", "--local-staff"]) as node:
        try:
            assert node.stdout is not None
            ready = node.stdout.readline()
            address = ready.rpartition("; ")[2].strip()
            with run([python, "app.py"]) as first:
                assert first.communicate(timeout=60)[0] == "3\n"
            with urlopen(address) as page:  # its own server
                assert 'src="./assets/' in page.read().decode()
        finally:
            node.terminate()
    with run([python, "-c", "import horae; print(horae.__file__)"]) as where:
        assert where.communicate()[0].startswith(str(packages))


@pytest.mark.slow
def test_nothing_of_a_checkout_is_in_it(wheel: ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"horae"}
