"""The guides of jobs, limits and classes: their code runs, and no option is missing."""

import inspect
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from horae import Horae, JobState, JobType
from horae.types.keywords import JobKeywords
from horae.types.options import START_OPTIONS

GUIDES = Path(__file__).parents[2] / "docs/guides"
GUIDE = "".join((GUIDES / f"{page}.md").read_text() for page in ("jobs", "limits", "classes"))
CODE = "".join(re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL))
APPLICATION = 'horae = Horae("sqlite:///shop.db")\n'
FIRST, *REST = re.sub(r"^\S.*\bawait .*\n", "", CODE, flags=re.MULTILINE).split(APPLICATION)
PROGRAM = FIRST + APPLICATION + "".join(REST)
"""All blocks for one application, without the lines that only a coroutine can run."""


def test_their_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "shop"}
    exec(compile(PROGRAM, "guides", "exec", dont_inherit=True), names)
    horae: Horae = names["horae"]
    names["Base"].metadata.create_all(horae.components.database.engine)
    with horae.components.database.engine.begin() as connection:
        connection.execute(text("INSERT INTO tables VALUES (7)"))
    assert horae.jobs.start("rebuild", tables=["a", "b"], sync=True).progress_percentage == 100
    assert horae.jobs.start("copy_table", table_id=7, sync=True).result == 7
    assert horae.jobs.count()[JobState.CANCELLED] == 1
    crawl = horae.registry.get("crawl")
    crawl.time_limits = replace(crawl.time_limits, soft=timedelta(milliseconds=200))
    crawled = horae.jobs.start("crawl", pages=["page"] * 600, sync=True)
    assert (crawled.state, len(crawled.result) < 600) == ("finished", True)
    horae.close()


@pytest.mark.parametrize("option", JobKeywords.__annotations__)
def test_they_name_each_option_of_a_type(option: str) -> None:
    assert f"`{option}`" in GUIDE


@pytest.mark.parametrize("option", sorted(START_OPTIONS - {"job_type"}))
def test_they_name_each_option_of_a_start(option: str) -> None:
    assert f"`{option}`" in GUIDE


@pytest.mark.parametrize(
    "hook",
    [name for name, one in vars(JobType).items() if inspect.isfunction(one) and name[0] != "_"],
)
def test_they_name_each_hook(hook: str) -> None:
    assert f"`{hook}" in GUIDE or f"def {hook}(" in GUIDE or hook in {"explain", "named"}
