"""Bulk firing and bulk ending have the same results as planning each schedule by itself."""

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest
from sqlalchemy import Connection

from horae.client.schedules.views import ScheduleView
from horae.domain.jobs.job import Claim, JobId
from horae.domain.schedules.schedule import CatchUp, Overlap
from horae.storage.outcomes import bulk_run_ending
from horae.storage.schedules import bulk_firing
from horae.storage.schedules.bulk_firing import BulkFired, PlannedFire
from tests.harness.applications import rows
from tests.schedules.clock import MONDAY
from tests.schedules.driver import ENDED_BADLY, HERE, THERE, Driver
from tests.storage.test_unreadable import BAD_SCHEDULES, spoil_schedule

MINUTE: Final = timedelta(minutes=1)
EVERY_MINUTE: Final = "* * * * *"
CATCH_UP: Final = [
    CatchUp.LAST,
    # No statement knows what happens to missed times.
    pytest.param(CatchUp.NONE, marks=pytest.mark.one_database),
    pytest.param(CatchUp.ALL, marks=pytest.mark.one_database),
]
FULL_AT_A_START: Final = ("the most runs", "the most crashes in a row")
"""Counts that the start of a run adds to."""


def comparable(driver: Driver, name: str) -> tuple[ScheduleView, Any, Any]:
    """All that is known of a schedule, but for its identity."""
    view = driver.get(name)
    found = rows(
        driver.horae,
        "SELECT type, queue, priority, state, params, run_at, nominal_time, attempt, max_runtime, run_reason,"
        " meta FROM horae_jobs"
        " WHERE schedule_id = :id ORDER BY id",
        id=view.id,
    )
    made = [tuple(row) for row in found]
    entries = [
        replace(entry, schedule_id=0, job_id=None if entry.job_id is None else 0)
        for entry in driver.entries(name)
    ]
    anybody = replace(
        view,
        id=0,
        name="?",
        job_id=None if view.job_id is None else 0,
        partition=0,
        version=0,
        revision="?",
        rules=replace(view.rules, key="?"),
    )
    return anybody, entries, made


def assert_alike(driver: Driver) -> None:
    assert comparable(driver, "planned") == comparable(driver, "bulk")


class TestEnds:
    """Of two equal schedules, the run of one is ended by a plan of its own, that of the other in bulk."""

    def pair(self, driver: Driver, **options: Any) -> None:
        for name in ("planned", "bulk"):
            driver.horae.schedules.add("work", name=name, **options)

    def end_both(
        self,
        driver: Driver,
        patch: pytest.MonkeyPatch,
        outcome: Any = None,
        claims: Collection[Claim] = (),
    ) -> set[JobId]:
        """End what runs, or is claimed now; return the jobs that were ended in bulk."""
        in_bulk = driver.get("bulk").id
        went = set[JobId]()
        end = bulk_run_ending.end

        def noted(connection: Connection, jobs: Collection[JobId]) -> set[JobId]:
            found = end(connection, jobs)
            went.update(found)
            return found

        patch.setattr(bulk_run_ending, "end", noted)
        for claim in claims or driver.claim():
            if claim.schedule_id == in_bulk:
                driver.end(claim, outcome)
            else:
                with patch.context() as plan_only:
                    plan_only.setattr(bulk_run_ending, "end", lambda *_: set())
                    driver.end(claim, outcome)
        return went

    @pytest.mark.parametrize("overlap", [each for each in Overlap if each is not Overlap.ALLOW_ALL])
    @pytest.mark.parametrize("catch_up", CATCH_UP)
    @pytest.mark.parametrize("when", [{"cron": EVERY_MINUTE}, {"every": "1m", "fixed": True}])
    def test_an_end_in_time_is_written_in_bulk(
        self,
        driver: Driver,
        monkeypatch: pytest.MonkeyPatch,
        overlap: Overlap,
        catch_up: CatchUp,
        when: dict[str, Any],
    ) -> None:
        self.pair(driver, overlap=overlap, catch_up=catch_up, **when)
        for _ in range(2):
            driver.until_due("planned")
            assert len(driver.fire_due()) == 2
            claims = driver.claim()
            driver.clock.advance(seconds=7)
            assert len(self.end_both(driver, monkeypatch, claims=claims)) == 1
            assert_alike(driver)
        assert driver.get("bulk").statistics.total_duration == timedelta(seconds=14)

    @pytest.mark.parametrize(
        ("options", "seconds"),
        [
            *(({"cron": EVERY_MINUTE, "overlap": overlap}, 150) for overlap in Overlap),
            ({"cron": EVERY_MINUTE, "overlap": Overlap.ALLOW_ALL}, 5),
            ({"every": "1m"}, 5),
        ],
    )
    def test_an_end_that_moves_the_plan_is_planned(
        self, driver: Driver, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], seconds: int
    ) -> None:
        self.pair(driver, **options)
        driver.until_due("planned")
        driver.until_due("bulk")
        driver.fire_due()
        driver.clock.advance(seconds=seconds)
        if options.get("overlap") is not Overlap.ALLOW_ALL:
            driver.fire_due()  # finds the run in its way, and moves the next start past what has come due
        assert self.end_both(driver, monkeypatch) == set()
        assert_alike(driver)

    def test_waiting_times_are_not_lost(
        self, driver: Driver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.pair(driver, cron=EVERY_MINUTE, catch_up="all")
        driver.clock.advance(minutes=3, seconds=1)
        for left in (2, 1, 0):
            assert len(driver.fire_due()) == 2
            driver.clock.advance(seconds=1)
            assert len(self.end_both(driver, monkeypatch)) == (0 if left else 1)
            assert_alike(driver)

    def test_a_failure_is_planned(self, driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pair(driver, cron=EVERY_MINUTE)
        driver.until_due("planned")
        driver.fire_due()
        assert self.end_both(driver, monkeypatch, ENDED_BADLY) == set()
        assert_alike(driver)

    def test_a_success_after_failures_and_crashes_ends_their_streaks(
        self, driver: Driver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.pair(driver, cron=EVERY_MINUTE)
        went = set[JobId]()
        for outcome in (ENDED_BADLY, None):
            driver.until_due("planned")
            driver.fire_due()
            driver.clock.advance(seconds=3)
            went = self.end_both(driver, monkeypatch, outcome)
        assert len(went) == 1
        assert driver.get("bulk").statistics.streak() == 0
        assert_alike(driver)

    def test_a_clock_that_stepped_back_makes_no_negative_duration(
        self, driver: Driver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.pair(driver, cron="0 12 * * *")
        driver.until_due("planned")
        driver.fire_due()
        claims = driver.claim()
        driver.clock.advance(hours=-1)
        monkeypatch.setattr(driver, "claim", lambda: claims)
        assert len(self.end_both(driver, monkeypatch)) == 1
        assert driver.get("bulk").statistics.total_duration == timedelta(0)
        assert_alike(driver)

    @pytest.mark.parametrize("how", ["paused", "by hand"])
    def test_a_run_that_was_paused_or_started_by_hand(
        self, driver: Driver, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        self.pair(driver, cron="0 12 * * *")
        if how == "by hand":
            driver.horae.schedules.run_now("planned")
            driver.horae.schedules.run_now("bulk")
        else:
            driver.until_due("planned")
            driver.fire_due()
            driver.horae.schedules.pause("planned", "why")
            driver.horae.schedules.pause("bulk", "why")
        driver.clock.advance(seconds=3)
        assert len(self.end_both(driver, monkeypatch)) == (how == "by hand")
        assert_alike(driver)


def add(driver: Driver, name: str = "work", **options: Any) -> int:
    given: dict[str, Any] = {"cron": EVERY_MINUTE} | options
    return driver.horae.schedules.add("work", name=name, **given).id


def planned(driver: Driver, *ids: int) -> list[PlannedFire]:
    return [
        plan
        for plan in driver.database.autocommit(bulk_firing.plan_ahead, ids).values()
        if plan is not None
    ]


def fire(driver: Driver, plans: list[PlannedFire], node: Any = HERE) -> BulkFired:
    return driver.database.transact(bulk_firing.fire, plans, node)


class TestFires:
    """Fires that were planned ahead."""

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"every": "1m", "fixed": True, "cron": None},
            {"jitter": "10s"},
            {"cron": "0 5 10 2 3 * 2026"},
            {"overlap": "buffer_all", "max_runtime": "20s", "priority": 7, "queue": "night"},
        ],
    )
    @pytest.mark.parametrize("late", [0, 9])
    def test_both_ways_write_the_same(
        self, driver: Driver, options: dict[str, Any], late: int
    ) -> None:
        given: dict[str, Any] = {
            name: value
            for name, value in ({"cron": EVERY_MINUTE} | options).items()
            if value is not None
        }
        for name in ("planned", "bulk"):
            driver.horae.schedules.add("work", name=name, **given)
        driver.horae.schedules.pause("bulk", "a note")
        driver.horae.schedules.resume("bulk")
        plans = planned(driver, driver.get("bulk").id)
        driver.until_due("planned")
        driver.until_due("bulk")
        driver.clock.advance(seconds=late)
        driver.fire(driver.get("planned").id)
        (decided,) = fire(driver, plans).applied
        assert decided.fired == decided.schedule.run_token == driver.get("bulk").job_id
        assert decided.schedule.next_start == driver.get("bulk").next_start
        if "jitter" not in options:
            assert_alike(driver)

    def test_nothing_fires_early(self, driver: Driver) -> None:
        plans = planned(driver, add(driver))
        driver.clock.advance(seconds=59.9)
        fired = fire(driver, plans)
        assert not fired.applied
        assert [item.due_in for item in fired.not_yet_due] == [pytest.approx(0.1)]
        assert driver.ledger("work") == []

    def test_one_of_two_nodes_with_the_same_plan_fires(self, driver: Driver) -> None:
        key = add(driver)
        plans, others = planned(driver, key), planned(driver, key)
        driver.until_due("work")
        assert len(fire(driver, plans).applied) == 1
        assert fire(driver, others, THERE) == BulkFired()
        assert fire(driver, plans) == BulkFired()
        assert driver.ledger("work") == [("fired", 1, "on_time")]

    @pytest.mark.parametrize(
        "change",
        [
            lambda driver: driver.horae.schedules.pause("work"),
            lambda driver: driver.horae.schedules.alter("work", cron="30 * * * *"),
            lambda driver: driver.horae.schedules.alter("work", priority=3),
            lambda driver: driver.horae.schedules.run_now("work"),
            lambda driver: driver.horae.schedules.delete("work"),
            lambda driver: driver.clock.advance(seconds=31),
            lambda driver: driver.clock.advance(minutes=1),
        ],
    )
    def test_a_plan_that_fits_no_longer_is_left(
        self, driver: Driver, change: Callable[[Driver], object]
    ) -> None:
        key = add(driver)
        plans = planned(driver, key)
        driver.until_due("work")
        change(driver)
        assert fire(driver, plans) == BulkFired()
        assert rows(driver.horae, "SELECT 1 FROM horae_ticks WHERE reason = 'on_time'") == []

    def test_only_plain_runs_are_planned_in_bulk(self, driver: Driver) -> None:
        running = add(driver, "running")
        driver.clock.advance(minutes=1)
        driver.fire_due()
        driver.clock.advance(seconds=1)
        late = add(driver, "late")
        driver.horae.schedules.pause("late")
        others = [
            add(driver, "all", overlap="allow_all"),
            driver.horae.schedules.add("work", name="drifting", every="1h").id,
        ]
        assert planned(driver, running, late, *others, 10_000) == []

    def test_a_retry_is_not_plain(self, driver: Driver) -> None:
        key = add(driver, cron="0 12 * * *", retry_period="10s")
        driver.until_due("work")
        assert len(planned(driver, key)) == 1
        driver.run(ENDED_BADLY)
        assert planned(driver, key) == []

    def test_each_of_many_gets_its_own_job(self, driver: Driver) -> None:
        keys = [add(driver, f"work{number}") for number in range(50)]
        plans = planned(driver, *keys)
        driver.clock.set(MONDAY + MINUTE)
        decided = fire(driver, plans).applied
        assert {item.schedule.id for item in decided} == set(keys)
        assert len({item.fired for item in decided}) == 50
        for item in decided:
            assert driver.jobs(item.schedule.name) == [(item.fired, "pending")]

    @pytest.mark.parametrize("kind", [kind for kind in BAD_SCHEDULES if "version" not in kind])
    def test_a_count_filled_after_the_plan_stops_no_other_schedule(
        self, driver: Driver, kind: str
    ) -> None:
        """The version of the schedule is the same, so its plan fits."""
        keys = [add(driver, name) for name in ("one", "two", "three")]
        plans = planned(driver, *keys)
        spoil_schedule(driver.horae, kind, "two")
        counts = (
            "SELECT total_runs, total_successes, total_failures, total_crashes, consecutive_crashes, total_duration"
            " FROM horae_schedule_statistics ORDER BY schedule_id"
        )
        before = rows(driver.horae, counts)[1]
        driver.clock.set(MONDAY + MINUTE)
        assert {item.schedule.id for item in fire(driver, plans).applied} == set(keys)
        one, two, three = rows(driver.horae, counts)
        assert tuple(one) == tuple(three) == (1, 0, 0, 1, 1, 0.0)
        if kind in FULL_AT_A_START:
            assert tuple(two) == tuple(before)
        assert [view.name for view in driver.horae.schedules.list()] == ["one", "three"]
