"""The plan of starts by example: each example is a mistake that some scheduler has made."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from horae.domain.schedules.plan import plan
from horae.domain.schedules.planning_state import (
    Activated,
    Altered,
    Due,
    Event,
    NextStartSet,
    Plan,
    Resumed,
    RunByHand,
    RunEnded,
    ScheduleSnapshot,
    Stop,
)
from horae.domain.schedules.recovery import CRASH_WAIT
from horae.domain.schedules.schedule import CatchUp, DisabledReason, Overlap, Rules
from horae.domain.schedules.statistics import RunOutcome, Statistics
from horae.domain.schedules.tick import Ticks
from horae.domain.schedules.trigger import parse_trigger
from horae.domain.times.interval import Interval
from horae.errors import InvalidRequest

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SUCCEEDED, FAILED, CANCELLED, CRASHED, UNCOUNTED = RunOutcome
MINUTE = Interval.parse("1m")


def after(text: str) -> datetime:
    """So long after noon."""
    return Interval.parse(text).after(NOON)


def cron(text: str, **options: Any) -> Rules:
    return Rules(
        key="shop.purge", trigger=parse_trigger("cron", text, options.pop("zone", "UTC")), **options
    )


def every(text: str, **options: Any) -> Rules:
    return Rules(
        key="shop.purge",
        trigger=parse_trigger("interval", text, options.pop("zone", "UTC")),
        **options,
    )


def ask(snapshot: ScheduleSnapshot, event: Event, now: datetime) -> Plan:
    return plan(snapshot, event, now, Random(1))


def stored(
    snapshot: ScheduleSnapshot, made: Plan, started: datetime | None = None
) -> ScheduleSnapshot:
    return replace(
        snapshot,
        statistics=made.statistics,
        last_tick=made.last_tick,
        next_start=made.next_start,
        started=started,
        disabled=made.disabled,
    )


def idle(rules: Rules, now: datetime = NOON) -> ScheduleSnapshot:
    """A schedule that was created at noon."""
    snapshot = ScheduleSnapshot(rules=rules)
    return stored(snapshot, ask(snapshot, Activated(), now))


def fired(
    snapshot: ScheduleSnapshot, now: datetime, event: Event | None = None
) -> ScheduleSnapshot:
    made = ask(snapshot, event or Due(), now)
    assert made.fire is not None
    return stored(snapshot, made, started=now)


def ended(snapshot: ScheduleSnapshot, outcome: RunOutcome, now: datetime, **facts: Any) -> Plan:
    assert snapshot.started is not None
    return ask(snapshot, RunEnded(outcome=outcome, started=snapshot.started, **facts), now)


def rows(ticks: tuple[Ticks, ...]) -> list[str]:
    """Such as `12:01-12:04 4 skipped overlap`."""
    return [
        f"{tick.first:%H:%M}-{tick.last:%H:%M} {tick.count} {tick.decision} {tick.reason}"
        for tick in ticks
    ]


MINUTELY = cron("* * * * *")


def test_a_naive_now_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        ask(ScheduleSnapshot(rules=MINUTELY), Activated(), NOON.replace(tzinfo=None))


@pytest.mark.parametrize(
    ("rules", "start"),
    [
        (cron("30 * * * *"), after("30m")),
        (cron("0 12 * * *"), after("1 day")),  # the time at which it was created has passed
        (every("10m"), NOON),
        (every("10m; initial_start=2026-01-01T14:00:00+00:00"), after("2h")),
        (every("10m; initial_start=2025-01-01T14:00:00+00:00"), NOON),
        (every("1 day; fixed"), after("12h")),
        (
            every("1h; fixed; initial_start=2026-03-01T00:00:00+00:00"),
            datetime(2026, 3, 1, tzinfo=UTC),
        ),
        (every("1h; fixed; initial_start=2025-03-01T00:10:00+00:00"), after("10m")),
    ],
)
def test_the_first_start(rules: Rules, start: datetime) -> None:
    assert ask(ScheduleSnapshot(rules=rules), Activated(), NOON).next_start == start


def test_nothing_fires_before_its_time() -> None:
    snapshot = idle(MINUTELY)
    assert ask(snapshot, Due(), after("59s")) == Plan.unchanged(snapshot)


def test_a_time_fires_once() -> None:
    made = ask(idle(MINUTELY), Due(), after("1m"))
    assert (made.fire, made.last_tick, made.next_start) == (after("1m"), after("1m"), after("2m"))
    assert rows(made.ticks) == ["12:01-12:01 1 fired on_time"]
    assert made.statistics.total_runs == 1


def test_a_drifting_interval_counts_from_the_finish() -> None:
    running = fired(idle(every("10m")), NOON)
    assert ended(running, SUCCEEDED, after("25m")).next_start == after("35m")


@pytest.mark.parametrize(("finish", "following"), [("9m", "10m"), ("10m", "20m"), ("25m", "30m")])
def test_a_fixed_interval_takes_the_first_point_after_the_finish(
    finish: str, following: str
) -> None:
    running = fired(idle(every("10m; fixed"), NOON - timedelta(minutes=1)), NOON)
    assert ended(running, SUCCEEDED, after(finish)).next_start == after(following)


def test_a_run_longer_than_its_period_skips_times_with_a_reason() -> None:
    running = fired(idle(MINUTELY), after("1m"))
    made = ended(running, SUCCEEDED, after("5m30s"))
    assert rows(made.ticks) == ["12:02-12:05 4 skipped overlap"]
    assert (made.last_tick, made.next_start) == (after("5m"), after("6m"))


def test_an_outage_is_made_up_for_by_one_run() -> None:
    made = ask(idle(MINUTELY), Due(), after("3h50s"))
    assert rows(made.ticks) == ["12:01-14:59 179 coalesced catch_up", "15:00-15:00 1 fired late"]
    assert made.next_start == after("3h1m")


def test_an_outage_can_be_made_up_for_run_by_run() -> None:
    snapshot = fired(
        idle(cron("* * * * *", catch_up=CatchUp.ALL, catch_up_limit=2)), after("5m10s")
    )
    assert snapshot.last_tick == after("4m")
    assert snapshot.next_start == after("6m")  # while it runs, what comes due next
    made = ended(snapshot, SUCCEEDED, after("5m20s"))
    assert (made.next_start, made.ticks) == (after("5m20s"), ())
    assert rows(ask(stored(snapshot, made), Due(), after("5m20s")).ticks) == [
        "12:05-12:05 1 fired catch_up"
    ]


def test_missed_times_may_all_be_skipped() -> None:
    made = ask(idle(cron("* * * * *", catch_up=CatchUp.NONE)), Due(), after("5m40s"))
    assert made.fire is None
    assert rows(made.ticks) == ["12:01-12:05 5 missed catch_up_none"]
    assert (made.last_tick, made.next_start) == (after("5m"), after("6m"))


def test_the_last_run_of_an_exhausted_schedule_is_run_and_ended() -> None:
    snapshot = idle(cron("0 30 12 1 1 * 2026"))
    running = fired(snapshot, after("30m"))
    assert running.next_start is None
    made = ended(running, SUCCEEDED, after("31m"))
    assert (made.next_start, made.disabled) == (None, DisabledReason.EXHAUSTED)


def test_a_schedule_whose_years_are_over_is_disabled_when_it_is_created() -> None:
    made = ask(ScheduleSnapshot(rules=cron("0 0 0 1 1 * 2020")), Activated(), NOON)
    assert (made.next_start, made.disabled) == (None, DisabledReason.EXHAUSTED)


def test_a_last_run_that_fails_is_still_retried() -> None:
    rules = cron("0 30 12 1 1 * 2026", retry_period=MINUTE)
    made = ended(fired(idle(rules), after("30m")), FAILED, after("31m"))
    assert made.disabled is None
    assert made.next_start is not None
    assert after("31m52s") < made.next_start < after("32m8s")


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_n_retries_are_n_plus_one_runs(retries: int) -> None:
    snapshot = idle(every("10m", max_retries=retries))
    runs = 0
    while snapshot.disabled is None:
        assert snapshot.next_start is not None
        running = fired(snapshot, snapshot.next_start)
        snapshot = stored(running, ended(running, FAILED, snapshot.next_start))
        runs += 1
    assert (runs, snapshot.disabled) == (retries + 1, DisabledReason.RETRIES_USED_UP)
    assert snapshot.next_start is None


def test_failures_of_any_kind_use_up_retries_and_cancels_do_not() -> None:
    snapshot = idle(every("10m", max_retries=2))
    for outcome, disabled in [
        (FAILED, False),
        (CANCELLED, False),
        (CRASHED, False),
        (CANCELLED, False),
        (FAILED, True),
    ]:
        assert snapshot.next_start is not None
        running = fired(snapshot, snapshot.next_start)
        snapshot = stored(running, ended(running, outcome, snapshot.next_start))
        assert (snapshot.disabled is not None) == disabled


def test_without_a_limit_a_schedule_fails_for_ever_and_never_waits_for_ever() -> None:
    hopeless = Statistics(total_runs=10**6, total_failures=10**6, consecutive_failures=10**6)
    running = fired(replace(idle(every("10m")), statistics=hopeless), NOON)
    made = ended(running, FAILED, NOON)
    assert made.disabled is None
    assert made.next_start is not None
    assert after("43m") < made.next_start < after("57m")  # five intervals, give or take an eighth


def test_enabling_resets_the_retries() -> None:
    running = fired(idle(every("10m", max_retries=0)), NOON)
    gone = stored(running, ended(running, FAILED, NOON))
    made = ask(gone, Resumed(), after("1h"))
    assert (made.disabled, made.next_start, made.statistics.streak()) == (None, after("1h"), 0)


def test_cron_is_retried_only_if_that_is_asked_for() -> None:
    hourly = cron("0 * * * *")
    assert ended(fired(idle(hourly), after("1h")), FAILED, after("1h1m")).next_start == after("2h")
    retried = replace(hourly, retry_period=MINUTE)
    running = fired(idle(retried), after("1h"))
    made = ended(running, FAILED, after("1h1m"))
    assert made.next_start is not None
    assert after("1h1m50s") < made.next_start < after("1h2m10s")
    again = ask(stored(running, made), Due(), made.next_start)
    assert rows(again.ticks) == [f"{made.next_start:%H:%M}-{made.next_start:%H:%M} 1 fired retry"]
    assert (again.last_tick, again.next_start) == (after("1h"), after("2h"))


def test_a_retry_never_waits_past_the_next_time() -> None:
    rules = cron("0 * * * *", retry_period=Interval.parse("3h"))
    assert ended(fired(idle(rules), after("1h")), FAILED, after("1h1m")).next_start == after("2h")


def test_a_retry_that_falls_on_a_nominal_time_does_not_take_its_place() -> None:
    rules = cron("* * * * *", jitter=timedelta(seconds=50), retry_period=MINUTE)
    failing = Statistics(last_finish=NOON, total_runs=1, total_failures=1, consecutive_failures=1)
    snapshot = ScheduleSnapshot(
        rules=rules, statistics=failing, last_tick=NOON, next_start=after("1m")
    )
    made = ask(
        snapshot, Due(), after("1m")
    )  # the time of 12:01 itself is due only some seconds later
    assert made.fire == after("1m") + timedelta(microseconds=1)
    assert made.last_tick == NOON


def test_a_crashed_interval_waits_five_minutes_after_the_scheduler_has_started() -> None:
    running = fired(idle(every("1m")), NOON)
    restarted = after("3m")
    made = ended(running, CRASHED, after("3m10s"), scheduler_started=restarted)
    assert made.next_start is not None
    assert made.next_start >= restarted + CRASH_WAIT
    again = stored(running, made)
    assert ask(again, Due(), after("7m")) == Plan.unchanged(
        again
    )  # a start of a scheduler moves nothing


def test_a_crashed_fixed_interval_may_leave_its_grid_to_wait() -> None:
    running = fired(idle(every("1m; fixed")), after("1m"))
    made = ended(running, CRASHED, after("1m30s"), scheduler_started=after("1m20s"))
    assert made.next_start == after("6m20s")
    late = ask(stored(running, made), Due(), after("6m20s"))
    assert rows(late.ticks) == ["12:02-12:05 4 coalesced catch_up", "12:06-12:06 1 fired on_time"]


@pytest.mark.parametrize(
    ("options", "decided"),
    [
        ({}, ["12:04-12:08 5 coalesced catch_up", "12:09-12:09 1 fired on_time"]),
        (
            {"overlap": Overlap.BUFFER_ONE},
            ["12:04-12:08 5 coalesced catch_up", "12:09-12:09 1 fired on_time"],
        ),
        ({"catch_up": CatchUp.ALL}, ["12:02-12:02 1 fired catch_up"]),
        ({"overlap": Overlap.BUFFER_ALL}, ["12:02-12:02 1 fired buffered"]),
    ],
)
def test_times_during_the_wait_after_a_crash_came_during_no_run(
    options: dict[str, Any], decided: list[str]
) -> None:
    """The crash has left a time to be run: those that come until the wait is over are late as well."""
    running = fired(idle(every("1m; fixed", **options)), after("1m"))
    made = ended(running, CRASHED, after("4m30s"), scheduler_started=after("4m"))
    assert made.next_start == after("9m")
    assert made.last_tick in {after("1m"), after("3m")}  # so a time is left
    assert rows(ask(stored(running, made), Due(), after("9m")).ticks) == decided


def test_a_crash_of_the_machine_does_not_skip_the_next_nightly_run() -> None:
    nightly = cron("0 3 * * *")
    running = fired(idle(nightly), after("15h"))
    found = after("3 days")
    made = ended(running, CRASHED, found, scheduler_started=found)
    assert [(tick.count, tick.reason.value) for tick in made.ticks] == [(1, "catch_up")]
    assert made.next_start == found


@pytest.mark.parametrize("outcome", [SUCCEEDED, FAILED, CANCELLED])
def test_buffered_times_run_at_once_after_the_run(outcome: RunOutcome) -> None:
    running = fired(idle(cron("* * * * *", overlap=Overlap.BUFFER_ONE)), after("1m"))
    made = ended(running, outcome, after("4m30s"))
    assert rows(made.ticks) == ["12:02-12:03 2 coalesced overlap"]
    assert made.next_start == after("4m30s")
    assert rows(ask(stored(running, made), Due(), after("9m")).ticks) == [
        "12:04-12:04 1 fired buffered"
    ]


@pytest.mark.parametrize(
    ("overlap", "stop"),
    [(Overlap.CANCEL_OTHER, Stop.CANCEL), (Overlap.TERMINATE_OTHER, Stop.TERMINATE)],
)
def test_a_new_time_can_stop_the_old_run(overlap: Overlap, stop: Stop) -> None:
    running = fired(idle(cron("* * * * *", overlap=overlap)), after("1m"))
    assert ask(running, Due(), after("1m59s")).stop is None
    made = ask(running, Due(), after("2m"))
    assert (made.stop, made.fire, made.ticks, made.last_tick) == (stop, None, (), after("1m"))
    assert made.next_start == after("3m")
    over = ended(stored(running, made, running.started), CANCELLED, after("2m1s"))
    assert over.next_start == after("2m1s")
    assert rows(ask(stored(running, over), Due(), after("2m1s")).ticks) == [
        "12:02-12:02 1 fired buffered"
    ]


def test_a_time_that_comes_due_during_a_run_stops_nothing_by_default() -> None:
    running = fired(idle(MINUTELY), after("1m"))
    made = ask(running, Due(), after("2m"))
    assert (made.stop, made.fire, made.next_start) == (None, None, after("3m"))


def test_runs_may_overlap_if_they_are_allowed_to() -> None:
    first = replace(
        fired(idle(cron("* * * * *", overlap=Overlap.ALLOW_ALL)), after("1m")), started=None
    )
    second = ask(first, Due(), after("2m"))
    assert (second.fire, second.next_start) == (after("2m"), after("3m"))
    going = stored(first, second)
    made = ask(going, RunEnded(outcome=FAILED, started=after("1m"), others=1), after("2m30s"))
    assert (made.next_start, made.ticks, made.statistics.streak(running=1)) == (after("3m"), (), 1)


def test_a_drifting_interval_runs_however_late_it_is() -> None:
    snapshot = idle(every("10m"))
    on_time = ask(snapshot, Due(), after("30s"))
    assert (rows(on_time.ticks), on_time.last_tick) == (["12:00-12:00 1 fired on_time"], NOON)
    assert on_time.next_start == after("10m30s")  # at the earliest
    assert rows(ask(snapshot, Due(), after("31s")).ticks) == ["12:00-12:00 1 fired late"]
    assert rows(ask(snapshot, Due(), after("30 days")).ticks) == ["12:00-12:00 1 fired late"]


def test_jitter_of_a_drifting_interval_is_less_than_the_interval() -> None:
    running = fired(idle(every("10m")), NOON)
    jittered = replace(running, rules=every("10m", jitter=timedelta(days=1)))
    made = ended(jittered, SUCCEEDED, NOON)
    assert made.next_start is not None
    assert after("10m") < made.next_start < after("20m")


def test_a_last_time_that_is_missed_ends_the_schedule() -> None:
    made = ask(idle(cron("0 30 12 1 1 * 2026", catch_up=CatchUp.NONE)), Due(), after("1h"))
    assert rows(made.ticks) == ["12:30-12:30 1 missed catch_up_none"]
    assert (made.next_start, made.disabled) == (None, DisabledReason.EXHAUSTED)


def test_a_time_that_was_missed_is_not_run_as_a_retry() -> None:
    rules = cron("0 * * * *", catch_up=CatchUp.NONE, retry_period=Interval.parse("3h"))
    running = fired(idle(rules), after("1h"))
    snapshot = stored(running, ended(running, FAILED, after("1h1m")))
    made = ask(snapshot, Due(), after("2h1m"))
    assert rows(made.ticks) == ["14:00-14:00 1 missed catch_up_none"]
    assert (made.fire, made.next_start) == (None, after("3h"))


def test_the_only_run_made_up_for_is_marked_as_such() -> None:
    made = ask(idle(cron("0 * * * *", catch_up=CatchUp.ALL)), Due(), after("1h1m"))
    assert rows(made.ticks) == ["13:00-13:00 1 fired catch_up"]
    made = ask(idle(cron("0 * * * *", catch_up=CatchUp.ALL)), Due(), after("2h10s"))
    assert rows(made.ticks) == ["13:00-13:00 1 fired catch_up"]
    made = ask(idle(cron("0 * * * *", catch_up=CatchUp.ALL)), Due(), after("1h30s"))
    assert rows(made.ticks) == ["13:00-13:00 1 fired on_time"]


def test_a_backlog_stops_no_running_job() -> None:
    rules = cron("* * * * *", overlap=Overlap.CANCEL_OTHER, catch_up=CatchUp.ALL)
    running = fired(idle(rules), after("5m10s"))
    early = replace(running, next_start=after("5m20s"))
    assert ask(early, Due(), after("5m20s")).stop is None
    assert ask(running, Due(), after("6m")).stop is Stop.CANCEL


def test_runs_that_may_overlap_make_up_for_an_outage_at_once() -> None:
    snapshot = idle(cron("* * * * *", overlap=Overlap.ALLOW_ALL, catch_up=CatchUp.ALL))
    made = ask(snapshot, Due(), after("3m10s"))
    assert (made.fire, made.next_start) == (after("1m"), after("3m10s"))


def test_a_run_by_hand_moves_nothing() -> None:
    snapshot = idle(cron("0 * * * *"))
    made = ask(snapshot, RunByHand(), after("10m"))
    assert rows(made.ticks) == ["12:10-12:10 1 fired manual"]
    assert (made.next_start, made.last_tick, made.statistics.total_runs) == (after("1h"), NOON, 1)
    over = ended(stored(snapshot, made, after("10m")), FAILED, after("20m"), by_hand=True)
    assert (over.next_start, over.statistics.total_failures) == (after("1h"), 1)


def test_a_time_that_comes_due_during_a_run_by_hand_overlaps_like_any_other() -> None:
    by_hand = fired(idle(MINUTELY), after("30s"), RunByHand())
    made = ended(by_hand, SUCCEEDED, after("1m"), by_hand=True)
    assert rows(made.ticks) == ["12:01-12:01 1 skipped overlap"]
    assert made.next_start == after("2m")


def test_a_run_by_hand_of_a_drifting_interval_moves_nothing() -> None:
    running = fired(idle(every("1h")), NOON)
    snapshot = stored(running, ended(running, SUCCEEDED, NOON))
    by_hand = fired(snapshot, after("10m"), RunByHand())
    assert ended(by_hand, SUCCEEDED, after("20m"), by_hand=True).next_start == after("1h")
    assert ended(by_hand, SUCCEEDED, after("2h"), by_hand=True).next_start == after("2h")


def test_a_run_by_hand_at_a_nominal_time_does_not_take_its_place() -> None:
    assert ask(idle(MINUTELY), RunByHand(), after("1m")).fire == after("1m") + timedelta(
        microseconds=1
    )
    assert ask(idle(MINUTELY), RunByHand(), after("2m")).fire == after("2m") + timedelta(
        microseconds=1
    )
    assert ask(idle(every("1h"), after("7s")), RunByHand(), after("7s")).fire == after(
        "7s"
    ) + timedelta(microseconds=1)
    assert ask(idle(every("1h"), after("7s")), RunByHand(), after("1h")).fire == after("1h")


def test_a_run_by_hand_starts_at_once_and_counts_as_no_overlap() -> None:
    running = fired(idle(MINUTELY), after("1m"))
    assert ask(running, RunByHand(), after("1m10s")) == Plan.unchanged(running)


def test_a_paused_schedule_can_be_run_by_hand_and_stays_paused() -> None:
    paused = replace(idle(MINUTELY), disabled=DisabledReason.PAUSED, next_start=None)
    assert ask(paused, Due(), after("1h")) == Plan.unchanged(paused)
    by_hand = fired(paused, after("1h"), RunByHand())
    made = ended(by_hand, SUCCEEDED, after("2h"), by_hand=True)
    assert (made.next_start, made.disabled, made.ticks) == (None, DisabledReason.PAUSED, ())


def test_a_run_that_ends_after_a_pause_plans_nothing() -> None:
    paused = replace(fired(idle(every("10m")), NOON), disabled=DisabledReason.PAUSED)
    made = ended(paused, FAILED, after("5m"))
    assert (made.next_start, made.disabled, made.statistics.total_failures) == (
        None,
        DisabledReason.PAUSED,
        1,
    )


def test_a_resume_runs_no_missed_times() -> None:
    paused = replace(idle(MINUTELY), disabled=DisabledReason.PAUSED, next_start=None)
    made = ask(paused, Resumed(), after("1h30s"))
    assert rows(made.ticks) == ["12:01-13:00 60 skipped paused"]
    assert (made.next_start, made.last_tick, made.disabled) == (after("1h1m"), after("1h30s"), None)


def test_a_resumed_interval_runs_when_its_interval_is_over() -> None:
    running = fired(idle(every("1h")), NOON)
    paused = replace(
        stored(running, ended(running, SUCCEEDED, NOON)),
        disabled=DisabledReason.PAUSED,
        next_start=None,
    )
    assert ask(paused, Resumed(), after("10m")).next_start == after("1h")
    assert ask(paused, Resumed(), after("5h")).next_start == after("5h")


def test_a_restored_deployment_runs_no_missed_times() -> None:
    gone = replace(idle(MINUTELY), disabled=DisabledReason.DEPLOYMENT_GONE, next_start=None)
    made = ask(gone, Activated(), after("3m"))
    assert rows(made.ticks) == ["12:01-12:03 3 skipped deployment_gone"]
    assert (made.next_start, made.disabled) == (after("4m"), None)


def test_a_restored_deployment_keeps_paused_schedules_paused() -> None:
    paused = replace(idle(MINUTELY), disabled=DisabledReason.PAUSED, next_start=None)
    assert ask(paused, Activated(), after("3m")) == Plan.unchanged(paused)


def test_activation_during_a_run_plans_for_after_it() -> None:
    running = fired(idle(every("10m")), NOON)
    assert ask(running, Resumed(), after("1m")).next_start == after("11m")


def altered(snapshot: ScheduleSnapshot, rules: Rules, now: datetime) -> Plan:
    return ask(replace(snapshot, rules=rules), Altered(snapshot.rules), now)


def test_altering_other_things_keeps_the_next_start() -> None:
    snapshot = idle(every("10m; initial_start=2026-01-01T14:00:00+00:00"))
    assert altered(snapshot, replace(snapshot.rules, max_retries=3), after("1h")) == Plan.unchanged(
        snapshot
    )


def test_a_new_interval_before_the_first_run_keeps_the_planned_start() -> None:
    snapshot = idle(every("10m; initial_start=2026-01-01T14:00:00+00:00"))
    again = every("3h; initial_start=2026-01-01T14:00:00+00:00")
    assert altered(snapshot, again, after("1h")).next_start == after("2h")
    later = every("3h; initial_start=2026-01-01T15:00:00+00:00")
    assert altered(snapshot, later, after("1h")).next_start == after("3h")


def test_the_next_start_of_an_interval_from_the_finish_can_be_set() -> None:
    snapshot = idle(every("10m"))
    assert ask(snapshot, NextStartSet(after("3h")), NOON) == replace(
        Plan.unchanged(snapshot), next_start=after("3h")
    )
    assert ask(snapshot, NextStartSet(after("1m")), after("2m")).next_start == after("2m")
    set_back = replace(snapshot, last_tick=after("1h"))  # the clock was set back after the last run
    assert ask(set_back, NextStartSet(NOON), NOON).next_start == NOON


@pytest.mark.parametrize(
    ("snapshot", "words"),
    [
        (replace(idle(every("1h")), disabled=DisabledReason.PAUSED, next_start=None), "paused"),
        (fired(idle(every("1h")), NOON), "a run executes"),
    ],
)
def test_a_next_start_is_refused_where_it_could_not_hold(
    snapshot: ScheduleSnapshot, words: str
) -> None:
    with pytest.raises(InvalidRequest, match=words):
        ask(snapshot, NextStartSet(after("1m")), NOON)


def test_a_new_interval_counts_from_the_last_finish() -> None:
    running = fired(idle(every("10m")), NOON)
    snapshot = stored(running, ended(running, SUCCEEDED, NOON))
    assert altered(snapshot, every("1h"), after("5m")).next_start == after("1h")
    assert altered(snapshot, every("2m"), after("5m")).next_start == after("5m")


def test_a_new_grid_is_a_grid() -> None:
    snapshot = idle(every("1h; fixed"))
    assert altered(snapshot, every("15m; fixed"), after("7m")).next_start == after("15m")
    assert altered(snapshot, every("1 day; fixed"), after("7m")).next_start == after("12h")


def test_a_new_expression_leaves_no_old_time_without_a_decision() -> None:
    made = altered(idle(MINUTELY), cron("30 * * * *"), after("3m30s"))
    assert rows(made.ticks) == ["12:01-12:03 3 skipped altered"]
    assert (made.last_tick, made.next_start) == (after("3m30s"), after("30m"))


def test_an_alteration_does_not_shorten_the_wait_after_a_crash() -> None:
    running = fired(idle(every("10m")), NOON)
    snapshot = stored(running, ended(running, CRASHED, after("1m"), scheduler_started=after("1m")))
    made = altered(snapshot, every("2m"), after("2m"))
    assert made.next_start == snapshot.next_start


def test_another_jitter_does_not_shorten_the_wait_after_a_crash() -> None:
    running = fired(
        idle(every("1h; fixed", jitter=timedelta(minutes=10)), after("10m")), after("1h9m")
    )
    snapshot = stored(running, ended(running, CRASHED, after("2h"), scheduler_started=after("2h")))
    assert snapshot.next_start == after("2h") + CRASH_WAIT
    assert altered(snapshot, every("1h; fixed"), after("2h1m")).next_start == snapshot.next_start


def test_an_alteration_during_a_run_counts_at_its_end() -> None:
    running = fired(idle(every("10m")), NOON)
    altered_rules = stored(running, altered(running, every("1h"), after("1m")), running.started)
    made = ended(replace(altered_rules, rules=every("1h")), SUCCEEDED, after("2m"))
    assert made.next_start == after("1h2m")


def test_a_paused_schedule_stays_so_when_it_is_altered() -> None:
    paused = replace(idle(MINUTELY), disabled=DisabledReason.PAUSED, next_start=None)
    made = altered(paused, cron("30 * * * *"), after("1m"))
    assert (made.disabled, made.next_start) == (DisabledReason.PAUSED, None)


def test_new_jitter_moves_the_start_but_decides_nothing() -> None:
    snapshot = idle(cron("0 * * * *"))
    made = altered(snapshot, replace(snapshot.rules, jitter=timedelta(minutes=30)), after("1m"))
    assert made.next_start is not None
    assert after("1h") < made.next_start < after("1h30m")
    assert (made.last_tick, made.ticks) == (NOON, ())


def test_new_jitter_moves_what_is_overdue_to_now_unless_a_run_goes_on() -> None:
    snapshot, jitter = idle(MINUTELY), timedelta(seconds=1)
    assert altered(snapshot, replace(MINUTELY, jitter=jitter), after("5m30s")).next_start == after(
        "5m30s"
    )
    made = altered(fired(snapshot, after("1m")), replace(MINUTELY, jitter=jitter), after("5m30s"))
    assert made.next_start is not None
    assert after("6m") <= made.next_start < after("6m1s")


def test_an_expression_without_times_to_come_ends_the_schedule_after_its_run() -> None:
    past = cron("0 0 0 1 1 * 2020")
    assert altered(idle(MINUTELY), past, after("1s")).disabled is DisabledReason.EXHAUSTED
    running = fired(idle(MINUTELY), after("1m"))
    made = altered(running, past, after("1m1s"))
    assert (made.disabled, made.next_start) == (None, None)
    over = ended(
        replace(stored(running, made, running.started), rules=past), SUCCEEDED, after("2m")
    )
    assert over.disabled is DisabledReason.EXHAUSTED


@pytest.mark.parametrize("step", [timedelta(days=-3000), timedelta(hours=-5), timedelta(days=3000)])
def test_a_clock_that_steps_leaves_a_next_start(step: timedelta) -> None:
    running = fired(idle(every("10m")), NOON)
    assert ended(running, SUCCEEDED, NOON + step).next_start == after("10m") + step
    resumed = ask(idle(MINUTELY), Resumed(), NOON + step)
    assert resumed.next_start == after("1m") + step
