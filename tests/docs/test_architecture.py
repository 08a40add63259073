"""The pages on the architecture name modules that exist, and the diagrams show the moves that the code allows."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import pytest

from horae.domain.jobs import job
from horae.domain.schedules import schedule
from tests.docs.transcripts import ROOT

PAGES: Final = ("concepts/architecture.md", "project/style.md")
MOVE: Final = re.compile(r"<title>(\w+) → (\w+): ([\w, ]+)</title>")


@pytest.mark.parametrize("page", PAGES)
def test_modules_named_in_the_docs_exist(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = {
        name.removeprefix("src/horae/")
        for name in re.findall(r"`([a-z_/]+/[a-z_]+(?:\.py|/)?)`", text)
    }
    package = ROOT / "src/horae"
    ours = {name for name in named if (package / name.partition("/")[0]).exists()}
    assert ours
    assert {name for name in ours if not (package / name).exists()} == set()


@pytest.mark.parametrize(
    ("diagram", "moves"), [("job", job.NEXT_STATE), ("schedule", schedule.NEXT_STATE)]
)
def test_a_diagram_of_states_shows_every_move_and_no_other(
    diagram: str, moves: Mapping[tuple[StrEnum, StrEnum], StrEnum]
) -> None:
    drawing = (ROOT / f"docs/diagrams/{diagram}-states.svg").read_text(encoding="utf-8")
    found: list[Any] = MOVE.findall(drawing)
    drawn = {
        (before, event, after) for before, after, events in found for event in events.split(", ")
    }
    assert drawn == {
        (before.value, event.value, after.value) for (before, event), after in moves.items()
    }


def test_the_table_of_events_shows_every_move_of_a_job_and_no_other() -> None:
    page = (ROOT / "docs/concepts/architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (.+) → `(\w+)` \|", page, re.MULTILINE)
    shown = {
        (before, event, after)
        for event, states, after in rows
        for before in re.findall(r"`(\w+)`", states)
    }
    assert shown == {
        (before.value, event.value, after.value)
        for (before, event), after in job.NEXT_STATE.items()
    }
