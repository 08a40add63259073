"""Laws of forecasts: each nominal time has one decision, and schedules in one group fare as each would alone."""

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from horae.domain.forecast.comparison import Effect, compare
from horae.domain.forecast.result import Forecast, ScheduleForecast
from horae.domain.forecast.scenario import Bodies, Body, ForecastSchedule, Outage, Scenario
from horae.domain.forecast.simulation import simulate
from horae.domain.schedules.plan import plan
from horae.domain.schedules.planning_state import Activated, ScheduleSnapshot
from horae.domain.schedules.schedule import Rules
from horae.domain.schedules.tick import Decision, Reason
from horae.domain.schedules.timeline import Timeline
from tests.properties.schedule_strategies import START, rules

LENGTH = timedelta(hours=6)
lengths = st.sampled_from([0, 1, 45, 600, 5_000]).map(lambda seconds: timedelta(seconds=seconds))
outages = st.lists(
    st.builds(
        lambda after, lasts: Outage(START + after, lasts),
        st.timedeltas(timedelta(minutes=1), LENGTH),
        st.timedeltas(timedelta(seconds=20), timedelta(hours=3)),
    ),
    max_size=2,
)


@st.composite
def bodies(draw: st.DrawFn) -> Bodies:
    return Bodies(
        tuple(draw(st.lists(st.builds(Body, lengths, st.booleans()), min_size=1, max_size=3)))
    )


@st.composite
def schedules(draw: st.DrawFn, name: str = "work") -> ForecastSchedule:
    snapshot = ScheduleSnapshot(rules=draw(rules()))
    made = plan(snapshot, Activated(), START, Random(1))
    begun = replace(
        snapshot, last_tick=made.last_tick, next_start=made.next_start, disabled=made.disabled
    )
    return ForecastSchedule(name=name, snapshot=begun, bodies=draw(bodies()))


def forecast(
    *of: ForecastSchedule, slots: int | None = None, outages: tuple[Outage, ...] = ()
) -> Forecast:
    end = START + LENGTH
    return simulate(
        Scenario(start=START, end=end, schedules=of, slots=slots, outages=outages, keep=10_000)
    )


def decided(found: ScheduleForecast, of: Rules) -> list[datetime]:
    """List every nominal time that has a decision, as often as it has one; retries have times of their own."""
    fired = [run.nominal for run in found.runs if run.reason is not Reason.RETRY]
    timeline = Timeline.of(of)
    return sorted(
        fired
        + [
            timeline.nth(each.first, at, each.last) if at else each.first
            for each in found.dropped
            for at in range(each.count)
        ]
    )


@given(schedules(), outages, st.sampled_from([None, 1]))
def test_each_nominal_time_has_exactly_one_decision(
    schedule: ForecastSchedule, outages: list[Outage], slots: int | None
) -> None:
    found = forecast(schedule, slots=slots, outages=tuple(outages))["work"]
    assert sum(found.decisions.values()) == len(found.runs) + sum(
        each.count for each in found.dropped
    )
    assert found.fired == len(found.runs) == found.count(Decision.FIRED)
    if schedule.rules.finish_trigger is None:
        times = decided(found, schedule.rules)
        timeline, expected = Timeline.of(schedule.rules), list[datetime]()
        while len(expected) < len(times) and (
            following := timeline.after(expected[-1] if expected else START)
        ):
            expected.append(following)
        assert times == expected


@given(schedules(), st.integers(2, 4), outages)
def test_schedules_in_one_group_fare_as_each_would_alone(
    schedule: ForecastSchedule, count: int, outages: list[Outage]
) -> None:
    several = [
        replace(
            schedule,
            name=f"work{number}",
            snapshot=replace(schedule.snapshot, rules=schedule.rules),
        )
        for number in range(count)
    ]
    together = forecast(*several, outages=tuple(outages))
    assert [together[each.name] for each in several] == [
        forecast(each, outages=tuple(outages))[each.name] for each in several
    ]


@given(schedules(), outages)
def test_ended_and_open_runs_add_up(schedule: ForecastSchedule, outages: list[Outage]) -> None:
    found = forecast(schedule, outages=tuple(outages))["work"]
    assert found.failures + found.crashes + found.cancelled <= found.fired
    assert sum(stretch.runs for stretch in found.stretches) == found.fired
    assert sum(stretch.dropped for stretch in found.stretches) == found.not_run


@given(schedules(), schedules())
def test_a_comparison_leads_from_one_list_of_runs_to_the_other(
    old: ForecastSchedule, new: ForecastSchedule
) -> None:
    before, after = forecast(old), forecast(new)
    changes = [change for found in compare(before, after, {}).schedules for change in found.changes]
    dues = [run.due for run in before["work"].runs]
    for change in changes:
        if change.before is not None:
            dues.remove(change.before)
        if change.after is not None:
            dues.append(change.after)
    assert sorted(dues) == sorted(run.due for run in after["work"].runs)
    assert all((change.before is None) == (change.effect is Effect.ADDED) for change in changes)
