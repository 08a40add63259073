"""The reason why a schedule ran or not is that of the ledger, and foretells what the plan does."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from hypothesis import assume, given
from hypothesis import strategies as st

from horae.domain.cron.expression import CronExpression
from horae.domain.schedules.planning_state import Due, Resumed
from horae.domain.schedules.schedule import CatchUp, DisabledReason, Overlap, Rules
from horae.domain.schedules.statistics import RunOutcome
from horae.domain.schedules.tick import BESIDE, Decision, Ticks
from horae.domain.schedules.timeline import Timeline
from horae.domain.schedules.trigger import CronTrigger
from horae.domain.schedules.why import (
    KnownSchedule,
    WhyKind,
    explain,
    latest_before,
    undecided,
)
from horae.domain.times import MICROSECOND
from tests.properties.schedule_strategies import (
    START,
    TEXTS,
    ZONES_OF_HISTORIES,
    excluding_rules,
    timed_triggers,
)
from tests.properties.test_plan_properties import History, step

MOST_LISTED = 200


def known_of(history: History, moment: datetime) -> KnownSchedule:
    """What the tables would say around a moment."""
    snapshot = history.snapshot
    rows = sorted(history.ticks, key=first_of)
    at = max((each for each in rows if each.first <= moment), key=first_of, default=None)
    if at is not None and at.last < moment and at.reason in BESIDE:
        below = [each for each in rows if each.first <= moment and each.reason not in BESIDE]
        at = below[-1] if below and below[-1].last >= moment else at
    return KnownSchedule(
        snapshot=snapshot,
        created_at=START,
        now=history.now,
        oldest=rows[0].first if rows else None,
        at=at,
        following=min((each for each in rows if each.first > moment), key=first_of, default=None),
    )


def first_of(ticks: Ticks) -> datetime:
    return ticks.first


def times_of(ticks: Ticks, rules: Rules) -> Iterator[datetime]:
    """List the nominal times that a row stands for, by the rules that held when it was written."""
    yield ticks.first
    timeline, moment = Timeline.of(rules), ticks.first
    for _ in range(min(ticks.count, MOST_LISTED) - 1):
        following = timeline.after(moment)
        assert following is not None
        yield (moment := following)


@given(st.data(), excluding_rules(), st.integers(0, 99))
def test_every_decided_time_has_the_reason_of_its_row(
    data: st.DataObject, of: Rules, seed: int
) -> None:
    history, written = History.of(of, seed), dict[Ticks, Rules]()
    for _ in range(data.draw(st.integers(1, 15))):
        rules, known = history.snapshot.rules, len(history.ticks)
        step(history, data)
        written |= dict.fromkeys(history.ticks[known:], rules)
    for ticks, rules in written.items():
        same = rules.trigger == history.snapshot.rules.trigger
        for moment in times_of(ticks, rules):
            if same or moment in {ticks.first, ticks.last}:
                answer = explain(known_of(history, moment), moment)
                assert (answer.kind, answer.ticks) == (WhyKind.DECIDED, ticks)


def random_rules(random: Random) -> Rules:
    text, zone = random.choice(TEXTS[:4]), random.choice(ZONES_OF_HISTORIES)
    return Rules(
        key="shop.purge",
        trigger=CronTrigger(CronExpression.parse(text, timezone=zone)),
        overlap=random.choice([Overlap.SKIP, Overlap.BUFFER_ALL, Overlap.CANCEL_OTHER]),
        catch_up=random.choice(list(CatchUp)),
        catch_up_window=random.choice([timedelta(minutes=5), timedelta(days=7)]),
    )


def random_step(history: History, random: Random) -> None:
    """Let time pass, as a node, a pause or an operator would see it."""
    history.now += timedelta(
        minutes=random.choice([0, 1, 7, 60, 500]), seconds=random.randrange(60)
    )
    match random.choice(["due", "due", "end", "pause", "resume", "alter"]):
        case "end" if history.runs:
            history.end(random.choice([RunOutcome.SUCCEEDED, RunOutcome.FAILED]))
        case "pause":
            history.pause()
        case "resume":
            history.happen(Resumed())
        case "alter" if not history.runs:
            history.alter(random_rules(random))
        case _:
            history.happen(Due())


def test_rows_of_several_times_stand_for_each_of_them() -> None:
    random, several = Random(1), 0
    for _ in range(150):
        history, written = History.of(random_rules(random)), dict[Ticks, Rules]()
        for _ in range(12):
            rules, known = history.snapshot.rules, len(history.ticks)
            random_step(history, random)
            written |= dict.fromkeys(history.ticks[known:], rules)
        for ticks, rules in written.items():
            same = rules.trigger == history.snapshot.rules.trigger
            several += ticks.count > 1
            inner = list(times_of(ticks, rules))[1:-1:20] if same else []
            for moment in (ticks.first, *inner, ticks.last):
                answer = explain(known_of(history, moment), moment)
                assert (answer.kind, answer.ticks) == (WhyKind.DECIDED, ticks)
    assert several > 100


@given(st.data(), excluding_rules(), st.integers(0, 99), st.timedeltas(-timedelta(2), timedelta(2)))
def test_nothing_else_is_called_decided(
    data: st.DataObject, of: Rules, seed: int, away: timedelta
) -> None:
    history = History.of(of, seed)
    for _ in range(data.draw(st.integers(0, 10))):
        step(history, data)
    moment = history.now + away
    if data.draw(st.booleans()):  # a time of the schedule, which few random moments are
        moment = Timeline.of(history.snapshot.rules).after(moment) or moment
    answer = explain(known_of(history, moment), moment)
    rows = [ticks for ticks in history.ticks if ticks.first <= moment <= ticks.last]
    timeline, mark = Timeline.of(history.snapshot.rules), history.snapshot.last_tick
    is_time = timeline.after(moment - MICROSECOND) == moment
    match answer.kind:
        case WhyKind.DECIDED:
            assert answer.ticks in rows
        case WhyKind.NOT_A_TIME:
            assert not is_time
            assert answer.before is None or answer.before < moment
            assert answer.after is None or answer.after > moment
        case WhyKind.NOT_CREATED_YET:
            assert moment <= START
        case WhyKind.TO_COME | WhyKind.WAIT_AFTER_CRASH:
            assert history.snapshot.disabled is None
            assert answer.start is not None
            assert answer.start > history.now
        case WhyKind.RUN_IN_PROGRESS | WhyKind.OVERDUE:
            assert history.snapshot.disabled is None
            assert mark is None or moment > mark or moment == history.snapshot.next_start
        case WhyKind.DISABLED:
            assert answer.disabled is history.snapshot.disabled
        case _:
            assert answer.kind is not WhyKind.EVERYTHING_PAUSED


@given(st.data(), excluding_rules().filter(lambda rules: rules.finish_trigger is None))
def test_what_is_foretold_of_the_next_time_is_what_happens(data: st.DataObject, of: Rules) -> None:
    history = History.of(of)
    for _ in range(data.draw(st.integers(0, 8))):
        step(history, data)
    for _ in list(history.runs):
        history.end(RunOutcome.SUCCEEDED)
    snapshot = history.snapshot
    assume(snapshot.disabled is None and snapshot.rules.finish_trigger is None)
    timeline = Timeline.of(snapshot.rules)
    moment = timeline.after(max(history.now, snapshot.last_tick or history.now))
    assume(moment is not None)
    assert moment is not None
    answer = explain(known_of(history, moment), moment)
    assert answer.kind in {
        WhyKind.TO_COME,
        WhyKind.WILL_BE_SKIPPED,
        WhyKind.WAIT_AFTER_CRASH,
    }
    found = list[Ticks]()
    while not found and history.snapshot.next_start is not None:
        history.now = max(history.now, history.snapshot.next_start)
        history.happen(Due())
        for _ in list(history.runs):
            history.end(RunOutcome.SUCCEEDED)
        found = [ticks for ticks in history.ticks if ticks.first <= moment <= ticks.last]
    decided = [ticks for ticks in found if ticks.reason not in BESIDE]
    if answer.kind is WhyKind.WAIT_AFTER_CRASH:
        assert answer.start is not None
        assert history.now >= answer.start == snapshot.next_start
        assert decided
    elif answer.kind is WhyKind.TO_COME:
        assert [ticks.decision for ticks in decided] == [Decision.FIRED]
    elif decided:
        assert [(ticks.decision, ticks.reason) for ticks in decided] == [
            (Decision.SKIPPED, answer.reason)
        ]


@given(timed_triggers, st.timedeltas(timedelta(0), timedelta(days=3)))
def test_the_time_before_a_moment_is_the_last_one(trigger: object, offset: timedelta) -> None:
    timeline = Timeline.of(Rules(key="shop.purge", trigger=trigger))  # type: ignore[arg-type]
    moment = START + offset
    before = latest_before(timeline, moment)
    if before is not None:
        assert before < moment
        following = timeline.after(before)
        assert following is None or following >= moment


@given(st.data(), excluding_rules())
def test_a_disabled_schedule_says_so_for_every_time_to_come(data: st.DataObject, of: Rules) -> None:
    assume(of.finish_trigger is None)
    history = History.of(of)
    for _ in range(data.draw(st.integers(0, 5))):
        step(history, data)
    history.pause()
    timeline = Timeline.of(history.snapshot.rules)
    moment = timeline.after(max(history.now, history.snapshot.last_tick or history.now))
    assume(moment is not None)
    assert moment is not None
    answer = explain(known_of(history, moment), moment)
    assert (answer.kind, answer.disabled) == (WhyKind.DISABLED, DisabledReason.PAUSED)
    waiting = undecided(history.snapshot.rules, history.snapshot.last_tick, moment)
    assert waiting is not None
    assert waiting[1] == moment
