"""A share of the faults that `make faults` causes, drawn by a seed, with shortened limits and under a steady load."""

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from tests.faults.measure.measuring import BRIEF, measure
from tests.faults.measure.scenarios import SCENARIOS, Need
from tests.faults.measure.settings import prepared
from tests.harness.figures import figure

SEED: Final = int(os.environ.get("TEST_SEED", "20260101"))
SHARE: Final = {"sqlite": 1, "postgresql": 2, "pgbouncer": 1}
"""Scenarios that are drawn for each kind of database."""
SILENCE: Final = 1.5
"""Seconds after which a node counts as dead here."""
GRACE: Final = 0.3
"""Seconds that bodies have when their node is told to end."""


def drawn(kind: str) -> list[str]:
    """Return the names of the scenarios for this kind of database; those that need root only if this is root."""
    possible = [
        name
        for name, scenario in SCENARIOS.items()
        if kind in scenario.on and (Need.DISK not in scenario.needs or os.geteuid() == 0)
    ]
    return sorted(Random(f"{SEED} {kind}").sample(possible, SHARE[kind]))


def cases() -> Iterator[Any]:
    """Yield a kind of database and a scenario; those of PostgreSQL, whose faults other files cause, are for the night."""
    for kind in SHARE:
        marks = [] if kind == "sqlite" else [pytest.mark.postgres, pytest.mark.nightly]
        for name in drawn(kind):
            yield pytest.param(kind, name, marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [*cases()])
def test_the_nodes_recover_by_themselves(kind: str, name: str, tmp_path: Path) -> None:
    scenario = SCENARIOS[name]
    with prepared(kind, scenario, tmp_path / "scene", silence=SILENCE, grace=GRACE) as scene:
        outcome = measure(scene, scenario, scenario.briefly, BRIEF)
    figure(f"{kind}, {name}: {outcome}")
    assert outcome.problems == []
