"""Limits by key while nodes are killed: they are not exceeded, and no start is lost for good."""

from collections.abc import Sequence
from pathlib import Path

from horae.domain.jobs import JobState
from horae.storage.engine import Database
from horae.storage.jobs import PastAttempt
from tests.harness.fault_application import fault_application
from tests.harness.node_processes import NodeProcess, wait_until

ACCOUNTS = ("a", "b")
BURST, PER_SECOND, AT_A_TIME = 3, 20, 2


def test_limits_hold_when_a_node_is_killed(database: Database, tmp_path: Path) -> None:
    horae = fault_application(database.url.render_as_string(hide_password=False))
    with (
        NodeProcess(database, tmp_path, silence=1.0) as killed,
        NodeProcess(database, tmp_path, silence=1.0) as other,
    ):
        killed.ready()
        other.ready()
        jobs = horae.jobs.start_many(
            "limited", [{"account": account} for _ in range(25) for account in ACCOUNTS]
        )
        wait_until(lambda: horae.jobs.count().get(JobState.FINISHED, 0) > 10)
        killed.kill()
        wait_until(lambda: horae.jobs.count() == {JobState.FINISHED: len(jobs)})
    for account in range(len(ACCOUNTS)):
        check(
            [
                each
                for job_id in jobs[account :: len(ACCOUNTS)]
                for each in horae.jobs.attempts(job_id)
            ]
        )
    horae.close()


def check(attempts: Sequence[PastAttempt]) -> None:
    """No moment has more attempts than allowed, and no window more starts."""
    for each in attempts:
        running = [
            other for other in attempts if other.started_at <= each.started_at < other.finished_at
        ]
        assert len(running) <= AT_A_TIME
    starts = sorted(each.started_at for each in attempts)
    for first, begin in enumerate(starts):
        for number, end in enumerate(starts[first:], 1):
            assert number <= PER_SECOND * (end - begin).total_seconds() + BURST + 1e-6
    assert len(starts) >= 25
