"""Laws of the plan that hold through every history of events."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from horae.domain.schedules.plan import plan
from horae.domain.schedules.planning_state import (
    Activated,
    Altered,
    BackfillChanged,
    ChangeWithdrawn,
    Due,
    Event,
    NextStartSet,
    Plan,
    Resumed,
    RunByHand,
    RunEnded,
    ScheduleSnapshot,
    SkipRequested,
)
from horae.domain.schedules.recovery import CRASH_WAIT
from horae.domain.schedules.schedule import CatchUp, DisabledReason, Overlap, Rules
from horae.domain.schedules.skipping import reason_to_skip
from horae.domain.schedules.statistics import RunOutcome
from horae.domain.schedules.tick import REASONS, Decision, Reason, Ticks
from horae.domain.schedules.timeline import Timeline
from horae.errors import InvalidRequest
from tests.properties.schedule_strategies import (
    START,
    excluding_rules,
    fast_crons,
    fast_intervals,
    rules,
    timed_triggers,
)

BAD = {RunOutcome.FAILED, RunOutcome.CRASHED}
BESIDES = {Reason.RETRY, Reason.MANUAL, Reason.MOVED, Reason.BACKFILL}
IN_GAPS = {Reason.REQUESTED, Reason.REPLACED, Reason.EXCLUDED}
NOTHING = timedelta(0)
APART = timedelta(milliseconds=1)

short = st.timedeltas(NOTHING, timedelta(minutes=3))
waits = st.one_of(st.just(NOTHING), short, st.timedeltas(NOTHING, timedelta(hours=9)))
outcomes = st.sampled_from(RunOutcome)
seeds = st.integers(0, 99)


@dataclass
class History:
    """One schedule, with what a controller would have stored of it; checked at every step."""

    snapshot: ScheduleSnapshot
    now: datetime
    rng: Random
    runs: list[tuple[datetime, bool]] = field(default_factory=list[tuple[datetime, bool]])
    ticks: list[Ticks] = field(default_factory=list[Ticks])
    streak: int = 0
    past: datetime = START - timedelta(
        days=365, microseconds=1
    )  # where backfills begin; no nominal time

    @classmethod
    def of(cls, of: Rules, seed: int = 0, *, start: datetime = START) -> "History":
        history = cls(ScheduleSnapshot(rules=of), start, Random(seed))
        history.happen(Activated())
        return history

    def happen(self, event: Event) -> Plan:
        before = self.snapshot
        made = plan(before, event, self.now, self.rng)
        self.keep_count(event)
        self.ticks += made.ticks
        if made.fire is not None:
            self.runs.append((self.now, isinstance(event, RunByHand)))
        alone = before.rules.overlap is not Overlap.ALLOW_ALL
        self.snapshot = ScheduleSnapshot(
            rules=before.rules,
            statistics=made.statistics,
            last_tick=made.last_tick,
            next_start=made.next_start,
            started=self.runs[0][0] if alone and self.runs else None,
            disabled=made.disabled,
            change=made.change,
            backfill=made.backfill,
        )
        self.check(before, event, made)
        return made

    def end(
        self, outcome: RunOutcome, index: int = 0, *, scheduler_started: datetime | None = None
    ) -> Plan:
        started, by_hand = self.runs[index]
        others = len(self.runs) - 1
        return self.happen(
            RunEnded(
                outcome=outcome,
                started=started,
                by_hand=by_hand,
                others=others,
                scheduler_started=scheduler_started,
            )
        )

    def pause(self) -> None:
        self.snapshot = replace(self.snapshot, disabled=DisabledReason.PAUSED, next_start=None)

    def alter(self, to: Rules) -> Plan:
        before = self.snapshot.rules
        self.snapshot = replace(self.snapshot, rules=to)
        return self.happen(Altered(before))

    def keep_count(self, event: Event) -> None:
        if isinstance(event, Resumed):
            self.streak = 0
        if isinstance(event, RunEnded):
            self.runs.remove((event.started, event.by_hand))
            if event.outcome not in {RunOutcome.CANCELLED, RunOutcome.UNCOUNTED}:
                self.streak = self.streak + 1 if event.outcome in BAD else 0

    def check(self, before: ScheduleSnapshot, event: Event, made: Plan) -> None:
        check_counts(made)
        check_decisions(
            event.before if isinstance(event, Altered) else before.rules, before.last_tick, made
        )
        check_next_start(self.snapshot, event, self.now, changed=made != Plan.unchanged(before))
        check_repetition(self.ticks)
        assert made.statistics.streak(len(self.runs)) == self.streak
        if isinstance(event, RunEnded) and before.disabled is None:
            most = before.rules.max_retries
            used_up = most is not None and event.outcome in BAD and self.streak > most
            assert (made.disabled is DisabledReason.RETRIES_USED_UP) == used_up
        for tick in made.ticks:
            if tick.decision is Decision.FIRED and tick.reason not in {
                Reason.RETRY,
                Reason.MANUAL,
                Reason.MOVED,
            }:
                assert (
                    reason_to_skip(before.rules, before.change, tick.first) is None
                    or tick.reason is Reason.BACKFILL
                )
            if tick.reason in IN_GAPS:
                assert tick.last <= self.now
                assert reason_to_skip(before.rules, before.change, tick.first) is tick.reason
                assert reason_to_skip(before.rules, before.change, tick.last) is tick.reason
        if (
            isinstance(event, Due)
            and before.disabled is None
            and not before.executing
            and before.next_start
        ):
            waits_still = made.next_start is None or made.next_start > self.now
            assert (
                made.fire is not None
                or waits_still
                or any(tick.reason in IN_GAPS for tick in made.ticks)
            )


def check_counts(made: Plan) -> None:
    numbers = made.statistics
    assert (
        numbers.total_runs
        == numbers.total_successes + numbers.total_failures + numbers.total_crashes
    )
    fired = [tick.first for tick in made.ticks if tick.decision is Decision.FIRED]
    assert fired == ([] if made.fire is None else [made.fire])
    assert all(tick.reason in REASONS[tick.decision] for tick in made.ticks)


def check_decisions(old: Rules, mark: datetime | None, made: Plan) -> None:
    """Every nominal time after the old watermark, up to the new one, has exactly one decision."""
    if old.finish_trigger is not None or mark is None or made.last_tick is None:
        return
    timeline, ticks = Timeline.of(old), [tick for tick in made.ticks if tick.reason not in BESIDES]
    moment = timeline.after(mark)
    for tick in ticks:
        assert tick.first == moment
        for _ in range(tick.count - 1):
            assert moment is not None
            moment = timeline.after(moment)
        assert tick.last == moment
        moment = timeline.after(tick.last)
    assert moment is None or moment > made.last_tick
    assert all(tick.last <= made.last_tick for tick in ticks)


def check_next_start(
    after: ScheduleSnapshot, event: Event, now: datetime, *, changed: bool
) -> None:
    """No schedule waits for ever: it has a next start, now or later, or it runs, or is disabled."""
    if after.disabled is not None:
        assert after.next_start is None
    elif after.next_start is None:
        assert after.executing
    elif changed and not isinstance(event, RunByHand | Altered | SkipRequested | ChangeWithdrawn):
        assert after.next_start >= now


def check_repetition(ticks: list[Ticks]) -> None:
    """No nominal time has two decisions, whenever they were made; a retry has a time of its own."""
    nominal = sorted((tick.first, tick.last) for tick in ticks if tick.reason not in BESIDES)
    assert all(earlier[1] < later[0] for earlier, later in pairwise(nominal))
    keys = [tick.first for tick in ticks if tick.reason is not Reason.MANUAL]
    assert len(set(keys)) == len(keys)


CHANGES = ["skip", "move", "withdraw", "backfill"]
STEPS = ["due", "due", "due", "end", "end", "hand", "pause", "resume", "live", "alter", *CHANGES]


def change_start(history: History, what: str, wait: timedelta) -> None:
    events: dict[str, Event] = {
        "skip": SkipRequested(),
        "move": NextStartSet(history.now + wait),
        "withdraw": ChangeWithdrawn(),
        "backfill": BackfillChanged(),
    }
    if what == "withdraw" and history.snapshot.disabled is not None:
        return
    if what == "backfill" and (history.snapshot.disabled or history.snapshot.rules.finish_trigger):
        return
    if what == "backfill" and not history.snapshot.backfill:
        history.past -= timedelta(days=1)
        history.snapshot = replace(
            history.snapshot, backfill=(history.past, history.past + timedelta(seconds=1))
        )
    with suppress(InvalidRequest):  # nothing is next, or a run executes
        history.happen(events[what])


def step(history: History, data: st.DataObject) -> None:
    # Two events in the same microsecond would need the same nominal time, which the ledger refuses.
    history.now += APART + data.draw(waits)
    match data.draw(st.sampled_from(STEPS)):
        case "end" if history.runs:
            index = data.draw(st.integers(0, len(history.runs) - 1))
            history.end(
                data.draw(outcomes), index, scheduler_started=history.now - data.draw(waits)
            )
        case "hand":
            history.happen(RunByHand())
        case "pause":
            history.pause()
        case "resume":
            history.happen(Resumed())
        case "live":
            history.happen(Activated())
        case "skip" | "move" | "withdraw" | "backfill" as what:
            change_start(history, what, data.draw(waits))
        case "alter":
            overlap = (
                history.snapshot.rules.overlap
            )  # whether runs may be parallel cannot change during one
            history.alter(
                data.draw(rules().filter(lambda new: new.overlap is overlap or not history.runs))
            )
        case _:
            history.happen(Due())


@given(st.data(), excluding_rules(), seeds)
def test_every_history_keeps_the_laws(data: st.DataObject, of: Rules, seed: int) -> None:
    history = History.of(of, seed)
    for _ in range(data.draw(st.integers(1, 25))):
        step(history, data)


@given(st.data(), rules(), seeds)
def test_after_any_history_a_schedule_runs_again_when_its_next_start_comes(
    data: st.DataObject, of: Rules, seed: int
) -> None:
    history = History.of(of, seed)
    for _ in range(data.draw(st.integers(1, 15))):
        step(history, data)
    for _ in list(history.runs):
        history.end(RunOutcome.SUCCEEDED)
    if history.snapshot.disabled is not None:
        history.happen(Resumed())
    fires = 0
    for _ in range(
        2
    ):  # the first may have waited until it is late, or until a run by hand made it needless
        if history.snapshot.next_start is not None and not fires:
            history.now = max(history.now, history.snapshot.next_start)
            fires += history.happen(Due()).fire is not None
    assert fires or history.snapshot.disabled is DisabledReason.EXHAUSTED


@given(st.data(), rules(), seeds)
def test_a_run_by_hand_does_not_move_the_next_start(
    data: st.DataObject, of: Rules, seed: int
) -> None:
    history = History.of(of, seed)
    for _ in range(data.draw(st.integers(0, 10))):
        step(history, data)
    planned, mark = history.snapshot.next_start, history.snapshot.last_tick
    executing = history.snapshot.executing
    made = history.happen(RunByHand())
    assert (made.fire is None) == executing
    assert (made.next_start, made.last_tick) == (planned, mark)
    if executing or planned is None or planned <= history.now or history.snapshot.disabled:
        return
    if of.overlap is Overlap.ALLOW_ALL or history.snapshot.rules.overlap is Overlap.ALLOW_ALL:
        return
    assert history.end(RunOutcome.SUCCEEDED).next_start == planned


@given(st.data(), rules(), seeds)
def test_rules_that_decide_the_same_times_move_nothing(
    data: st.DataObject, of: Rules, seed: int
) -> None:
    history = History.of(of, seed)
    for _ in range(data.draw(st.integers(0, 10))):
        step(history, data)
    before = history.snapshot
    same = replace(before.rules, max_retries=7, catch_up_limit=9, max_runtime=timedelta(hours=1))
    assert history.alter(same) == Plan.unchanged(before)


@given(st.data(), rules(timed_triggers), seeds)
def test_a_resume_runs_no_missed_times(data: st.DataObject, of: Rules, seed: int) -> None:
    history = History.of(of, seed)
    for _ in range(data.draw(st.integers(0, 6))):
        step(history, data)
    history.pause()
    history.now += data.draw(waits)
    made = history.happen(Resumed())
    assert made.last_tick == history.now
    assert made.statistics.consecutive_failures == made.statistics.consecutive_crashes == 0
    assert all(tick.decision is Decision.SKIPPED for tick in made.ticks)
    others = history.snapshot.rules.finish_trigger or made.backfill
    assert made.next_start is None or made.next_start > history.now or others


@given(
    rules(fast_intervals()),
    st.lists(st.sampled_from(sorted(BAD)), min_size=1, max_size=12),
    waits,
    waits,
    seeds,
)
def test_a_back_off_ends_by_the_next_point_and_a_crash_waits_five_minutes(
    of: Rules, ends: list[RunOutcome], length: timedelta, uptime: timedelta, seed: int
) -> None:
    of = replace(of, max_retries=None)
    if of.overlap is Overlap.ALLOW_ALL:
        of = replace(of, overlap=Overlap.SKIP)
    history = History.of(of, seed)
    for outcome in ends:
        history.now = max(history.now, history.snapshot.next_start or history.now)
        if history.happen(Due()).fire is None:
            continue
        history.now += length
        up_since = history.now - uptime
        made = history.end(outcome, scheduler_started=up_since)
        assert made.next_start is not None
        if outcome is RunOutcome.CRASHED:
            assert made.next_start >= up_since + CRASH_WAIT
        elif of.finish_trigger is None:
            following = Timeline.of(of).next_start(made.last_tick or history.now)
            assert following is not None
            assert made.next_start <= max(following, history.now)


@given(rules(fast_crons()), outcomes, waits, seeds)
def test_cron_has_no_back_off_of_its_own(
    of: Rules, outcome: RunOutcome, length: timedelta, seed: int
) -> None:
    of = replace(
        of, retry_period=None, max_retries=None, overlap=Overlap.SKIP, catch_up=CatchUp.LAST
    )
    history = History.of(of, seed)
    assert history.snapshot.next_start is not None
    history.now = history.snapshot.next_start
    history.happen(Due())
    history.now += length
    made = history.end(outcome, scheduler_started=history.now)
    following = Timeline.of(of).next_start_past(history.now - length, history.now)
    if outcome is RunOutcome.CRASHED and made.next_start == history.now:
        return  # a time that passed while it was down
    assert made.next_start == following


@given(
    rules(timed_triggers),
    st.sampled_from([CatchUp.ALL, CatchUp.LAST]),
    st.timedeltas(timedelta(hours=1), timedelta(days=1)),
    st.timedeltas(NOTHING, timedelta(hours=2)),
)
def test_a_backlog_is_worked_off(
    of: Rules, catch_up: CatchUp, outage: timedelta, length: timedelta
) -> None:
    """However long the runs take: with `skip` each of them makes the backlog shorter."""
    of = replace(of, overlap=Overlap.SKIP, catch_up=catch_up, catch_up_limit=5)
    history = History.of(of)
    history.now += outage
    runs = 0
    while history.snapshot.next_start is not None and history.snapshot.next_start <= history.now:
        if history.happen(Due()).fire is not None:
            runs += 1
            history.now += length
            history.end(RunOutcome.SUCCEEDED)
    assert runs <= (5 if catch_up is CatchUp.ALL else 1)


@given(rules(timed_triggers), st.timedeltas(timedelta(minutes=1), timedelta(hours=5)))
def test_buffered_times_run_in_order_and_none_is_lost(of: Rules, length: timedelta) -> None:
    of = replace(of, overlap=Overlap.BUFFER_ALL, catch_up=CatchUp.NONE, catch_up_limit=10_000)
    history = History.of(of)
    if history.snapshot.next_start is None:
        return
    history.now = history.snapshot.next_start
    first = history.happen(Due()).fire
    assert first is not None
    history.now += length
    passed = Timeline.of(of).due(first, history.now)
    for _ in range(min(passed, 20)):
        assert history.end(RunOutcome.SUCCEEDED).next_start == history.now
        made = history.happen(Due())
        assert [tick.reason for tick in made.ticks] == [Reason.BUFFERED]


@given(rules(timed_triggers), st.timedeltas(NOTHING, timedelta(hours=5)))
def test_a_run_is_stopped_only_for_a_time_that_came_due(of: Rules, length: timedelta) -> None:
    history = History.of(replace(of, overlap=Overlap.CANCEL_OTHER, catch_up=CatchUp.LAST))
    if history.snapshot.next_start is None:
        return
    history.now = history.snapshot.next_start
    fired = history.happen(Due()).fire
    assert fired is not None
    history.now += length
    passed = Timeline.of(history.snapshot.rules).due(fired, history.now)
    made = history.happen(Due())
    assert (made.stop is not None) == (passed > 0)
    assert made.fire is None
    ended = history.end(RunOutcome.CANCELLED)
    if passed:
        assert ended.next_start == history.now
        assert history.happen(Due()).fire is not None
