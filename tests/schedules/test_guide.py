"""The commands in the guide to schedules work as written."""

import re
from pathlib import Path
from typing import Any

import pytest

from horae import ScheduleAlreadyExists
from horae.storage.engine.database import Database
from tests.harness.applications import url_of

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "schedules.md"


def test_its_examples_run_one_after_the_other(database: Database) -> None:
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    scope: dict[str, Any] = {"__name__": "app"}
    for block in blocks:
        exec(block.replace("sqlite:///horae.db", url_of(database)), scope)
    horae = scope["horae"]
    try:
        assert [item.name for item in horae.schedules.list()] == ["weekly"]
        with pytest.raises(ScheduleAlreadyExists):
            horae.schedules.add("send_report", name="weekly", every="1 week", config={"to": "x"})
        horae.deploy()
        assert horae.schedules.get("purge_sessions").module == "app"
        shown = re.findall(r"```\n(module.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[0]
        assert set(shown.splitlines()) <= set(horae.schema.splitlines())
    finally:
        horae.close()
