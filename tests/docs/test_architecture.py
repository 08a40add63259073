"""The pages on the architecture name modules that exist, and the diagram shows the moves that the code allows."""

import re
from pathlib import Path
from typing import Final

import pytest

from horae.domain.jobs.job import NEXT_STATE
from tests.docs.transcripts import ROOT

PAGES: Final = ("concepts/architecture.md", "project/style.md")
MOVE: Final = re.compile(r"<title>(\w+) → (\w+): ([\w, ]+)</title>")


@pytest.mark.parametrize("page", PAGES)
def test_what_is_named_exists(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = {name.removeprefix("src/horae/") for name in re.findall(r"`([a-z_/]+/[a-z_]+(?:\.py|/)?)`", text)}
    package = ROOT / "src/horae"
    ours = {name for name in named if (package / name.partition("/")[0]).exists()}
    assert ours
    assert {name for name in ours if not (package / name).exists()} == set()


def test_the_diagram_of_states_shows_every_move_and_no_other() -> None:
    drawing = Path(ROOT / "docs/diagrams/job-states.svg").read_text(encoding="utf-8")
    drawn = {(before, event, after) for before, after, events in MOVE.findall(drawing) for event in events.split(", ")}
    assert drawn == {(before.value, event.value, after.value) for (before, event), after in NEXT_STATE.items()}
