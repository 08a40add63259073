"""The guide to forecasts works as described."""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.docs.transcripts import ROOT, commands_of, is_as_shown, run

PAGE: Final = "docs/guides/forecast.md"
PYTHON: Final = re.findall(
    r"```python\n(.*?)```", (ROOT / PAGE).read_text(encoding="utf-8"), re.DOTALL
)


@pytest.mark.slow
def test_its_commands_print_what_is_shown(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(PYTHON[0])
    commands = commands_of(PAGE)
    assert len(commands) == 4
    for command in commands:
        printed = run(command, tmp_path, {})
        assert is_as_shown(command, printed), printed


def test_its_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {"__name__": "app"}
    exec(PYTHON[0], scope)
    scope["horae"].deploy()
    try:
        exec(PYTHON[1], scope)
    finally:
        scope["horae"].close()
