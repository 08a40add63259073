"""What the rule of rates in simulations finds, and what it lets pass, in starts that are written here."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from tests.simulation import feature_invariants
from tests.simulation.world import EPOCH


def rates(kind: str, *starts: tuple[float, float]) -> list[str]:
    """Apply the rule to starts of one type and key: when each was counted, and when its statement arrived."""
    rows = [
        {"job_id": 1, "node_id": "n0.1", "started_at": round((EPOCH + counted) * 1e6), "at": made}
        for counted, made in starts
    ]
    return list(feature_invariants._rates(History(kind, rows)))  # noqa: SLF001


class History(feature_invariants.History):
    """A history that consists of starts of one type."""

    def __init__(self, kind: str, rows: Sequence[Any]) -> None:
        self._kind, self._rows = kind, rows
        self.answers = SimpleNamespace(steady_clock=True)
        self.jobs = {1: {"params": '{"key": 0}'}}

    def starts(self, types: str) -> Any:
        return iter(self._rows if types == self._kind else ())


@pytest.mark.parametrize("kind", ["metered", "windowed"])
def test_a_statement_that_arrives_late_starts_a_job_at_the_moment_that_was_counted(
    kind: str,
) -> None:
    # The limit was counted at 1.15 s, and the statements after that took a second.
    assert rates(kind, (1.15, 2.28), (2.33, 2.33), (2.33, 2.33)) == []


def test_more_starts_than_a_bucket_allows_are_found() -> None:
    (found,) = rates("metered", (1.0, 1.0), (1.3, 1.3), (1.4, 1.4))
    assert found == "3 jobs of metered with key 0 started within 0.400 s"


def test_more_starts_than_a_period_allows_are_found() -> None:
    (found,) = rates("windowed", (1.0, 1.0), (1.5, 1.5), (2.0, 2.0), (2.9, 2.9))
    assert found == "4 jobs of windowed started within 1.900 s"


def test_a_start_that_is_counted_before_the_claim_before_it_was_made_is_found() -> None:
    (found,) = rates("metered", (1.0, 2.0), (1.9, 2.1))
    assert found.endswith("is counted at 1.900000, before the last one was made")


def test_a_start_that_is_counted_after_it_was_made_is_found() -> None:
    (found,) = rates("metered", (1.0, 1.0), (3.0, 2.0))
    assert found.endswith("is counted at 3.000000, which is later")
