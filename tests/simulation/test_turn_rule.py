"""What the rule of turns in simulations finds, and what it lets pass, in changes that are written here."""

from types import SimpleNamespace
from typing import Any

from tests.simulation import feature_invariants
from tests.simulation.world import EPOCH

OWNERS = {1: "busy", 2: "busy", 3: "busy", 4: "busy", 5: "other"}


def turns(*changes: dict[str, Any]) -> list[str]:
    """Apply the rule to changes of the jobs of two owners, in the order of their commits."""
    history = SimpleNamespace(
        changes=changes,
        jobs={job: {"owner": owner} for job, owner in OWNERS.items()},
        answers=SimpleNamespace(steady_clock=True),
    )
    return list(feature_invariants._turns(history))  # type: ignore[arg-type]  # noqa: SLF001


def filed(at: float, *jobs: int) -> list[dict[str, Any]]:
    """Return the changes that put jobs into lanes."""
    row = {"type": "shared", "node_id": None, "old_state": "pending", "state": "pending", "lane": 1}
    return [{**row, "job_id": job, "started_at": None, "at": at} for job in jobs]


def claimed(counted: float, at: float, *jobs: int) -> list[dict[str, Any]]:
    """Return the changes of a claim: when it chose these jobs, and when it started them."""
    row = {"type": "shared", "node_id": "n0.1", "old_state": "pending", "state": "started"}
    moment = round((EPOCH + counted) * 1e6)
    return [{**row, "lane": 1, "job_id": job, "started_at": moment, "at": at} for job in jobs]


def test_a_claim_that_chose_before_another_owner_waited_and_a_turn_after_it_pass() -> None:
    before = [*filed(1.0, 1, 2, 3, 4), *filed(2.0, 5)]
    assert turns(*before, *claimed(1.9, 2.1, 1, 2), *claimed(2.2, 2.3, 3, 5)) == []


def test_jobs_of_one_owner_that_keep_the_turn_are_found() -> None:
    before = [*filed(1.0, 1, 2, 3, 4), *filed(2.0, 5)]
    (found,) = turns(*before, *claimed(2.1, 2.2, 1, 2, 3))
    assert found == "job 5 waits while 3 jobs of busy start"
