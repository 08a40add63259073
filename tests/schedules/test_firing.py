"""Firing: one transaction for what is due, one decision for each nominal time, also if several nodes believe that they own it."""

import json
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from horae.domain.jobs.job import JobId
from horae.domain.schedules.schedule import Overlap
from horae.storage.outcomes import run_ending
from horae.storage.schedules import firing
from tests.harness.applications import execute, rows
from tests.schedules.clock import MONDAY
from tests.schedules.driver import ENDED_BADLY, HERE, THERE, Driver, check_ledger, fires, started
from tests.storage.arrange import at_once

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)


class TestOneFire:
    def test_job_tick_state_and_statistics_are_written_together(self, driver: Driver) -> None:
        driver.horae.schedules.add(
            "work", cron="* * * * *", priority=5, queue="fast", max_runtime="90s"
        )
        due = driver.until_due("work")
        (decided,) = driver.fire(driver.get("work").id)
        after = driver.get("work")
        assert (after.state, after.job_id, after.started_at) == ("executing", decided.fired, due)
        assert (after.last_tick, after.next_start) == (due, due + MINUTE)
        assert (after.statistics.total_runs, after.statistics.total_crashes, after.open_runs) == (
            0,
            0,
            1,
        )
        assert after.statistics.last_start is None  # its body has not begun
        (entry,) = driver.entries("work")
        assert (entry.nominal_time, entry.until, entry.count) == (due, due, 1)
        assert (entry.decision, entry.reason, entry.job_id) == ("fired", "on_time", decided.fired)
        assert (entry.decided_at, entry.decided_by) == (due, HERE)
        job = driver.horae.jobs.get(decided.fired or 0)
        assert (job.schedule_id, job.nominal_time, job.state) == (after.id, due, "pending")
        assert (job.queue, job.priority, job.run_at) == ("fast", 5, due)
        assert (job.run_reason, job.max_runtime, job.meta) == ("on_time", 90.0, {})

    def test_nothing_is_left_of_a_fire_that_fails(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        before = driver.until_due("work")
        schedule_id = driver.get("work").id
        execute(
            driver.horae,
            "INSERT INTO horae_ticks (schedule_id, nominal_time, until, count, decision, reason, decided_at) "
            "SELECT id, next_start, next_start, 1, 'skipped', 'overlap', next_start FROM horae_schedules",
        )
        with pytest.raises(IntegrityError):
            driver.fire(schedule_id)
        assert (driver.get("work").state, driver.get("work").next_start) == ("idle", before)
        assert driver.get("work").statistics.total_runs == 0
        assert driver.jobs("work") == []

    def test_it_is_never_early(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        schedule_id = driver.get("work").id
        due = driver.until_due("work")
        driver.clock.set(due - timedelta(microseconds=1))
        (decided,) = driver.fire(schedule_id)
        assert (decided.fired, decided.schedule.next_start) == (None, due)
        assert driver.entries("work") == []
        driver.clock.set(due)
        assert driver.fire(schedule_id)[0].fired is not None

    def test_a_loser_learns_what_was_decided(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        due = driver.until_due("work")
        schedule_id = driver.get("work").id
        (winner,) = driver.fire(schedule_id)
        (loser,) = driver.fire(schedule_id, node=THERE)
        assert (winner.fired is not None, loser.fired) == (True, None)
        assert (loser.schedule.state, loser.schedule.next_start) == ("executing", due + MINUTE)
        assert loser.schedule == winner.schedule

    def test_schedules_that_are_gone_or_disabled_are_passed_over(self, driver: Driver) -> None:
        for name in ("a", "b", "c"):
            driver.horae.schedules.add("work", name=name, every="1m")
        ids = [driver.get(name).id for name in ("a", "b", "c")]
        driver.horae.schedules.delete("a")
        driver.horae.schedules.pause("b")
        decided = driver.fire(*ids)
        assert [(result.schedule.name, result.fired is not None) for result in decided] == [
            ("b", False),
            ("c", True),
        ]


class TestRivals:
    def test_nodes_that_fire_at_once_make_each_tick_once(self, driver: Driver) -> None:
        for number in range(20):
            driver.horae.schedules.add("work", name=f"s{number}", cron="* * * * *")
        ids = [schedule.id for schedule in driver.horae.schedules.list()]
        driver.clock.advance(minutes=1)
        for round_ in range(3):
            orders = [ids, ids[::-1], ids[7:] + ids[:7], ids[3:] + ids[:3]]
            answers = at_once([partial(driver.fire, *order) for order in orders])
            assert [answer for answer in answers if isinstance(answer, Exception)] == []
            fired = [
                job
                for answer in answers
                if not isinstance(answer, Exception)
                for job in started(answer)
            ]
            assert len(fired) == len(set(fired)) == 20
            for claim in driver.claim():
                driver.end(claim)
            for schedule in driver.horae.schedules.list():
                assert schedule.statistics.total_successes == round_ + 1
                assert len(driver.entries(schedule.name)) == round_ + 1
            driver.clock.advance(minutes=1)

    def test_a_fire_beside_the_end_of_the_run_before_it(self, driver: Driver) -> None:
        """Whichever comes first: the tick is fired or skipped, never both and never neither."""
        driver.horae.schedules.add("work", cron="* * * * *")
        schedule_id = driver.get("work").id
        driver.until_due("work")
        for _ in range(10):
            driver.fire(schedule_id)
            (claim,) = driver.claim()
            driver.clock.advance(minutes=1)
            answers = at_once([lambda: driver.fire(schedule_id), lambda: driver.end(claim)])  # noqa: B023 - in this round
            assert [answer for answer in answers if isinstance(answer, Exception)] == []
            for waiting in driver.claim():
                driver.end(waiting)
            driver.until_due("work")
        entries = driver.entries("work")
        check_ledger(entries, fires("* * * * *", MONDAY, entries[-1].until))
        assert driver.get("work").statistics.total_crashes == 0

    def test_a_pause_beside_a_fire(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1m")
        for _ in range(10):
            schedule_id = driver.get("work").id
            answers = at_once(
                [lambda: driver.fire(schedule_id), lambda: driver.horae.schedules.pause("work")]  # noqa: B023
            )
            assert [answer for answer in answers if isinstance(answer, Exception)] == []
            for claim in driver.claim():
                driver.end(claim)
            assert driver.get("work").state == "disabled"
            driver.clock.advance(minutes=2)
            driver.horae.schedules.resume("work")

    def test_a_resume_that_waited_for_a_fire_decides_nothing_twice(self, driver: Driver) -> None:
        """Its clock is older than the fire's: the statement had begun before it waited for the lock."""
        driver.horae.schedules.add("work", cron="* * * * *")
        driver.until_due("work")
        driver.run()
        driver.clock.advance(seconds=-30)
        driver.horae.schedules.resume("work")
        assert driver.get("work").next_start == MONDAY + 2 * MINUTE
        driver.until_due("work")
        driver.run()
        check_ledger(driver.entries("work"), fires("* * * * *", MONDAY, MONDAY + 2 * MINUTE))


class TestOrder:
    def test_by_priority_then_by_the_time_that_they_were_due(self, driver: Driver) -> None:
        for name, priority, delay in (
            ("late", 0, 50),
            ("early", 0, 10),
            ("urgent", 9, 55),
            ("least", -1, 5),
        ):
            driver.horae.schedules.add(
                "work",
                name=name,
                priority=priority,
                every="1h",
                initial_start=MONDAY + delay * SECOND,
            )
        driver.clock.advance(minutes=1)
        fired = driver.fire_due()
        names = {
            driver.horae.schedules.get(name).job_id: name
            for name in ("late", "early", "urgent", "least")
        }
        assert [names[claim.id] for claim in driver.claim()] == ["urgent", "early", "late", "least"]
        assert len(fired) == 4

    def test_without_a_free_slot_the_due_time_is_kept(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", name="first", every="1h")
        driver.fire_due()
        driver.clock.advance(minutes=5)
        driver.horae.schedules.add("work", name="second", every="1h")
        driver.fire_due()
        due = [driver.horae.jobs.get(claim.id).run_at for claim in driver.claim()]
        assert due == [MONDAY, MONDAY + 5 * MINUTE]


class TestBadOnes:
    @pytest.mark.parametrize(
        "harm",
        [
            'rules = \'{"overlap": "someday"}\'',
            "rules = '{}'",
            "rules = '[]'",
            "\"trigger\" = 'what'",
            "\"trigger\" = '0 0 30 2 *'",
            "timezone = 'Mars/Olympus'",
            "trigger_kind = 'interval'",
        ],
    )
    def test_an_unreadable_schedule_stops_no_other(self, driver: Driver, harm: str) -> None:
        for name in ("a", "bad", "z"):
            driver.horae.schedules.add("work", name=name, cron="* * * * *")
        execute(driver.horae, f"UPDATE horae_schedules SET {harm} WHERE name = 'bad'")
        driver.clock.advance(minutes=1)
        assert len(driver.fire_due()) == 2
        assert [len(driver.entries(name)) for name in ("a", "z")] == [1, 1]
        (decided,) = driver.fire(
            *(
                row.id
                for row in rows(driver.horae, "SELECT id FROM horae_schedules WHERE name = 'bad'")
            )
        )
        assert (decided.unreadable, decided.fired) == (True, None)

    def test_the_run_of_one_that_became_unreadable_ends_and_its_schedule_when_it_can_be_read(
        self, driver: Driver
    ) -> None:
        for name in ("a", "bad"):
            driver.horae.schedules.add("work", name=name, cron="* * * * *")
        driver.clock.advance(minutes=1)
        driver.fire_due()
        (good,) = rows(driver.horae, "SELECT rules FROM horae_schedules WHERE name = 'bad'")
        execute(driver.horae, "UPDATE horae_schedules SET rules = '{}' WHERE name = 'bad'")
        for claim in driver.claim():
            driver.end(claim)
        assert (
            rows(driver.horae, "SELECT count(*) AS n FROM horae_jobs WHERE state = 'finished'")[0].n
            == 2
        )
        assert (driver.get("a").state, driver.database.transact(run_ending.end_unreported, 10)) == (
            "idle",
            [],
        )
        rules = good.rules if isinstance(good.rules, str) else json.dumps(good.rules)
        execute(
            driver.horae,
            "UPDATE horae_schedules SET rules = :rules WHERE name = 'bad'".replace(
                ":rules", f"'{rules}'".replace(":", "\\:")
            ),
        )
        assert len(driver.database.transact(run_ending.end_unreported, 10)) == 1
        assert (driver.get("bad").state, driver.get("bad").statistics.total_successes) == (
            "idle",
            1,
        )

    def test_only_jobs_of_an_unknown_type_wait(self, driver: Driver) -> None:
        @driver.horae.job
        def forgotten() -> None: ...

        driver.horae.schedules.add("work", every="1m")
        driver.horae.schedules.add(forgotten, every="1m")
        assert len(driver.fire_due()) == 2
        (claim,) = driver.claim(
            types=("work",)
        )  # as a node would whose program does not have the other one
        driver.end(claim)
        driver.clock.advance(minutes=5)
        assert len(driver.fire_due()) == 1
        work = driver.get("work")
        assert (work.statistics.total_runs, work.open_runs, driver.get("forgotten").state) == (
            1,
            1,
            "executing",
        )

    def test_params_that_no_longer_fit_fail_their_own_run(self, driver: Driver) -> None:
        @driver.horae.job
        def count(number: int) -> None: ...

        driver.horae.schedules.add(count, every="1m", config={"number": 1})
        driver.horae.schedules.add("work", every="1m")
        execute(
            driver.horae,
            "UPDATE horae_schedules SET params = '{\"other\" \\: 2}' WHERE name = 'count'",
        )
        assert len(driver.fire_due()) == 2  # the runner meets it: see test_controller.py


class TestLedger:
    @pytest.mark.parametrize(
        ("expression", "overlap"),
        [
            *(("* * * * *", overlap) for overlap in Overlap),
            ("*/20 * * * * *", Overlap.BUFFER_ALL),
            ("*/20 * * * * *", Overlap.SKIP),
            ("*/7 9-17 * * 1-5", Overlap.ALLOW_ALL),
        ],
    )
    def test_every_nominal_time_has_one_decision(
        self, driver: Driver, expression: str, overlap: Overlap
    ) -> None:
        """Long runs and short ones, late fires, a pause, a change of the clock's pace: the ledger has no gap."""
        added = driver.horae.schedules.add(
            "work", cron=expression, overlap=overlap, retry_period="10s"
        )
        pauses = [0.3, 1.0, 2.5, 13.0, 61.0, 0.0, 7.0, 130.0, 1.0]
        for number, minutes in enumerate(pauses):
            driver.fire_due()
            driver.clock.advance(minutes=minutes)
            if number == 5:
                driver.horae.schedules.pause("work")
                driver.clock.advance(minutes=11)
                driver.horae.schedules.resume("work")
            if number % 2:
                for claim in driver.claim():
                    driver.end(claim, ENDED_BADLY if number == 3 else None)
        for _ in range(3):  # whatever waits
            for claim in driver.claim():
                driver.end(claim)
            driver.fire_due()
        mark = driver.get("work").last_tick
        assert mark is not None
        entries = driver.entries("work")
        check_ledger(entries, fires(expression, MONDAY, mark))
        fired = {entry.job_id for entry in entries if entry.decision == "fired"}
        assert fired == {job_id for job_id, _ in driver.jobs("work")}
        assert added.id == driver.get("work").id

    def test_a_tick_is_stored_once(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *", overlap="allow_all")
        driver.until_due("work")
        driver.run()
        execute(
            driver.horae,
            "UPDATE horae_schedules SET last_tick = created_at, next_start = created_at",
        )
        with pytest.raises(IntegrityError):
            driver.fire(driver.get("work").id)
        assert len(driver.jobs("work")) == 1


class TestExhausted:
    def test_it_ends_after_its_last_run(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="0 0 12 31 12 * 2026")
        assert driver.until_due("work") == datetime.fromisoformat("2026-12-31T12:00:00+00:00")
        driver.fire_due()
        running = driver.get("work")
        assert (running.state, running.next_start, running.enabled) == ("executing", None, True)
        (claim,) = driver.claim()
        driver.end(claim)
        after = driver.get("work")
        assert (after.state, after.disabled_reason, after.next_start) == (
            "disabled",
            "exhausted",
            None,
        )
        driver.clock.advance(days=400)
        assert (driver.fire_due(), driver.fire(after.id)[0].fired) == ([], None)

    def test_also_with_runs_beside_each_other(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="0 0 12 31 12 * 2026", overlap="allow_all")
        driver.until_due("work")
        driver.run()
        assert (
            driver.get("work").disabled_reason,
            driver.get("work").statistics.total_successes,
        ) == ("exhausted", 1)

    def test_a_schedule_exhausted_when_resumed_is_disabled(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="0 0 12 31 12 * 2026")
        driver.horae.schedules.pause("work")
        driver.clock.advance(days=400)
        resumed = driver.horae.schedules.resume("work")
        assert (resumed.state, resumed.disabled_reason) == ("disabled", "exhausted")
        assert (
            driver.horae.schedules.alter("work", cron="0 0 12 31 12 * 2030").disabled_reason
            == "exhausted"
        )
        assert driver.horae.schedules.resume("work").enabled


class TestClockSteps:
    @pytest.mark.parametrize("hours", [-5, 5])
    @pytest.mark.parametrize(
        "trigger", [{"cron": "*/10 * * * *"}, {"every": "10m"}, {"every": "10m", "fixed": True}]
    )
    def test_the_database_clock_steps(
        self, driver: Driver, trigger: dict[str, Any], hours: int
    ) -> None:
        driver.horae.schedules.add("work", **trigger)
        for _ in range(3):
            driver.until_due("work")
            driver.run()
        driver.fire_due()
        driver.clock.advance(hours=hours)
        for _ in range(3):
            driver.run()
            due = driver.get("work").next_start
            assert due is not None
            assert due >= driver.clock.now
            driver.clock.set(due)
        moments = [entry.nominal_time for entry in driver.entries("work")]
        assert len(moments) == len(set(moments)) >= 5


def test_due_schedules_are_found_by_partition_or_by_id(driver: Driver) -> None:
    ids = [
        driver.horae.schedules.add(
            "work", name=f"s{n}", every="1h", initial_start=MONDAY + n * MINUTE
        ).id
        for n in range(5)
    ]
    for horizon, expected in ((0.0001, 1), (60.5, 2), (3600, 5)):
        found = driver.database.autocommit(firing.due, range(1024), horizon)
        assert sorted(item.id for item in found) == ids[:expected]
        among = driver.database.autocommit(firing.due_among, ids, horizon)
        assert sorted(item.id for item in among) == ids[:expected]
    (soon,) = driver.database.autocommit(firing.due_among, [ids[3]], 3600.0)
    assert soon.due_in == pytest.approx(180)
    assert driver.database.autocommit(firing.due, [], 3600.0) == []


def test_a_run_by_hand_is_no_nominal_time(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="* * * * *")
    driver.until_due("work")
    job_id: JobId = driver.horae.schedules.run_now("work")
    driver.clock.advance(seconds=1)
    (claim,) = driver.claim()
    assert claim.id == job_id
    driver.end(claim)
    assert driver.fire_due() == []
    assert sorted(driver.ledger("work")) == [("fired", 1, "manual"), ("skipped", 1, "overlap")]
    check_ledger(driver.entries("work"), fires("* * * * *", MONDAY, driver.clock.now))


def test_a_job_of_a_schedule_is_not_owned_and_not_counted(driver: Driver) -> None:
    @driver.horae.job(max_count=1)
    def limited() -> None: ...

    driver.horae.schedules.add(limited, every="1m")
    driver.horae.schedules.add(limited, name="other", every="1m")
    assert len(driver.fire_due()) == 2
