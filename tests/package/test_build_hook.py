"""`hatch_build.py`: the dashboard is built where Node.js is there, and an install works without it."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[2]
BUILDS: Final = """#!/bin/sh
echo "$@" >> calls
test "$1" = run && mkdir -p ../src/horae/api/static && echo page > ../src/horae/api/static/index.html
exit 0
"""
FAILS: Final = "#!/bin/sh\necho 'no network' >&2\nexit 1\n"


class App:
    """Hatch's terminal."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def display_warning(self, text: str) -> None:
        self.warnings.append(text)

    def display_info(self, text: str) -> None: ...


@pytest.fixture(scope="module")
def hook_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout without a built dashboard, and a folder for programs that is all of the path."""
    (tmp_path / "web").mkdir()
    (tmp_path / "web/package.json").write_text("{}")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setattr("shutil.which", lambda name: _which(tmp_path / "bin" / name))
    return tmp_path


def _which(program: Path) -> str | None:
    return str(program) if program.exists() else None


def program(checkout: Path, name: str, text: str) -> None:
    file = checkout / "bin" / name
    file.write_text(text)
    file.chmod(0o755)


def build(hook_module: ModuleType, checkout: Path, version: str = "standard") -> list[str]:
    """Run the hook; return its warnings."""
    app: Any = App()
    hook = hook_module.DashboardHook(str(checkout), {}, None, None, str(checkout), "wheel", app)
    hook.initialize(version, {})
    return list(app.warnings)


def test_the_dashboard_is_built(hook_module: ModuleType, checkout: Path) -> None:
    program(checkout, "node", "#!/bin/sh\necho v24.1.0\n")
    program(checkout, "npm", BUILDS)
    assert build(hook_module, checkout) == []
    assert (checkout / hook_module.PAGE).read_text() == "page\n"
    calls = (checkout / "web/calls").read_text()
    assert build(hook_module, checkout) == []  # what is there is not built again
    assert (
        (checkout / "web/calls").read_text()
        == calls
        == "ci --no-audit --no-fund\nrun --silent build\n"
    )


@pytest.mark.parametrize(
    ("node", "npm", "why"),
    [
        (None, None, "Node.js was not found"),
        ("#!/bin/sh\necho v24.1.0\n", None, "npm was not found"),
        ("#!/bin/sh\necho v18.2.0\n", BUILDS, "Node.js v18.2.0 is too old"),
        ("#!/bin/sh\necho what\n", BUILDS, "the version of Node.js cannot be read"),
        ("#!/bin/sh\necho v24.1.0\n", FAILS, "npm ci failed"),
    ],
)
def test_without_node_the_install_goes_on_and_says_what_to_run(
    hook_module: ModuleType, checkout: Path, node: str | None, npm: str | None, why: str
) -> None:
    for name, text in (("node", node), ("npm", npm)):
        if text is not None:
            program(checkout, name, text)
    [warning] = build(hook_module, checkout)
    assert warning.startswith(why)
    assert "make web" in warning
    assert ("no network" in warning) is (npm is FAILS)


def test_nothing_is_built_for_an_editable_install_or_without_the_sources_of_the_page(
    hook_module: ModuleType, checkout: Path
) -> None:
    program(checkout, "node", "#!/bin/sh\necho v24.1.0\n")
    program(checkout, "npm", BUILDS)
    assert build(hook_module, checkout, "editable") == []
    (checkout / "web/package.json").unlink()
    assert build(hook_module, checkout) == []
    assert not (checkout / hook_module.PAGE).exists()
