"""Nominal times that become due during a run, or while nothing could run: each policy from end to end."""

from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from horae.domain.jobs.job import Cancelled
from horae.domain.schedules.planning_state import Stop
from horae.domain.schedules.schedule import Overlap
from horae.storage.outcomes import cancelling
from tests.harness.applications import rows
from tests.schedules.clock import MONDAY
from tests.schedules.driver import ENDED_BADLY, Driver, check_ledger, fires

MINUTE: Final = timedelta(minutes=1)
EVERY_MINUTE: Final = "* * * * *"


def begin(driver: Driver, **options: Any) -> None:
    """A schedule of every minute whose first run goes on."""
    given: Any = {"cron": EVERY_MINUTE, **options}
    driver.horae.schedules.add("work", **given)
    driver.until_due("work")
    assert len(driver.fire_due()) == 1


class TestOverlap:
    def overrun(self, driver: Driver, overlap: Overlap, **options: Any) -> list[int]:
        """The run of 10:01 takes until 10:04:30; three more minutes come due. What is fired at its end."""
        begin(driver, overlap=overlap, **options)
        (claim,) = driver.claim()
        for _ in range(3):
            driver.clock.advance(minutes=1)
            assert driver.fire_due() == []
        driver.clock.advance(seconds=30)
        driver.end(claim)
        return driver.fire_due()

    def test_skip_leaves_them_out(self, driver: Driver) -> None:
        assert self.overrun(driver, Overlap.SKIP) == []
        assert driver.get("work").next_start == MONDAY + 5 * MINUTE
        assert driver.ledger("work") == [("fired", 1, "on_time"), ("skipped", 3, "overlap")]

    def test_buffer_one_fires_the_last_of_them(self, driver: Driver) -> None:
        assert len(self.overrun(driver, Overlap.BUFFER_ONE)) == 1
        assert driver.ledger("work") == [
            ("fired", 1, "on_time"),
            ("coalesced", 2, "overlap"),
            ("fired", 1, "buffered"),
        ]
        assert driver.entries("work")[-1].nominal_time == MONDAY + 4 * MINUTE
        driver.clock.advance(seconds=1)
        (claim,) = driver.claim()
        driver.end(claim)
        assert driver.get("work").next_start == MONDAY + 5 * MINUTE

    def test_buffer_all_fires_one_after_the_other(self, driver: Driver) -> None:
        fired = self.overrun(driver, Overlap.BUFFER_ALL)
        while fired:
            assert len(fired) == 1
            (claim,) = driver.claim()
            driver.clock.advance(seconds=1)
            driver.end(claim)
            fired = driver.fire_due()
        assert driver.ledger("work") == [("fired", 1, "on_time"), *[("fired", 1, "buffered")] * 3]
        assert [entry.nominal_time for entry in driver.entries("work")] == fires(
            EVERY_MINUTE, MONDAY, driver.clock.now
        )

    def test_buffer_all_keeps_at_most_so_many(self, driver: Driver) -> None:
        assert len(self.overrun(driver, Overlap.BUFFER_ALL, catch_up_limit=2)) == 1
        assert driver.ledger("work")[1:] == [("missed", 1, "limit"), ("fired", 1, "buffered")]

    @pytest.mark.parametrize(
        ("overlap", "stop"),
        [(Overlap.CANCEL_OTHER, Stop.CANCEL), (Overlap.TERMINATE_OTHER, Stop.TERMINATE)],
    )
    def test_the_other_run_is_cancelled_and_makes_room(
        self, driver: Driver, overlap: Overlap, stop: Stop
    ) -> None:
        begin(driver, overlap=overlap)
        (claim,) = driver.claim()
        driver.clock.advance(minutes=1)
        (decided,) = driver.fire(driver.get("work").id)
        assert (decided.fired, decided.stop, decided.schedule.run_token) == (None, stop, claim.id)
        assert driver.get("work").state == "terminating"
        driver.clock.advance(seconds=2)
        driver.end(claim, Cancelled("schedule work"))
        assert (driver.get("work").state, driver.get("work").next_start) == (
            "idle",
            driver.clock.now,
        )
        assert len(driver.fire_due()) == 1
        assert driver.ledger("work") == [("fired", 1, "on_time"), ("fired", 1, "buffered")]
        statistics = driver.get("work").statistics
        assert (statistics.total_failures, statistics.consecutive_failures) == (1, 0)

    def test_a_run_that_ignores_its_cancel_gets_it_again_at_the_next_time(
        self, driver: Driver
    ) -> None:
        begin(driver, overlap="terminate_other")
        driver.claim()
        for _ in range(3):
            driver.clock.advance(minutes=1)
            (decided,) = driver.fire(driver.get("work").id)
            assert (decided.stop, decided.schedule.state) == (Stop.TERMINATE, "terminating")
        assert driver.ledger("work") == [("fired", 1, "on_time")]

    def test_a_run_that_is_not_claimed_makes_room_at_once(self, driver: Driver) -> None:
        begin(driver, overlap="cancel_other")
        driver.clock.advance(minutes=1)
        (decided,) = driver.fire(driver.get("work").id)
        token = decided.schedule.run_token
        assert token is not None
        job = driver.database.transact(cancelling.cancel, token, "schedule work")  # type: ignore[arg-type]  # a token is a job
        assert job is not None
        assert driver.get("work").state == "idle"
        assert len(driver.fire_due()) == 1

    def test_allow_all_lets_them_run_beside_each_other(self, driver: Driver) -> None:
        begin(driver, overlap="allow_all")
        for _ in range(3):
            driver.clock.advance(minutes=1)
            assert len(driver.fire_due()) == 1
        assert (driver.get("work").state, driver.get("work").job_id) == ("idle", None)
        claims = driver.claim()
        running = driver.get("work")
        assert (
            running.statistics.total_runs,
            running.statistics.total_crashes,
            running.open_runs,
        ) == (0, 0, 4)
        for number, claim in enumerate(claims, 1):
            driver.clock.advance(seconds=1)
            driver.end(claim)
            stored, shown = driver.stored_statistics("work"), driver.get("work")
            assert (stored.total_runs, stored.total_crashes) == (4, 4 - number)
            assert (
                shown.statistics.total_runs,
                shown.statistics.total_crashes,
                shown.open_runs,
            ) == (
                number,
                0,
                4 - number,
            )
        after = driver.get("work").statistics
        assert (after.total_successes, after.streak()) == (4, 0)
        assert after.total_duration == timedelta(seconds=1 + 2 + 3 + 4)

    def test_a_retry_that_a_nominal_time_overtakes_is_dropped(self, driver: Driver) -> None:
        driver.horae.schedules.add(
            "work", cron=EVERY_MINUTE, retry_period="40s", backoff="constant"
        )
        driver.until_due("work")
        driver.run(ENDED_BADLY)
        retry = driver.get("work").next_start
        assert retry is not None
        assert timedelta(seconds=35) <= retry - driver.clock.now <= timedelta(seconds=45)
        driver.clock.set(MONDAY + 2 * MINUTE)
        assert len(driver.fire_due()) == 1
        assert driver.ledger("work") == [("fired", 1, "on_time")] * 2


class TestCatchUp:
    def after_outage(self, driver: Driver, minutes: float = 10.5, **options: Any) -> list[datetime]:
        """Nothing could run for a while. The times that are made up for, each after the end of the one before."""
        driver.horae.schedules.add("work", cron=EVERY_MINUTE, **options)
        driver.until_due("work")
        driver.run()
        back = driver.clock.set(MONDAY + MINUTE + minutes * MINUTE)
        while driver.clock.now < back + 0.4 * MINUTE and driver.run(seconds=0.001):
            pass
        entries = driver.entries("work")
        last = driver.get("work").last_tick
        assert last is not None
        check_ledger(entries, fires(EVERY_MINUTE, MONDAY, last))
        return [entry.nominal_time for entry in entries if entry.decision == "fired"][1:]

    def test_last_makes_one_late_run(self, driver: Driver) -> None:
        assert self.after_outage(driver) == [MONDAY + 11 * MINUTE]
        assert driver.ledger("work")[1:] == [("coalesced", 9, "catch_up"), ("fired", 1, "on_time")]
        assert driver.get("work").next_start == MONDAY + 12 * MINUTE

    def test_a_late_run_is_recorded_as_late(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="0 * * * *")
        driver.clock.set(MONDAY + 90 * MINUTE)
        driver.run()
        assert driver.ledger("work") == [("fired", 1, "late")]

    def test_catch_up_none_waits_for_the_next_time(self, driver: Driver) -> None:
        assert self.after_outage(driver, 10.75, catch_up="none") == []
        assert driver.ledger("work")[1:] == [("missed", 10, "catch_up_none")]
        assert driver.get("work").next_start == MONDAY + 12 * MINUTE

    def test_catch_up_none_still_fires_hardly_late_times(self, driver: Driver) -> None:
        assert self.after_outage(driver, 10.25, catch_up="none") == [MONDAY + 11 * MINUTE]

    def test_catch_up_all_runs_each_missed_time(self, driver: Driver) -> None:
        assert self.after_outage(driver, catch_up="all") == [
            MONDAY + number * MINUTE for number in range(2, 12)
        ]
        assert {reason for _, _, reason in driver.ledger("work")[1:]} <= {"catch_up", "on_time"}

    def test_catch_up_all_runs_at_most_the_limit_the_newest(self, driver: Driver) -> None:
        found = self.after_outage(driver, catch_up="all", catch_up_limit=3)
        assert found == [MONDAY + number * MINUTE for number in (9, 10, 11)]
        assert driver.ledger("work")[1] == ("missed", 7, "limit")

    @pytest.mark.parametrize(("policy", "made_up"), [("all", [8, 9, 10, 11]), ("last", [11])])
    def test_only_what_is_within_the_window(
        self, driver: Driver, policy: str, made_up: list[int]
    ) -> None:
        found = self.after_outage(driver, catch_up=policy, catch_up_window="4m")
        assert found == [MONDAY + number * MINUTE for number in made_up]

    def test_catch_up_last_runs_nothing_past_the_window(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="0 * * * *", catch_up_window="30m")
        driver.clock.set(MONDAY + 100 * MINUTE)
        assert driver.fire_due() == []
        assert driver.ledger("work") == [("missed", 1, "window")]
        assert driver.get("work").next_start == MONDAY + 120 * MINUTE

    def test_many_ticks_of_a_fast_schedule_are_one_row(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * * *")
        driver.clock.advance(days=3)
        driver.run(seconds=0.5)
        found = rows(driver.horae, "SELECT decision, count FROM horae_ticks ORDER BY nominal_time")
        assert [(row.decision, row.count) for row in found] == [
            ("coalesced", 3 * 86_400 - 1),
            ("fired", 1),
        ]

    def test_an_interval_from_the_finish_runs_no_missed_times(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m")
        driver.run()
        driver.clock.advance(hours=5)
        assert len(driver.run()) == 1
        assert driver.get("work").next_start == driver.clock.now + 10 * MINUTE
        assert driver.ledger("work") == [("fired", 1, "on_time"), ("fired", 1, "late")]


class TestJitter:
    def starts(self, driver: Driver, name: str, count: int = 12) -> list[timedelta]:
        """How long after its nominal time each run starts."""
        delays: list[timedelta] = []
        for _ in range(count):
            due = driver.until_due(name)
            driver.fire(driver.get(name).id)
            for claim in driver.claim():
                driver.end(claim)
            delays.append(due - driver.entries(name)[-1].nominal_time)
        return delays

    def test_jitter_is_bounded_and_the_same_for_every_node(self, driver: Driver) -> None:
        found: list[list[timedelta]] = []
        for name in ("one", "two", "one"):
            driver.clock.set(MONDAY)
            driver.horae.schedules.add("work", name=name, cron=EVERY_MINUTE, jitter="20s")
            found.append(self.starts(driver, name))
            driver.horae.schedules.delete(name)
        one, two, again = found
        assert max(one + two) < timedelta(seconds=20)
        assert min(one + two) >= timedelta(0)
        assert len(set(one)) > 6
        assert one != two
        assert one == again

    def test_it_never_reaches_the_next_time(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", name="one", cron=EVERY_MINUTE, jitter="1 day")
        assert max(self.starts(driver, "one")) < MINUTE
        check_ledger(driver.entries("one"), fires(EVERY_MINUTE, MONDAY, MONDAY + 12 * MINUTE))
        assert {decision for decision, _, _ in driver.ledger("one")} == {"fired"}

    def test_another_jitter_moves_the_next_start_only(self, driver: Driver) -> None:
        before = driver.horae.schedules.add("work", cron="0 * * * *", jitter="10m")
        assert before.next_start is not None
        plain = driver.horae.schedules.alter("work", jitter=timedelta(0))
        assert plain.next_start == MONDAY + 60 * MINUTE
        assert driver.horae.schedules.alter("work", jitter="10m").next_start == before.next_start
        assert driver.entries("work") == []
