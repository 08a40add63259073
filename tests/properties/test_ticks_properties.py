"""Laws of nominal times and of what is decided about them, against lists of every time."""

from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo

from hypothesis import assume, example, given
from hypothesis import strategies as st

from horae.domain.cron.expression import CronExpression
from horae.domain.cron.wall_clock import DstFold, DstGap
from horae.domain.schedules.exclusion import Gap
from horae.domain.schedules.run_times import RunTimes
from horae.domain.schedules.schedule import CatchUp, Overlap, Rules
from horae.domain.schedules.skipping import skipped_between
from horae.domain.schedules.tick import (
    ON_TIME_WITHIN,
    REASONS,
    Judgement,
    Reason,
    backlog,
    judge_late,
    judge_overlapped,
)
from horae.domain.schedules.timeline import Timeline, hashed_delay
from horae.domain.schedules.trigger import Trigger, parse_trigger
from horae.domain.times import MICROSECOND
from tests.properties.cron_strategies import (
    CHANGES,
    FOLDS,
    GAPS,
    expressions,
    fires,
    moments,
    times_near_a_change,
)
from tests.properties.schedule_strategies import (
    START,
    any_triggers,
    jitters,
    moments_of_history,
    rules,
    timed_triggers,
)

lengths = st.one_of(
    st.timedeltas(timedelta(0), timedelta(minutes=20)),
    st.timedeltas(timedelta(0), timedelta(hours=40)),
)


def times(timeline: Timeline, mark: datetime, until: datetime) -> list[datetime]:
    """List every nominal time with `mark < time <= until`."""
    found: list[datetime] = []
    moment = timeline.after(mark)
    while moment is not None and moment <= until:
        found.append(moment)
        moment = timeline.after(moment)
    return found


def due_times(timeline: Timeline, mark: datetime, now: datetime) -> list[datetime]:
    return [time for time in times(timeline, mark, now) if timeline.start_of(time) <= now]


@st.composite
def timelines(draw: st.DrawFn) -> Timeline:
    return Timeline.of(Rules(key="shop.purge", trigger=draw(timed_triggers), jitter=draw(jitters)))


@given(any_triggers())
def test_a_trigger_reads_back_from_its_text(trigger: Trigger) -> None:
    assert parse_trigger(trigger.kind, trigger.text, trigger.timezone) == trigger


SECOND_PASS = datetime(2026, 10, 25, 1, 20, tzinfo=UTC).astimezone(ZoneInfo("Europe/Berlin"))


@given(
    expressions(), moments(), st.integers(1, 60), st.timedeltas(timedelta(0), timedelta(minutes=40))
)
@example(
    CronExpression.parse("* * * * *", timezone="Europe/Berlin"),
    SECOND_PASS,
    1,
    timedelta(minutes=10),
)
def test_fires_are_counted_as_they_come(
    expression: CronExpression, start: datetime, count: int, more: timedelta
) -> None:
    listed = expression.upcoming(start, count)
    assume(listed)
    assert expression.count(start, listed[-1]) == len(listed)
    until = (
        listed[-1].astimezone(UTC) + more
    )  # a sum of wall times would leave the second pass of a fold
    rest = takewhile(lambda fire: fire <= until, expression.upcoming(listed[-1], 2_500))
    assert expression.count(start, until) == len(listed) + sum(1 for _ in rest)


@given(
    st.data(),
    st.sampled_from(CHANGES),
    st.timedeltas(timedelta(0), timedelta(hours=15)),
    GAPS,
    FOLDS,
)
def test_fires_are_counted_through_a_change_of_the_clocks(
    data: st.DataObject,
    zone_and_change: tuple[str, datetime],
    away: timedelta,
    gap: DstGap,
    fold: DstFold,
) -> None:
    zone, change = zone_and_change
    text = data.draw(times_near_a_change(change).filter(fires))
    expression = CronExpression.parse(text, timezone=zone, dst_gap=gap, dst_fold=fold)
    number = expression.count(change - away, change + away)
    listed = expression.upcoming(change - away, number + 1)
    assert len([fire for fire in listed if fire <= change + away]) == number


@given(timelines(), st.timedeltas(timedelta(0), timedelta(days=1)), lengths)
def test_times_are_counted_and_found_as_they_are_listed(
    timeline: Timeline, offset: timedelta, length: timedelta
) -> None:
    mark = START + offset
    until = mark + length
    listed = times(timeline, mark, until)
    assert timeline.count(mark, until) == len(listed)
    assert timeline.count(until, mark) == 0
    for index in {1, 2, 9, 10, len(listed) // 2, len(listed)}:
        if 1 <= index <= len(listed):
            assert timeline.nth(mark, index, until) == listed[index - 1]


@given(timelines(), st.timedeltas(timedelta(0), timedelta(days=2)), lengths)
def test_a_start_lies_between_its_time_and_the_next_one(
    timeline: Timeline, offset: timedelta, length: timedelta
) -> None:
    mark = START + offset
    nominal = timeline.after(mark)
    assert nominal is not None
    following = timeline.after(nominal)
    assert nominal <= timeline.start_of(nominal) <= nominal + timeline.jitter
    assert following is None or timeline.start_of(nominal) < following
    due = due_times(timeline, mark, mark + length)
    assert timeline.due(mark, mark + length) == len(due)
    past = timeline.next_start_past(mark, mark + length)
    assert past is None or past > mark + length
    waiting = timeline.after(due[-1] if due else mark)
    assert past == (None if waiting is None else timeline.start_of(waiting))


@given(st.text(max_size=20), moments(), st.timedeltas(timedelta(0), timedelta(days=36_525)))
@example("", START, timedelta(0))
def test_jitter_spreads_over_less_than_its_room(
    key: str, moment: datetime, room: timedelta
) -> None:
    jitter = hashed_delay(key, moment, room)
    assert timedelta(0) <= jitter < max(room, MICROSECOND)
    assert jitter == hashed_delay(key, moment.astimezone(START.tzinfo), room)


def assert_covers(judgement: Judgement, due: list[datetime]) -> None:
    """What was dropped and what is kept are all that was due, each once, in order."""
    at = 0
    for tick in judgement.dropped:
        assert (tick.first, tick.last) == (due[at], due[at + tick.count - 1])
        assert tick.reason in REASONS[tick.decision]
        at += tick.count
    assert len(due) - at == judgement.kept


@given(rules(timed_triggers), st.timedeltas(timedelta(0), timedelta(days=1)), lengths)
def test_late_times_are_dropped_or_kept_by_the_policy(
    of: Rules, offset: timedelta, length: timedelta
) -> None:
    timeline, mark = Timeline.of(of), START + offset
    now = mark + length
    due = due_times(timeline, mark, now)
    judgement = judge_late(of, timeline, mark, now)
    assert_covers(judgement, due)
    starts = [timeline.start_of(time) for time in due]
    recent = [start for start in starts if start > now - of.catch_up_window]
    expected = {
        CatchUp.LAST: min(len(recent), 1),
        CatchUp.NONE: int(bool(starts) and starts[-1] > now - ON_TIME_WITHIN),
        CatchUp.ALL: min(len(recent), of.catch_up_limit),
    }
    assert judgement.kept == expected[of.catch_up]
    assert sum(tick.count for tick in judgement.dropped if tick.reason == "window") == (
        0
        if of.catch_up is CatchUp.NONE or (of.catch_up is CatchUp.LAST and recent)
        else len(due) - len(recent)
    )


@given(rules(timed_triggers), st.timedeltas(timedelta(0), timedelta(days=1)), lengths, lengths)
def test_overlapping_times_are_dropped_or_kept_by_the_policy(
    of: Rules, offset: timedelta, before: timedelta, during: timedelta
) -> None:
    timeline, mark = Timeline.of(of), START + offset
    started = mark + before
    now = started + during
    due = due_times(timeline, mark, now)
    judgement = judge_overlapped(of, timeline, mark, started, now)
    assert_covers(judgement, due)
    waited = backlog(of, timeline, mark, started)
    assert waited == (len(due_times(timeline, mark, started)) if of.catch_up is CatchUp.ALL else 0)
    one = max(waited, min(len(due), 1))
    expected = {
        Overlap.SKIP: waited,
        Overlap.BUFFER_ONE: one,
        Overlap.CANCEL_OTHER: one,
        Overlap.TERMINATE_OTHER: one,
        Overlap.BUFFER_ALL: min(len(due), of.catch_up_limit),
        Overlap.ALLOW_ALL: len(due),
    }
    assert judgement.kept == expected[of.overlap]
    assert judgement.mark_after(mark) == (judgement.dropped[-1].last if judgement.dropped else mark)


@st.composite
def gaps(draw: st.DrawFn) -> list[Gap]:
    """Disjoint gaps, in order; they may touch."""
    ends = sorted(draw(st.lists(moments_of_history, max_size=8, unique=True)))
    return [
        Gap(start, end, Reason.EXCLUDED) for start, end in zip(ends[::2], ends[1::2], strict=False)
    ]


@given(timelines(), gaps(), st.timedeltas(timedelta(0), timedelta(days=1)), lengths)
def test_times_in_no_gap_are_counted_and_found_as_they_are_listed(
    timeline: Timeline, gaps: list[Gap], offset: timedelta, length: timedelta
) -> None:
    mark, until = START + offset, START + offset + length
    runs = RunTimes(timeline, gaps)
    every = times(timeline, mark, until)
    listed = [moment for moment in every if not any(gap.start <= moment < gap.end for gap in gaps)]
    assert runs.count(mark, until) == len(listed)
    assert runs.due(mark, until) == len(
        [moment for moment in listed if timeline.start_of(moment) <= until]
    )
    for index in {1, 2, 9, 10, len(listed) // 2, len(listed)}:
        if 1 <= index <= len(listed):
            assert runs.nth(mark, index, until) == listed[index - 1]
    following = runs.after(mark)
    if listed:
        assert following == listed[0]
    else:
        assert following is None or following > until
    skipped = sum(ticks.count for ticks in skipped_between(timeline, gaps, mark, until))
    assert skipped == len(every) - len(listed)
