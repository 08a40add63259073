"""Triggers, rules and histories of schedules to draw from."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from horae.domain.cron.expression import CronExpression
from horae.domain.schedules.schedule import CatchUp, Overlap, Rules
from horae.domain.schedules.trigger import CronTrigger, IntervalTrigger, Trigger
from horae.domain.times.interval import Interval
from tests.properties.cron_strategies import FOLDS, GAPS, ZONES, expressions, instants

START = datetime(2026, 3, 28, 12, tzinfo=UTC)  # half a day before Europe's clocks change

# Fast enough that a history of some hours has many times, slow enough that a test can list them.
TEXTS = [
    "* * * * *",
    "*/7 * * * *",
    "13 * * * *",
    "0 0-6 * * *",
    "*/20 * * * * *",
    "30 2 * * *",
    "0 0 1 1 * * 2027",
]
ZONES_OF_HISTORIES = ["UTC", "Europe/Berlin", "America/New_York"]

moments_of_history = st.timedeltas(timedelta(0), timedelta(days=2)).map(START.__add__)
periods = st.sampled_from(["20s", "1m", "7m", "90m", "1 day"]).map(Interval.parse)


@st.composite
def fast_crons(draw: st.DrawFn) -> CronTrigger:
    zone = draw(st.sampled_from(ZONES_OF_HISTORIES))
    text = draw(st.sampled_from(TEXTS))
    return CronTrigger(
        CronExpression.parse(text, timezone=zone, dst_gap=draw(GAPS), dst_fold=draw(FOLDS))
    )


@st.composite
def fast_intervals(
    draw: st.DrawFn, fixed: st.SearchStrategy[bool] = st.booleans()
) -> IntervalTrigger:
    start = draw(st.none() | moments_of_history)
    return IntervalTrigger(
        draw(periods), draw(fixed), start, draw(st.sampled_from(ZONES_OF_HISTORIES))
    )


@st.composite
def any_triggers(draw: st.DrawFn) -> Trigger:
    """A trigger of any zone and year, for storage; not for a history."""
    if draw(st.booleans()):
        return CronTrigger(draw(expressions()))
    micros = st.integers(1, 10**15).map(lambda part: Interval(microseconds=part))
    days = st.integers(1, 400).map(lambda part: Interval(days=part))
    months = st.integers(1, 36).map(lambda part: Interval(months=part))
    start = draw(st.none() | instants(1970, 2090))
    return IntervalTrigger(
        draw(micros | days | months), draw(st.booleans()), start, draw(st.sampled_from(ZONES))
    )


jitters = st.sampled_from([0, 0, 1, 30, 600, 10**6]).map(lambda seconds: timedelta(seconds=seconds))
timed_triggers = st.one_of(fast_crons(), fast_intervals(fixed=st.just(value=True)))


@st.composite
def rules(
    draw: st.DrawFn, triggers: st.SearchStrategy[Trigger] = fast_crons() | fast_intervals()
) -> Rules:
    trigger = draw(triggers)
    drifts = isinstance(trigger, IntervalTrigger) and not trigger.fixed
    return Rules(
        key=draw(st.sampled_from(["shop.purge", "shop.bill"])),
        trigger=trigger,
        overlap=Overlap.SKIP if drifts else draw(st.sampled_from(Overlap)),
        catch_up=CatchUp.LAST if drifts else draw(st.sampled_from(CatchUp)),
        catch_up_limit=draw(st.sampled_from([1, 3, 100])),
        catch_up_window=draw(st.sampled_from([timedelta(minutes=5), timedelta(days=7)])),
        jitter=draw(jitters),
        max_retries=draw(st.sampled_from([None, None, 0, 2])),
        retry_period=draw(st.none() | st.sampled_from(["1s", "1m", "1h"]).map(Interval.parse)),
        backoff=draw(st.sampled_from(["exponential", "linear", "constant"])),
    )


EXCLUSIONS = [
    (),
    ("2026-03-29",),
    (
        "2026-03-28T14:00:00+00:00..2026-03-28T14:40:00+00:00",
        "2026-03-28T15:00:00+00:00..2026-03-29T01:30:00+00:00",
    ),
    ("2026-03-28..2099-12-31",),
]


@st.composite
def excluding_rules(draw: st.DrawFn) -> Rules:
    """Rules with an exclusion calendar, which may exclude everything."""
    return replace(draw(rules()), exclude=draw(st.sampled_from(EXCLUSIONS)))
