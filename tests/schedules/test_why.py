"""Why a schedule did or did not run at a time: answers from the ledger, the change log and the nodes."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from horae.client.schedules.lanes import LaneOutcome
from horae.domain.cluster.liveness import Death
from horae.domain.jobs.job import NodeId
from horae.domain.schedules.recovery import CRASH_WAIT
from horae.storage.nodes import NodeRecord, nodes
from tests.schedules.clock import MONDAY
from tests.schedules.driver import CRASHED, ENDED_BADLY, Driver

HOUR: Final = timedelta(hours=1)
NIGHT: Final = datetime(2026, 3, 3, 3, tzinfo=UTC)


def nightly(driver: Driver, **options: Any) -> int:
    return driver.horae.schedules.add("work", name="nightly", cron="0 3 * * *", **options).id


def register(driver: Driver, name: str) -> NodeId:
    record = NodeRecord(
        id=NodeId(name),
        name=name,
        host="machine",
        pid=1,
        version="1",
        roles=json.dumps(["scheduler"]),
        queues=None,
        types=json.dumps([]),
        concurrency=1,
        lock_key=None,
    )
    driver.database.transact(nodes.register, record)
    return NodeId(name)


def test_a_run_is_named_with_its_end(driver: Driver) -> None:
    nightly(driver)
    driver.until_due("nightly")
    (job_id,) = driver.run(ENDED_BADLY)
    why = driver.horae.schedules.why("nightly", NIGHT)
    assert (why.kind, why.decision, why.reason) == ("decided", "fired", "on_time")
    assert (why.job_id, why.job_state, why.job_error) == (job_id, "failed", "It did not work.")
    assert why.text == f"It started on time. Job {job_id} is failed: It did not work."
    assert driver.horae.schedules.why("nightly") == why  # the last time that it had


def test_a_run_that_blocks_is_named(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="hourly", cron="0 * * * *")
    due = driver.until_due("hourly")
    (job_id,) = driver.fire_due()
    (claim,) = driver.claim()
    driver.clock.advance(hours=2)
    why = driver.horae.schedules.why("hourly", due + HOUR)
    assert (why.kind, why.blocked_by) == ("run_in_progress", job_id)
    driver.end(claim)
    why = driver.horae.schedules.why("hourly", due + HOUR)
    assert (why.decision, why.reason, why.blocked_by) == ("skipped", "overlap", job_id)
    assert why.text.startswith(
        f"It was skipped: the previous run was still in progress as job {job_id}"
    )


def test_a_pause_is_told_with_who_made_it_and_why(driver: Driver) -> None:
    nightly(driver)
    driver.horae.schedules.pause("nightly", "until the disk is mended")
    driver.clock.set(NIGHT + HOUR)
    why = driver.horae.schedules.why("nightly")
    assert (why.kind, why.disabled_reason, why.moment) == ("disabled", "paused", NIGHT)
    assert (why.note, why.paused_at) == ("until the disk is mended", MONDAY)
    assert why.paused_by is not None
    assert "until the disk is mended" in why.text
    driver.horae.schedules.resume("nightly")
    why = driver.horae.schedules.why("nightly", NIGHT)
    assert (why.decision, why.reason) == ("skipped", "paused")
    assert (why.note, why.paused_at) == ("until the disk is mended", MONDAY)


def test_a_run_by_hand_during_a_pause_hides_no_time_of_the_pause(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="hourly", cron="0 * * * *")
    driver.horae.schedules.pause("hourly", "until the disk is mended")
    driver.clock.advance(hours=1.5)
    driver.horae.schedules.run_now("hourly")
    by_hand = driver.horae.schedules.ticks("hourly")[0].nominal_time
    (claim,) = driver.claim()
    driver.end(claim)
    driver.clock.advance(hours=2)
    driver.horae.schedules.resume("hourly")
    for hours, reason in ((1, "paused"), (1.5, "manual"), (2, "paused"), (3, "paused")):
        moment = by_hand if hours == 1.5 else MONDAY + hours * HOUR
        why = driver.horae.schedules.why("hourly", moment)
        assert (why.kind, why.reason) == ("decided", reason), hours


def test_a_missed_time_says_when_no_node_was_up(driver: Driver) -> None:
    nightly(driver, catch_up="none")
    first = register(driver, "first")
    driver.clock.advance(hours=1)
    driver.database.transact(nodes.leave, first)
    driver.clock.set(NIGHT + 5 * HOUR)
    register(driver, "second")
    driver.fire_due()
    why = driver.horae.schedules.why("nightly", NIGHT)
    assert (why.decision, why.reason) == ("missed", "catch_up_none")
    assert (why.nodes, why.no_node_from, why.no_node_until) == (
        [],
        MONDAY + HOUR,
        NIGHT + 5 * HOUR,
    )
    assert "No node was up from 2026-03-02 11:00:00+00:00" in why.text


def test_a_node_that_died_since_was_up(driver: Driver) -> None:
    nightly(driver)
    gone = register(driver, "gone")
    register(driver, "here")
    driver.clock.set(NIGHT + HOUR)
    driver.database.transact(nodes.remove_dead, {gone: Death("its lock is free")})
    why = driver.horae.schedules.why("nightly", NIGHT)
    assert why.kind == "overdue"
    assert [(node.name, node.died) for node in why.nodes] == [("here", False), ("gone", True)]


def test_a_moment_between_two_times_names_both(driver: Driver) -> None:
    nightly(driver)
    why = driver.horae.schedules.why("nightly", NIGHT + 2 * HOUR)
    assert (why.kind, why.before, why.after) == ("not_a_time", NIGHT, NIGHT + 24 * HOUR)
    assert why.text == (
        "It is not a time of this schedule; the nearest are 2026-03-03 03:00:00+00:00 and"
        " 2026-03-04 03:00:00+00:00."
    )


def test_times_to_come_say_what_will_happen(driver: Driver) -> None:
    nightly(driver, exclude=["2026-03-04"])
    why = driver.horae.schedules.why
    assert (why("nightly", NIGHT).kind, why("nightly", NIGHT).start) == ("to_come", NIGHT)
    excluded = why("nightly", NIGHT + 24 * HOUR)
    assert (excluded.kind, excluded.reason) == ("will_be_skipped", "excluded")
    assert why("nightly", NIGHT - 48 * HOUR).kind == "not_created_yet"
    assert why("nightly", NIGHT - 50 * HOUR).kind == "not_created_yet"


def test_a_time_during_the_wait_after_a_crash_is_decided_when_that_ends(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="rates", every="1m", fixed=True)
    during = driver.until_due("rates") + timedelta(minutes=1)
    driver.run(CRASHED, age=timedelta(0))
    ends = driver.clock.now + CRASH_WAIT
    for now in (driver.clock.now, during + timedelta(seconds=1)):
        driver.clock.set(now)
        why = driver.horae.schedules.why("rates", during)
        assert (why.kind, why.start) == ("wait_after_crash", ends)
        assert why.text.startswith("It comes during the wait after a crash, and is decided when")
    driver.clock.set(ends)
    driver.run()
    assert driver.horae.schedules.why("rates", during).kind == "decided"


def test_a_pause_of_everything_is_told(driver: Driver) -> None:
    nightly(driver)
    driver.horae.queues.pause_everything("migration")
    driver.clock.set(NIGHT + HOUR)
    why = driver.horae.schedules.why("nightly")
    assert (why.kind, why.note) == ("everything_paused", "migration")


def test_a_pause_of_everything_is_told_after_its_end(driver: Driver) -> None:
    for name, catch_up in (("late", "last"), ("missed", "none")):
        driver.horae.schedules.add("work", name=name, cron="0 3 * * *", catch_up=catch_up)
    driver.horae.queues.pause_everything("migration")
    driver.clock.set(NIGHT + HOUR)
    driver.horae.queues.resume_everything()
    driver.clock.advance(hours=1)
    driver.fire_due()
    for name in ("late", "missed"):
        why = driver.horae.schedules.why(name, NIGHT)
        assert (why.reason, why.note, why.paused_at) == (
            {"late": "late", "missed": "catch_up_none"}[name],
            "migration",
            MONDAY,
        )
        assert "It was paused by" in why.text
    driver.clock.set(NIGHT + 25 * HOUR)
    driver.fire_due()
    assert driver.horae.schedules.why("missed", NIGHT + 24 * HOUR).note is None


def test_an_interval_from_the_finish_has_no_times_of_its_own(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="rates", every="10m")
    driver.run()
    ended = driver.clock.now
    why = driver.horae.schedules.why("rates", MONDAY + timedelta(minutes=5))
    assert (why.kind, why.before, why.after) == (
        "no_fixed_times",
        MONDAY,
        ended + timedelta(minutes=10),
    )
    assert driver.horae.schedules.why("rates").job_state == "finished"


def test_certain_decisions_are_found_past_many_others(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="hourly", cron="0 * * * *")
    for _ in range(6):
        driver.until_due("hourly")
        driver.run()
    driver.horae.schedules.pause("hourly")
    driver.clock.advance(hours=3)
    driver.horae.schedules.resume("hourly")
    ledger = driver.horae.schedules.ledger
    page = ledger("hourly", limit=2, decisions=["fired"])
    assert [entry.decision for entry in page.ticks] == ["fired"] * 2
    assert page.next == page.ticks[-1].nominal_time
    rest = ledger("hourly", limit=10, before=page.next, decisions=["fired"])
    assert (len(rest.ticks), rest.next) == (4, None)
    assert [entry.count for entry in ledger("hourly", decisions=["skipped"]).ticks] == [3]


def test_lanes_show_what_became_of_each_time(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="hourly", cron="0 * * * *")
    schedule_id = driver.get("hourly").id
    driver.until_due("hourly")
    driver.run(ENDED_BADLY, seconds=5)
    driver.until_due("hourly")
    driver.run(seconds=7)
    driver.horae.schedules.pause("hourly")
    driver.clock.advance(hours=2)
    other = driver.horae.schedules.add("work", name="nightly", cron="0 3 * * *").id
    found = driver.horae.schedules.lanes([schedule_id, other, 10**9], hours=24)
    hourly, nightly = sorted(found.lanes, key=lambda lane: lane.schedule_id)
    assert [(mark.outcome, mark.count) for mark in hourly.marks] == [
        (LaneOutcome.FAILED, 1),
        (LaneOutcome.RAN, 1),
        (LaneOutcome.PAUSED, 2),
    ]
    assert (hourly.durations, hourly.coming) == ([5.0, 7.0], [])
    assert (nightly.marks, nightly.complete_from) == ([], None)


def test_a_fast_schedule_has_a_lane_of_bounded_length(driver: Driver) -> None:
    driver.horae.schedules.add("work", name="fast", cron="* * * * * *")
    schedule_id = driver.get("fast").id
    for _ in range(30):
        driver.until_due("fast")
        driver.run(seconds=0.01)
    (lane,) = driver.horae.schedules.lanes([schedule_id], hours=24).lanes
    (mark,) = lane.marks
    assert (mark.count, mark.outcome) == (30, LaneOutcome.RAN)
    assert len(lane.durations) == 20
