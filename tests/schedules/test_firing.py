"""Firing: one transaction for what is due, one decision for each nominal time, whoever believes to own it."""

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
from tests.schedules.stage import ENDED_BADLY, HERE, THERE, Stage, check_ledger, fires, started
from tests.storage.arrange import at_once

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)


class TestOneFire:
    def test_job_tick_state_and_statistics_are_written_together(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *", priority=5, queue="fast", max_runtime="90s")
        due = stage.until_due("work")
        (decided,) = stage.fire(stage.get("work").id)
        after = stage.get("work")
        assert (after.state, after.job_id, after.started_at) == ("executing", decided.fired, due)
        assert (after.last_tick, after.next_start) == (due, due + MINUTE)
        assert (after.statistics.total_runs, after.statistics.total_crashes, after.open_runs) == (0, 0, 1)
        assert after.statistics.last_start is None  # its body has not begun
        (entry,) = stage.entries("work")
        assert (entry.nominal_time, entry.until, entry.count) == (due, due, 1)
        assert (entry.decision, entry.reason, entry.job_id) == ("fired", "on_time", decided.fired)
        assert (entry.decided_at, entry.decided_by) == (due, HERE)
        job = stage.horae.jobs.get(decided.fired or 0)
        assert (job.schedule_id, job.nominal_time, job.state) == (after.id, due, "pending")
        assert (job.queue, job.priority, job.run_at) == ("fast", 5, due)
        assert (job.run_reason, job.max_runtime, job.meta) == ("on_time", 90.0, {})

    def test_nothing_is_left_of_a_fire_that_fails(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *")
        before = stage.until_due("work")
        schedule_id = stage.get("work").id
        execute(
            stage.horae,
            "INSERT INTO horae_ticks (schedule_id, nominal_time, until, count, decision, reason, decided_at) "
            "SELECT id, next_start, next_start, 1, 'skipped', 'overlap', next_start FROM horae_schedules",
        )
        with pytest.raises(IntegrityError):
            stage.fire(schedule_id)
        assert (stage.get("work").state, stage.get("work").next_start) == ("idle", before)
        assert stage.get("work").statistics.total_runs == 0
        assert stage.jobs("work") == []

    def test_it_is_never_early(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *")
        schedule_id = stage.get("work").id
        due = stage.until_due("work")
        stage.clock.set(due - timedelta(microseconds=1))
        (decided,) = stage.fire(schedule_id)
        assert (decided.fired, decided.schedule.next_start) == (None, due)
        assert stage.entries("work") == []
        stage.clock.set(due)
        assert stage.fire(schedule_id)[0].fired is not None

    def test_a_loser_learns_what_was_decided(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *")
        due = stage.until_due("work")
        schedule_id = stage.get("work").id
        (winner,) = stage.fire(schedule_id)
        (loser,) = stage.fire(schedule_id, node=THERE)
        assert (winner.fired is not None, loser.fired) == (True, None)
        assert (loser.schedule.state, loser.schedule.next_start) == ("executing", due + MINUTE)
        assert loser.schedule == winner.schedule

    def test_schedules_that_are_gone_or_disabled_are_passed_over(self, stage: Stage) -> None:
        for name in ("a", "b", "c"):
            stage.horae.schedules.add("work", name=name, every="1m")
        ids = [stage.get(name).id for name in ("a", "b", "c")]
        stage.horae.schedules.delete("a")
        stage.horae.schedules.pause("b")
        decided = stage.fire(*ids)
        assert [(result.schedule.name, result.fired is not None) for result in decided] == [("b", False), ("c", True)]


class TestRivals:
    def test_who_all_fire_at_once_make_each_tick_once(self, stage: Stage) -> None:
        for number in range(20):
            stage.horae.schedules.add("work", name=f"s{number}", cron="* * * * *")
        ids = [schedule.id for schedule in stage.horae.schedules.list()]
        stage.clock.advance(minutes=1)
        for round_ in range(3):
            orders = [ids, ids[::-1], ids[7:] + ids[:7], ids[3:] + ids[:3]]
            answers = at_once([partial(stage.fire, *order) for order in orders])
            assert [answer for answer in answers if isinstance(answer, Exception)] == []
            fired = [job for answer in answers if not isinstance(answer, Exception) for job in started(answer)]
            assert len(fired) == len(set(fired)) == 20
            for claim in stage.claim():
                stage.end(claim)
            for schedule in stage.horae.schedules.list():
                assert schedule.statistics.total_successes == round_ + 1
                assert len(stage.entries(schedule.name)) == round_ + 1
            stage.clock.advance(minutes=1)

    def test_a_fire_beside_the_end_of_the_run_before_it(self, stage: Stage) -> None:
        """Whichever comes first: the tick is fired or skipped, never both and never neither."""
        stage.horae.schedules.add("work", cron="* * * * *")
        schedule_id = stage.get("work").id
        stage.until_due("work")
        for _ in range(10):
            stage.fire(schedule_id)
            (claim,) = stage.claim()
            stage.clock.advance(minutes=1)
            answers = at_once([lambda: stage.fire(schedule_id), lambda: stage.end(claim)])  # noqa: B023 - in this round
            assert [answer for answer in answers if isinstance(answer, Exception)] == []
            for waiting in stage.claim():
                stage.end(waiting)
            stage.until_due("work")
        entries = stage.entries("work")
        check_ledger(entries, fires("* * * * *", MONDAY, entries[-1].until))
        assert stage.get("work").statistics.total_crashes == 0

    def test_a_pause_beside_a_fire(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", every="1m")
        for _ in range(10):
            schedule_id = stage.get("work").id
            answers = at_once([lambda: stage.fire(schedule_id), lambda: stage.horae.schedules.pause("work")])  # noqa: B023
            assert [answer for answer in answers if isinstance(answer, Exception)] == []
            for claim in stage.claim():
                stage.end(claim)
            assert stage.get("work").state == "disabled"
            stage.clock.advance(minutes=2)
            stage.horae.schedules.resume("work")

    def test_a_resume_that_waited_for_a_fire_decides_nothing_twice(self, stage: Stage) -> None:
        """Its clock is older than the fire's: the statement had begun before it waited for the lock."""
        stage.horae.schedules.add("work", cron="* * * * *")
        stage.until_due("work")
        stage.run()
        stage.clock.advance(seconds=-30)
        stage.horae.schedules.resume("work")
        assert stage.get("work").next_start == MONDAY + 2 * MINUTE
        stage.until_due("work")
        stage.run()
        check_ledger(stage.entries("work"), fires("* * * * *", MONDAY, MONDAY + 2 * MINUTE))


class TestOrder:
    def test_by_priority_then_by_the_time_that_they_were_due(self, stage: Stage) -> None:
        for name, priority, delay in (("late", 0, 50), ("early", 0, 10), ("urgent", 9, 55), ("least", -1, 5)):
            stage.horae.schedules.add(
                "work", name=name, priority=priority, every="1h", initial_start=MONDAY + delay * SECOND
            )
        stage.clock.advance(minutes=1)
        fired = stage.fire_due()
        names = {stage.horae.schedules.get(name).job_id: name for name in ("late", "early", "urgent", "least")}
        assert [names[claim.id] for claim in stage.claim()] == ["urgent", "early", "late", "least"]
        assert len(fired) == 4

    def test_without_a_free_slot_the_due_time_is_kept(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", name="first", every="1h")
        stage.fire_due()
        stage.clock.advance(minutes=5)
        stage.horae.schedules.add("work", name="second", every="1h")
        stage.fire_due()
        due = [stage.horae.jobs.get(claim.id).run_at for claim in stage.claim()]
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
    def test_one_that_cannot_be_read_stops_no_other(self, stage: Stage, harm: str) -> None:
        for name in ("a", "bad", "z"):
            stage.horae.schedules.add("work", name=name, cron="* * * * *")
        execute(stage.horae, f"UPDATE horae_schedules SET {harm} WHERE name = 'bad'")
        stage.clock.advance(minutes=1)
        assert len(stage.fire_due()) == 2
        assert [len(stage.entries(name)) for name in ("a", "z")] == [1, 1]
        (decided,) = stage.fire(
            *(row.id for row in rows(stage.horae, "SELECT id FROM horae_schedules WHERE name = 'bad'"))
        )
        assert (decided.unreadable, decided.fired) == (True, None)

    def test_the_run_of_one_that_became_unreadable_ends_and_its_schedule_when_it_can_be_read(
        self, stage: Stage
    ) -> None:
        for name in ("a", "bad"):
            stage.horae.schedules.add("work", name=name, cron="* * * * *")
        stage.clock.advance(minutes=1)
        stage.fire_due()
        (good,) = rows(stage.horae, "SELECT rules FROM horae_schedules WHERE name = 'bad'")
        execute(stage.horae, "UPDATE horae_schedules SET rules = '{}' WHERE name = 'bad'")
        for claim in stage.claim():
            stage.end(claim)
        assert rows(stage.horae, "SELECT count(*) AS n FROM horae_jobs WHERE state = 'finished'")[0].n == 2
        assert (stage.get("a").state, stage.database.transact(run_ending.end_unreported, 10)) == ("idle", [])
        rules = good.rules if isinstance(good.rules, str) else json.dumps(good.rules)
        execute(stage.horae, "UPDATE horae_schedules SET rules = :rules WHERE name = 'bad'".replace(
            ":rules", f"'{rules}'".replace(":", "\\:")))  # fmt: skip
        assert len(stage.database.transact(run_ending.end_unreported, 10)) == 1
        assert (stage.get("bad").state, stage.get("bad").statistics.total_successes) == ("idle", 1)

    def test_a_type_that_nobody_knows_keeps_its_own_job_waiting_only(self, stage: Stage) -> None:
        @stage.horae.job
        def forgotten() -> None: ...

        stage.horae.schedules.add("work", every="1m")
        stage.horae.schedules.add(forgotten, every="1m")
        assert len(stage.fire_due()) == 2
        (claim,) = stage.claim(types=("work",))  # as a node would whose program does not have the other one
        stage.end(claim)
        stage.clock.advance(minutes=5)
        assert len(stage.fire_due()) == 1
        work = stage.get("work")
        assert (work.statistics.total_runs, work.open_runs, stage.get("forgotten").state) == (1, 1, "executing")

    def test_params_that_no_longer_fit_fail_their_own_run(self, stage: Stage) -> None:
        @stage.horae.job
        def count(number: int) -> None: ...

        stage.horae.schedules.add(count, every="1m", config={"number": 1})
        stage.horae.schedules.add("work", every="1m")
        execute(stage.horae, "UPDATE horae_schedules SET params = '{\"other\" \\: 2}' WHERE name = 'count'")
        assert len(stage.fire_due()) == 2  # the runner meets it: see test_controller.py


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
    def test_every_nominal_time_has_one_decision(self, stage: Stage, expression: str, overlap: Overlap) -> None:
        """Long runs and short ones, late fires, a pause, a change of the clock's pace: the ledger has no gap."""
        added = stage.horae.schedules.add("work", cron=expression, overlap=overlap, retry_period="10s")
        pauses = [0.3, 1.0, 2.5, 13.0, 61.0, 0.0, 7.0, 130.0, 1.0]
        for number, minutes in enumerate(pauses):
            stage.fire_due()
            stage.clock.advance(minutes=minutes)
            if number == 5:
                stage.horae.schedules.pause("work")
                stage.clock.advance(minutes=11)
                stage.horae.schedules.resume("work")
            if number % 2:
                for claim in stage.claim():
                    stage.end(claim, ENDED_BADLY if number == 3 else None)
        for _ in range(3):  # whatever waits
            for claim in stage.claim():
                stage.end(claim)
            stage.fire_due()
        mark = stage.get("work").last_tick
        assert mark is not None
        entries = stage.entries("work")
        check_ledger(entries, fires(expression, MONDAY, mark))
        fired = {entry.job_id for entry in entries if entry.decision == "fired"}
        assert fired == {job_id for job_id, _ in stage.jobs("work")}
        assert added.id == stage.get("work").id

    def test_a_tick_is_stored_once_whatever_asks(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="* * * * *", overlap="allow_all")
        stage.until_due("work")
        stage.run()
        execute(stage.horae, "UPDATE horae_schedules SET last_tick = created_at, next_start = created_at")
        with pytest.raises(IntegrityError):
            stage.fire(stage.get("work").id)
        assert len(stage.jobs("work")) == 1


class TestExhausted:
    def test_it_ends_after_its_last_run(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="0 0 12 31 12 * 2026")
        assert stage.until_due("work") == datetime.fromisoformat("2026-12-31T12:00:00+00:00")
        stage.fire_due()
        running = stage.get("work")
        assert (running.state, running.next_start, running.enabled) == ("executing", None, True)
        (claim,) = stage.claim()
        stage.end(claim)
        after = stage.get("work")
        assert (after.state, after.disabled_reason, after.next_start) == ("disabled", "exhausted", None)
        stage.clock.advance(days=400)
        assert (stage.fire_due(), stage.fire(after.id)[0].fired) == ([], None)

    def test_also_with_runs_beside_each_other(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="0 0 12 31 12 * 2026", overlap="allow_all")
        stage.until_due("work")
        stage.run()
        assert (stage.get("work").disabled_reason, stage.get("work").statistics.total_successes) == ("exhausted", 1)

    def test_one_whose_years_were_over_when_it_was_resumed(self, stage: Stage) -> None:
        stage.horae.schedules.add("work", cron="0 0 12 31 12 * 2026")
        stage.horae.schedules.pause("work")
        stage.clock.advance(days=400)
        resumed = stage.horae.schedules.resume("work")
        assert (resumed.state, resumed.disabled_reason) == ("disabled", "exhausted")
        assert stage.horae.schedules.alter("work", cron="0 0 12 31 12 * 2030").disabled_reason == "exhausted"
        assert stage.horae.schedules.resume("work").enabled


class TestClockSteps:
    @pytest.mark.parametrize("hours", [-5, 5])
    @pytest.mark.parametrize("trigger", [{"cron": "*/10 * * * *"}, {"every": "10m"}, {"every": "10m", "fixed": True}])
    def test_the_database_clock_steps(self, stage: Stage, trigger: dict[str, Any], hours: int) -> None:
        stage.horae.schedules.add("work", **trigger)
        for _ in range(3):
            stage.until_due("work")
            stage.run()
        stage.fire_due()
        stage.clock.advance(hours=hours)
        for _ in range(3):
            stage.run()
            due = stage.get("work").next_start
            assert due is not None
            assert due >= stage.clock.now
            stage.clock.set(due)
        moments = [entry.nominal_time for entry in stage.entries("work")]
        assert len(moments) == len(set(moments)) >= 5


def test_what_is_due_is_found_by_partition_or_by_id(stage: Stage) -> None:
    ids = [
        stage.horae.schedules.add("work", name=f"s{n}", every="1h", initial_start=MONDAY + n * MINUTE).id
        for n in range(5)
    ]
    for horizon, expected in ((0.0001, 1), (60.5, 2), (3600, 5)):
        found = stage.database.autocommit(firing.due, range(1024), horizon)
        assert sorted(item.id for item in found) == ids[:expected]
        among = stage.database.autocommit(firing.due_among, ids, horizon)
        assert sorted(item.id for item in among) == ids[:expected]
    (soon,) = stage.database.autocommit(firing.due_among, [ids[3]], 3600.0)
    assert soon.due_in == pytest.approx(180)
    assert stage.database.autocommit(firing.due, [], 3600.0) == []


def test_a_run_by_hand_is_no_nominal_time(stage: Stage) -> None:
    stage.horae.schedules.add("work", cron="* * * * *")
    stage.until_due("work")
    job_id: JobId = stage.horae.schedules.run_now("work")
    stage.clock.advance(seconds=1)
    (claim,) = stage.claim()
    assert claim.id == job_id
    stage.end(claim)
    assert stage.fire_due() == []
    assert sorted(stage.ledger("work")) == [("fired", 1, "manual"), ("skipped", 1, "overlap")]
    check_ledger(stage.entries("work"), fires("* * * * *", MONDAY, stage.clock.now))


def test_a_job_of_a_schedule_is_not_owned_and_not_counted(stage: Stage) -> None:
    @stage.horae.job(max_count=1)
    def limited() -> None: ...

    stage.horae.schedules.add(limited, every="1m")
    stage.horae.schedules.add(limited, name="other", every="1m")
    assert len(stage.fire_due()) == 2
