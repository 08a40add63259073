"""Laws of the run statistics through every history of runs."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from horae.domain.schedules.statistics import RunOutcome, Statistics
from tests.properties.schedule_strategies import START

BAD = {RunOutcome.FAILED, RunOutcome.CRASHED}
outcomes = st.sampled_from(RunOutcome)
waits = st.timedeltas(timedelta(0), timedelta(hours=1))


@dataclass
class Runs:
    """Runs that go on, and what counting by hand says about those that have ended."""

    statistics: Statistics = field(default_factory=Statistics)
    going: list[datetime] = field(default_factory=list[datetime])
    ended: list[RunOutcome] = field(default_factory=list[RunOutcome])
    streak: int = 0

    def start(self, now: datetime) -> None:
        self.statistics = self.statistics.started()
        self.going.append(now)
        self.check()

    def end(self, outcome: RunOutcome, now: datetime, index: int = 0) -> None:
        started = self.going.pop(index)
        self.statistics = self.statistics.ended(outcome, now, began=started, others=len(self.going))
        self.ended.append(outcome)
        if outcome not in {RunOutcome.CANCELLED, RunOutcome.UNCOUNTED}:
            self.streak = self.streak + 1 if outcome in BAD else 0
        self.check()

    def check(self) -> None:
        numbers, counted = self.statistics, self.ended.count
        assert (
            numbers.total_runs
            == numbers.total_successes + numbers.total_failures + numbers.total_crashes
        )
        assert numbers.total_successes == counted(RunOutcome.SUCCEEDED)
        assert numbers.total_failures == counted(RunOutcome.FAILED) + counted(RunOutcome.CANCELLED)
        assert numbers.total_crashes == counted(RunOutcome.CRASHED) + len(self.going)


@given(st.lists(st.tuples(outcomes, waits, waits), max_size=30))
def test_one_run_at_a_time_is_counted_exactly(
    history: list[tuple[RunOutcome, timedelta, timedelta]],
) -> None:
    runs, now = Runs(), START
    last_start: datetime | None = None
    last_success: bool | None = None
    durations = dict.fromkeys(RunOutcome, timedelta(0))
    for outcome, idle, duration in history:
        runs.start(now := now + idle)
        began = now
        assert runs.statistics.streak(running=1) == runs.streak
        runs.end(outcome, now := now + duration)
        assert runs.statistics.streak() == runs.streak
        assert runs.statistics.last_finish == now
        if outcome is not RunOutcome.UNCOUNTED:
            last_start, last_success = began, outcome is RunOutcome.SUCCEEDED
        assert (runs.statistics.last_start, runs.statistics.last_run_success) == (
            last_start,
            last_success,
        )
        durations[outcome] += duration
    assert runs.statistics.total_duration == durations[RunOutcome.SUCCEEDED]
    failed = durations[RunOutcome.FAILED] + durations[RunOutcome.CANCELLED]
    assert runs.statistics.total_duration_failures == failed


@given(st.data(), st.lists(st.none() | outcomes, max_size=40))
def test_runs_at_the_same_time_are_counted_exactly(
    data: st.DataObject, history: list[RunOutcome | None]
) -> None:
    runs, now = Runs(), START
    for outcome in history:
        now += timedelta(seconds=1)
        if outcome is None or not runs.going:
            runs.start(now)
        else:
            runs.end(outcome, now, data.draw(st.integers(0, len(runs.going) - 1)))
        assert runs.statistics.streak(len(runs.going)) == runs.streak
    for _ in list(runs.going):
        runs.end(RunOutcome.SUCCEEDED, now)
        assert runs.statistics.streak(len(runs.going)) == 0


@given(st.lists(outcomes, max_size=10), outcomes, st.booleans())
def test_a_resume_resets_the_streak(
    before: list[RunOutcome], last: RunOutcome, during: bool
) -> None:
    runs = Runs()
    for outcome in before:
        runs.start(START)
        runs.end(outcome, START)
    if during:
        runs.start(START)
    runs.statistics = runs.statistics.resumed()
    assert runs.statistics.streak() == 0
    if not during:
        runs.start(START)
    runs.end(last, START)
    assert runs.statistics.streak() == (1 if last in BAD else 0)
