"""What each extra needs is declared: it works where nothing else is installed than that."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from itertools import chain
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement

PYPROJECT: Final = Path(__file__).parents[2] / "pyproject.toml"
USES: Final = {
    "": [
        "horae.cli.main",
        "horae.runtime.node.node",
        "horae.storage.migrations.scripts",
        "horae.testing",
        "aiosqlite",
    ],
    "postgres": ["horae.wakeup.postgres", "psycopg_binary"],
    "redis": ["horae.live.redis", "horae.wakeup.redis", "redis.asyncio"],
    "web": ["horae.api.application", "uvicorn.protocols.http.h11_impl", "uvicorn.lifespan.on"],
    "celery": ["horae.contrib.celery.worker", "celery.apps.worker", "celery.concurrency.prefork"],
    "celery,redis": ["celery.apps.worker", "kombu.transport.redis"],
}
"""Modules by the extras that have to be enough for them."""
IMPORT: Final = """
import sys
from importlib import import_module
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
for name in names:
    import_module(name)
"""


def installed_with(extras: str) -> set[str]:
    """The distributions that pip installs for the package with these extras."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    optional = [project["optional-dependencies"][extra] for extra in extras.split(",") if extra]
    todo = [Requirement(line) for line in chain(project["dependencies"], *optional)]
    steps: set[tuple[str, frozenset[str]]] = set()
    while todo:
        needed = todo.pop()
        step = (canonical(needed.name), frozenset(needed.extras))
        if step not in steps:
            steps.add(step)
            todo += required_by(needed)
    return {"horae", *(name for name, _ in steps)}


def required_by(needed: Requirement) -> list[Requirement]:
    try:
        lines = requires(needed.name) or ()
    except PackageNotFoundError:  # for another system or version of Python
        return []
    chosen = [{"extra": extra} for extra in ("", *needed.extras)]
    found = [Requirement(line) for line in lines]
    return [each for each in found if each.marker is None or any(map(each.marker.evaluate, chosen))]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("extras", USES)
def test_what_an_extra_imports_is_declared(extras: str) -> None:
    installed = installed_with(extras)
    absent = {
        module
        for module, distributions in packages_distributions().items()
        if not installed.intersection(map(canonical, distributions))
    }
    assert {"pytest", "mypy"} <= absent
    program = f"absent, names = {absent!r}, {USES[extras]!r}\n{IMPORT}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
