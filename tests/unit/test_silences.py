"""The silence of nodes while the database's clock is set: a step declares no node dead, and keeps no dead node alive."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from horae.domain.cluster.clock_steps import Silences
from horae.domain.jobs.job import NodeId

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
NODE: Final = NodeId("node")
HOUR: Final = 3600.0


class Observer:
    """Reads one heartbeat now and then; the database's clock is `offset` seconds after the observer's."""

    def __init__(self) -> None:
        self.silences = Silences()
        self.offset = 0.0

    def silence(self, now: float, heartbeat: datetime, took: float = 0.0) -> float:
        database_now = self.wall(now)
        self.silences.observe(database_now, now, took, {NODE: heartbeat})
        return self.silences.of(NODE, heartbeat, (database_now - heartbeat).total_seconds(), now)

    def wall(self, now: float) -> datetime:
        return START + timedelta(seconds=now + self.offset)


def test_without_a_step_the_database_s_clock_counts() -> None:
    observer = Observer()
    assert [observer.silence(now, START) for now in (1.0, 11.0, 500.0)] == [1.0, 11.0, 500.0]


@pytest.mark.parametrize("step", [-3 * HOUR, -20.0, 20.0, 3 * HOUR])
def test_after_a_step_silence_is_counted_from_when_it_was_noticed(step: float) -> None:
    observer = Observer()
    observer.silence(0.0, START)
    observer.offset = step
    assert observer.silence(10.0, START) == 0.0
    assert observer.silence(15.0, START) == 5.0
    assert observer.silence(25.0, START) == 15.0


def test_the_next_heartbeat_ends_it() -> None:
    observer = Observer()
    observer.silence(0.0, START)
    observer.offset = 3 * HOUR
    observer.silence(10.0, START)
    renewed = observer.wall(11.0)
    assert observer.silence(14.0, renewed) == 3.0


def test_a_second_step_counts_from_then_on() -> None:
    observer = Observer()
    observer.silence(0.0, START)
    observer.offset = 3 * HOUR
    observer.silence(10.0, START)
    observer.offset = 0.0
    assert observer.silence(20.0, START) == 0.0


def test_a_slow_answer_is_no_step() -> None:
    observer = Observer()
    observer.silence(0.0, START)
    observer.offset = 2.0
    assert observer.silence(10.0, START, took=1.5) == 12.0
