"""The files for public forges and for pre-commit call what the project has: targets of the Makefile, tools of .venv."""

import re
import tomllib
from typing import Any, Final

import pytest

from tests.docs.transcripts import ROOT

CI: Final = (".ci/run", ".github/workflows/ci.yml", ".gitlab-ci.yml")
MAKEFILE: Final = (ROOT / "Makefile").read_text(encoding="utf-8")


def text_of(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("file", [*CI, "CONTRIBUTING.md", "docs/project/releasing.md"])
def test_each_make_target_exists(file: str) -> None:
    called = re.findall(r"(?m)(?:^|[`$ ])make((?: [a-z][a-z-]*)+)(?=$|[`#\s\"])", text_of(file))
    targets = {target for group in called for target in group.split()}
    assert targets
    assert {target for target in targets if not re.search(rf"(?m)^{target}:", MAKEFILE)} == set()


@pytest.mark.parametrize("file", CI[1:])
def test_ci_runs_every_supported_python_on_both_databases(file: str) -> None:
    project: dict[str, Any] = tomllib.loads(text_of("pyproject.toml"))["project"]
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    listed = re.findall(r"\"(3\.\d+)\"", text_of(file))
    assert set(declared) <= set(listed)
    assert re.findall(r"\bpostgres\b", text_of(file)), (
        "nothing chooses the tests that need PostgreSQL"
    )
    assert "not postgres" in text_of(file)


def test_hooks_use_the_tools_of_the_checkout() -> None:
    hooks = text_of(".pre-commit-config.yaml")
    assert re.findall(r"(?m)^  - repo: (.*)$", hooks) == ["local"]
    tools = set(re.findall(r"\.venv/bin/([\w-]+)", hooks))
    assert tools == {"ruff", "mypy", "lint-imports", "python", "mkdocs"}
