"""Some of the removals are caught, and the page lists all of them. `make ablations` tries each."""

from pathlib import Path
from typing import Final

import pytest

from tests.simulation.ablate import caught
from tests.simulation.ablations import ABLATIONS, Ablation

PAGE: Final = (Path(__file__).parents[2] / "docs/concepts/simulation.md").read_text(
    encoding="utf-8"
)
QUICK: Final = (
    "lease-not-raised",
    "cancel-in-live-store-only",
    "overlap-unlocked",
    "hook-not-owed",
)
"""Removals that a few seeds catch."""


@pytest.mark.parametrize("name", QUICK)
def test_a_removal_is_caught(name: str) -> None:
    assert caught(name).seed is not None


@pytest.mark.parametrize("ablation", ABLATIONS, ids=[each.name for each in ABLATIONS])
def test_what_a_removal_replaces_is_there(ablation: Ablation) -> None:
    with ablation.patch():
        pass


def test_the_page_lists_every_guard() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    assert [each.guard for each in ABLATIONS if not any(each.guard in row for row in rows)] == []
