"""Forecasts by example: slots, queues, outages, nodes, other load, failures, and changes of the clocks."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

import pytest

from horae.domain.forecast.clock_changes import ClockSurprise, surprises_of
from horae.domain.forecast.comparison import Effect, RunChange, compare
from horae.domain.forecast.result import Colour, Forecast
from horae.domain.forecast.scenario import (
    Bodies,
    Body,
    ForecastQueue,
    ForecastSchedule,
    Load,
    Outage,
    Scenario,
)
from horae.domain.forecast.simulation import simulate
from horae.domain.schedules.plan import plan
from horae.domain.schedules.planning_state import Activated, ScheduleSnapshot
from horae.domain.schedules.schedule import DisabledReason, Rules
from horae.domain.schedules.tick import Decision, Reason
from horae.domain.schedules.trigger import parse_trigger
from horae.errors import InvalidRequest

START: Final = datetime(2026, 3, 2, tzinfo=UTC)
DAY: Final = timedelta(days=1)
HOUR: Final = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)


def rules(text: str, *, zone: str = "UTC", key: str = "shop.work", **options: Any) -> Rules:
    kind = "cron" if " " in text.partition(";")[0].strip() else "interval"
    return Rules(key=key, trigger=parse_trigger(kind, text, zone), **options)


def schedule(
    name: str,
    text: str,
    *,
    took: timedelta = timedelta(seconds=10),
    succeeds: bool = True,
    queue: str = "default",
    priority: int = 0,
    **options: Any,
) -> ForecastSchedule:
    snapshot = ScheduleSnapshot(rules=rules(text, key=f"shop.{name}", **options))
    made = plan(snapshot, Activated(), START, Random(1))
    return ForecastSchedule(
        name=name,
        snapshot=replace(
            snapshot, last_tick=made.last_tick, next_start=made.next_start, disabled=made.disabled
        ),
        bodies=Bodies((Body(took, succeeds=succeeds),)),
        queue=queue,
        priority=priority,
    )


def forecast(*schedules: ForecastSchedule, length: timedelta = DAY, **options: Any) -> Forecast:
    return simulate(Scenario(start=START, end=START + length, schedules=schedules, **options))


def starts(found: Forecast, name: str) -> list[str]:
    return [f"{run.nominal:%H:%M}>{run.fired:%H:%M} {run.reason}" for run in found[name].runs]


def test_each_time_runs_once_when_nothing_is_in_the_way() -> None:
    found = forecast(schedule("hourly", "0 * * * *"))
    assert found["hourly"].decisions == {
        (Decision.FIRED, Reason.ON_TIME): 23
    }  # the period begins at a full hour
    assert (found["hourly"].late, found.running.count, found.waiting.count, found.slots_needed) == (
        0,
        1,
        0,
        1,
    )
    assert [stretch.runs for stretch in found["hourly"].stretches] == [0] + [1] * 23


def test_a_run_that_takes_too_long_skips_times() -> None:
    found = forecast(schedule("slow", "*/10 * * * *", took=15 * MINUTE), length=HOUR)
    assert starts(found, "slow") == [
        "00:10>00:10 on_time",
        "00:30>00:30 on_time",
        "00:50>00:50 on_time",
    ]
    assert (
        found["slow"].count(Decision.SKIPPED, Reason.OVERLAP) == 2
    )  # that of 01:00 is decided after the period
    assert found["slow"].unfinished == 1


def test_a_run_makes_way_for_the_next_one() -> None:
    found = forecast(
        schedule("latest", "*/10 * * * *", took=15 * MINUTE, overlap="cancel_other"), length=HOUR
    )
    assert starts(found, "latest") == [
        f"00:{minute}>00:{minute} {reason}"
        for minute, reason in [
            (10, "on_time"),
            (20, "buffered"),
            (30, "buffered"),
            (40, "buffered"),
            (50, "buffered"),
        ]
    ]
    assert (found["latest"].cancelled, found.running.count) == (4, 1)


def test_runs_beside_each_other_are_counted() -> None:
    found = forecast(
        schedule("beside", "*/10 * * * *", took=25 * MINUTE, overlap="allow_all"), length=2 * HOUR
    )
    assert (found["beside"].fired, found["beside"].most_open, found.slots_needed) == (11, 3, 3)


@pytest.mark.parametrize(
    ("policy", "made_up", "dropped"),
    [
        ("last", ["05:00>05:30 late"], {(Decision.COALESCED, Reason.CATCH_UP): 3}),
        ("none", [], {(Decision.MISSED, Reason.CATCH_UP_NONE): 4}),
        (
            "all",
            [
                f"0{hour}:00>05:{minute} catch_up"
                for hour, minute in [(2, 30), (3, 30), (4, 30), (5, 30)]
            ],
            {},
        ),
    ],
)
def test_an_outage_is_made_up_for_by_the_policy(
    policy: str, made_up: list[str], dropped: dict[tuple[Decision, Reason], int]
) -> None:
    outage = Outage(START + HOUR + 30 * MINUTE, 4 * HOUR)
    found = forecast(
        schedule("hourly", "0 * * * *", catch_up=policy, took=timedelta(0)), outages=(outage,)
    )
    late = [text for text in starts(found, "hourly") if not text.endswith("on_time")]
    assert [text.partition(" ")[0] for text in late] == [text.partition(" ")[0] for text in made_up]
    not_run = {
        pair: count
        for pair, count in found["hourly"].decisions.items()
        if pair[0] is not Decision.FIRED
    }
    assert sum(not_run.values()) == sum(dropped.values())
    (storm,) = found.storms
    assert (storm.start, storm.back, storm.late) == (
        outage.start,
        START + 5 * HOUR + 30 * MINUTE,
        len(made_up),
    )
    assert storm.dropped == sum(dropped.values())


def test_an_outage_kills_what_runs_and_a_crash_is_found_after_it() -> None:
    outage = Outage(START + 90 * MINUTE, HOUR)
    found = forecast(
        schedule("long", "0 * * * *", took=50 * MINUTE, retry_period=parse("5m")),
        outages=(outage,),
        length=4 * HOUR,
    )
    assert (found["long"].crashes, found["long"].failures) == (1, 0)
    assert starts(found, "long")[0] == "01:00>01:00 on_time"
    assert starts(found, "long")[1].startswith("02:00>02:30")  # the crash leaves the newest time


def parse(text: str) -> Any:
    return parse_trigger("interval", text).interval  # type: ignore[union-attr]


def test_a_killed_node_loses_its_bodies_and_slots() -> None:
    kill = Outage(START + 65 * MINUTE, None, node=1)
    work = [
        schedule(f"job{number}", "0 * * * *", took=10 * MINUTE, queue=f"q{number}")
        for number in range(4)
    ]
    found = forecast(*work, nodes=2, slots=2, outages=(kill,), length=3 * HOUR)
    assert sum(each.crashes for each in found.schedules) == 2
    assert (
        sum(each.waited for each in found.schedules) == 2
    )  # at 02:00 two slots are left for four jobs
    assert found.storms == ()


def test_nothing_runs_while_the_only_node_is_down() -> None:
    found = forecast(
        schedule("hourly", "0 * * * *"), outages=(Outage(START + 5 * HOUR, None, node=1),)
    )
    assert (found["hourly"].fired, found.down_since, found.storms) == (4, START + 5 * HOUR, ())


def test_without_a_free_slot_runs_wait_in_the_order_of_priority_and_due_time() -> None:
    first, second, third = (
        schedule(name, "0 * * * *", took=20 * MINUTE, priority=priority)
        for name, priority in [("low", -1), ("middle", 0), ("high", 1)]
    )
    found = forecast(first, second, third, slots=1, length=2 * HOUR)
    assert [found[name].longest_wait for name in ("high", "middle", "low")] == [
        0 * HOUR,
        20 * MINUTE,
        40 * MINUTE,
    ]
    assert (found.slots_needed, found.running.count, found.waiting.count) == (3, 1, 2)


def test_a_queue_has_its_limit_and_its_pause() -> None:
    work = [
        schedule(f"job{number}", "0 * * * *", took=30 * MINUTE, queue="imports")
        for number in range(3)
    ]
    paused = schedule("stopped", "0 * * * *", queue="mail")
    queues = {"imports": ForecastQueue(limit=1), "mail": ForecastQueue(paused=True)}
    found = forecast(*work, paused, queues=queues, length=4 * HOUR)
    assert found.running.count == 1
    assert (found["stopped"].fired, found["stopped"].unfinished, found["stopped"].waited) == (
        1,
        1,
        0,
    )
    assert found["stopped"].count(Decision.SKIPPED) == 0  # decided when the run ends


def test_other_jobs_share_the_slots() -> None:
    load = Load(count=60, period=HOUR, took=50 * timedelta(seconds=1))
    alone = forecast(schedule("hourly", "0 * * * *"), slots=1)
    busy = forecast(schedule("hourly", "0 * * * *"), slots=1, loads=(load,))
    assert 1_300 < busy.other_jobs < 1_600
    assert (alone["hourly"].waited, busy["hourly"].waited > 5, busy.others_waited > 100) == (
        0,
        True,
        True,
    )
    assert busy == forecast(schedule("hourly", "0 * * * *"), slots=1, loads=(load,))
    assert (
        busy.other_jobs
        != forecast(schedule("hourly", "0 * * * *"), slots=1, loads=(load,), seed=1).other_jobs
    )


def test_a_schedule_that_fails_is_retried_and_then_disabled() -> None:
    failing = schedule(
        "flaky", "0 6 * * *", succeeds=False, retry_period=parse("10m"), max_retries=3
    )
    found = forecast(failing, length=3 * DAY)
    assert found["flaky"].decisions == {
        (Decision.FIRED, Reason.ON_TIME): 1,
        (Decision.FIRED, Reason.RETRY): 3,
    }
    assert (found["flaky"].failures, found["flaky"].disabled) == (4, DisabledReason.RETRIES_USED_UP)
    assert [stretch.colour for stretch in found["flaky"].stretches] == [
        Colour.FAILED,
        Colour.NOTHING,
        Colour.NOTHING,
    ]


def test_a_time_limit_ends_a_body_as_a_failure() -> None:
    limited = replace(schedule("long", "0 * * * *", took=2 * HOUR), time_limit=HOUR / 2)
    assert forecast(limited, length=3 * HOUR)["long"].failures == 2


def test_a_paused_schedule_does_not_run() -> None:
    paused = schedule("nightly", "0 3 * * *")
    paused = replace(paused, snapshot=replace(paused.snapshot, disabled=DisabledReason.PAUSED))
    assert (forecast(paused)["nightly"].fired, forecast(paused)["nightly"].disabled) == (
        0,
        DisabledReason.PAUSED,
    )


def test_measured_bodies_are_drawn_by_run_and_not_by_order() -> None:
    samples = tuple(Body(timedelta(seconds=number)) for number in range(1, 50))
    one = replace(schedule("one", "*/10 * * * *"), bodies=Bodies(samples))
    alone, together = forecast(one), forecast(one, schedule("two", "*/7 * * * *"))
    assert alone["one"] == together["one"]


def of_zone(text: str, zone: str, day: datetime, **options: Any) -> list[ClockSurprise]:
    return list(surprises_of("work", rules(text, zone=zone, **options), day, day + 2 * DAY))


SPRING, AUTUMN = datetime(2026, 3, 28, tzinfo=UTC), datetime(2026, 10, 24, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "day", "expected"),
    [
        ("30 2 * * *", SPRING, "02:30 is left out: 1 run, at 03:00+02"),
        ("30 2 * * *; dst_gap=skip", SPRING, "02:30 is left out: no run"),
        ("0,30 2 * * *", SPRING, "02:00, 02:30 are left out: 1 run, at 03:00+02"),
        ("0 2,3 * * *", SPRING, "02:00 is left out: no run"),  # that of 03:00 has its own time
        ("*/30 * * * *", SPRING, "02:00, 02:30 are left out: no run"),
        ("30 2 * * *", AUTUMN, "02:30 comes twice: 1 run, at 02:30+02"),
        ("30 2 * * *; dst_fold=second", AUTUMN, "02:30 comes twice: 1 run, at 02:30+01"),
        ("30 2 * * *; dst_fold=both", AUTUMN, "02:30 comes twice: 2 runs, at 02:30+02, 02:30+01"),
        (
            "*/10 2 * * *",
            AUTUMN,
            (
                "02:00, 02:10, 02:20 and 3 more come twice: "
                "12 runs, at 02:00+02, 02:10+02, 02:20+02, 02:30+02, 02:40+02, 02:50+02 and 6 more"
            ),
        ),
    ],
)
def test_a_change_of_the_clocks_surprises(text: str, day: datetime, expected: str) -> None:
    assert [surprise.text for surprise in of_zone(text, "Europe/Berlin", day)] == [expected]


@pytest.mark.parametrize(
    ("text", "zone"), [("30 4 * * *", "Europe/Berlin"), ("30 2 * * *", "UTC"), ("10m", "UTC")]
)
def test_other_times_do_not_surprise(text: str, zone: str) -> None:
    assert of_zone(text, zone, SPRING) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nodes": 0}, "nodes 0: expected 1 to 1,000"),
        ({"slots": 0}, "slots 0: expected 1 to"),
        ({"length": timedelta(0)}, "period of 0:00:00: expected more than zero"),
        ({"length": 4_000 * DAY}, "at most 3660 days"),
        ({"outages": (Outage(START, HOUR, node=3),), "nodes": 2}, "node 3: expected 1 to 2"),
        ({"loads": (Load(10**9, HOUR, HOUR),)}, "expected at most 5,000,000"),
    ],
)
def test_a_scenario_that_cannot_be_simulated_is_refused(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(InvalidRequest, match=words):
        forecast(schedule("hourly", "0 * * * *"), **options)


def test_two_schedules_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="is there twice"):
        forecast(schedule("hourly", "0 * * * *"), schedule("hourly", "5 * * * *"))


def compared(old: str, new: str, length: timedelta = 7 * DAY, **options: Any) -> list[RunChange]:
    before = forecast(schedule("work", old), length=length, keep=10_000)
    after = forecast(schedule("work", new, **options), length=length, keep=10_000)
    return [change for found in compare(before, after, {}).schedules for change in found.changes]


def test_the_same_schedules_do_not_differ() -> None:
    assert compared("0 * * * *", "0 * * * *") == []


def test_another_time_of_day_moves_each_run() -> None:
    changes = compared("0 3 * * *", "0 4 * * *")
    assert [
        (change.effect, (change.after or START) - (change.before or START)) for change in changes
    ] == [(Effect.MOVED, HOUR)] * 7


def test_fewer_runs_are_dropped_and_more_are_added() -> None:
    fewer, more = compared("0 * * * *", "0 */2 * * *"), compared("0 */2 * * *", "0 * * * *")
    assert {change.effect for change in fewer} == {Effect.DROPPED}
    assert {change.effect for change in more} == {Effect.ADDED}
    assert len(fewer) == len(more) == 7 * 12


def test_a_weekly_run_instead_of_daily_ones_is_the_nearest_of_them_moved() -> None:
    changes = compared("0 3 * * *", "0 4 * * 3")
    assert sorted(change.effect for change in changes) == [Effect.DROPPED] * 6 + [Effect.MOVED]
    (moved,) = [change for change in changes if change.effect is Effect.MOVED]
    assert moved == RunChange(Effect.MOVED, START + 2 * DAY + 3 * HOUR, START + 2 * DAY + 4 * HOUR)


def test_jitter_moves_runs_and_their_nominal_times_stay() -> None:
    changes = compared("0 3 * * *", "0 3 * * *", jitter=HOUR)
    assert {change.effect for change in changes} == {Effect.MOVED}
    assert all(
        timedelta(0) < (change.after or START) - (change.before or START) < HOUR
        for change in changes
    )
