"""Laws of forecasts: each nominal time has one decision, and runs overlap only where they may."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from horae.domain.forecast import (
    Forecast,
    ForecastSchedule,
    ScheduleForecast,
    compare,
    forecast,
)
from horae.domain.schedules.plan import plan
from horae.domain.schedules.planning_state import Activated, ScheduleSnapshot
from horae.domain.schedules.schedule import Overlap, Rules
from horae.domain.schedules.timeline import Timeline
from tests.properties.schedule_strategies import START, rules

LENGTH = timedelta(hours=6)
lengths = st.sampled_from([0, 1, 45, 600, 5_000]).map(lambda seconds: timedelta(seconds=seconds))


@st.composite
def schedules(draw: st.DrawFn) -> ForecastSchedule:
    snapshot = ScheduleSnapshot(rules=draw(rules()))
    made = plan(snapshot, Activated(), START, Random(1))
    begun = replace(
        snapshot, last_tick=made.last_tick, next_start=made.next_start, disabled=made.disabled
    )
    return ForecastSchedule("work", begun, draw(lengths))


def of(schedule: ForecastSchedule) -> Forecast:
    return forecast([schedule], START, START + LENGTH)


def decided(found: ScheduleForecast, of: Rules) -> list[datetime]:
    """List every nominal time that has a decision, as often as it has one."""
    timeline = Timeline.of(of)
    return sorted(
        [run.nominal_time for run in found.runs]
        + [
            timeline.nth(each.first, at, each.last) if at else each.first
            for each in found.not_run
            for at in range(each.count)
        ]
    )


@given(schedules())
def test_each_nominal_time_has_exactly_one_decision(schedule: ForecastSchedule) -> None:
    found = of(schedule)["work"]
    if schedule.snapshot.rules.finish_trigger is None:
        times = decided(found, schedule.snapshot.rules)
        timeline, expected = Timeline.of(schedule.snapshot.rules), list[datetime]()
        while len(expected) < len(times) and (
            following := timeline.after(expected[-1] if expected else START)
        ):
            expected.append(following)
        assert times == expected


@given(schedules())
def test_runs_overlap_only_with_allow_all(schedule: ForecastSchedule) -> None:
    found = of(schedule)
    assert all(START <= run.start < START + LENGTH for run in found.runs)
    if schedule.snapshot.rules.overlap is not Overlap.ALLOW_ALL:
        ends = [run.end for run in found.runs]
        starts = [run.start for run in found.runs]
        assert all(end <= start for end, start in zip(ends[:-1], starts[1:], strict=True))
        assert found.peaks() == []


@given(schedules(), schedules())
def test_a_comparison_leads_from_one_list_of_runs_to_the_other(
    old: ForecastSchedule, new: ForecastSchedule
) -> None:
    before, after = of(old), of(new)
    starts = Counter(run.start for run in before.runs)
    for found in compare(before, after, {}).schedules:
        starts -= Counter(found.dropped)
        starts += Counter(found.added)
    assert starts == Counter(run.start for run in after.runs)
