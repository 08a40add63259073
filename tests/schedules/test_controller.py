"""Schedules on living nodes, by the real clock: from the declaration to the end of the run."""

import asyncio
import logging
import threading
import time
from collections.abc import Collection
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from horae import Horae, JobContext
from horae.client.schedules.views import ScheduleView
from horae.domain.cluster.ring import Ring
from horae.domain.jobs.job import NodeId
from horae.runtime.claims.slots import Slots
from horae.runtime.controller import Controller
from horae.runtime.signals import Signals
from horae.runtime.timing import ControllerTiming, Timing
from horae.storage.engine.database import Database
from horae.storage.nodes import nodes
from horae.storage.schedules import firing, writing
from horae.storage.schedules.plan_writing import AppliedPlan
from horae.storage.schedules.rows import DueSchedule
from tests.harness.applications import application, claim_as_another_node, execute
from tests.harness.nodes import running_node, signals_of, until, until_set
from tests.harness.waiting import Record, until_after, until_logged, until_stored
from tests.schedules.bodies import stubborn
from tests.schedules.driver import check_ledger, check_sum, fires

HOUR: Final = timedelta(hours=1)
AT_ONCE: Final = Timing(controller=ControllerTiming(second_owner=0.0))
"""The second owner of a partition does not wait for the first one."""


def add_type(horae: Horae, name: str = "work") -> Record[int]:
    """A job type that notes each of its runs."""
    ran = Record[int]()

    async def body(job: JobContext) -> None:
        ran.append(job.id)

    body.__name__ = body.__qualname__ = name
    horae.job(body)
    return ran


async def ended(horae: Horae, name: str, number: int = 1) -> ScheduleView:
    """The schedule, once so many of its runs have ended."""

    def over() -> ScheduleView | None:
        view = horae.schedules.get(name)
        check_sum(view.statistics)
        done = view.statistics.total_runs >= number and view.job_id is None
        return view if done else None

    found: ScheduleView | None = await until_stored(horae, over)
    assert found is not None
    return found


class TestDeclared:
    async def test_a_node_deploys_what_its_application_declares_and_fires_it(
        self, horae: Horae
    ) -> None:
        ran = Record[str]()

        @horae.cron("* * * * * *")
        def tick() -> None:
            ran.append("tick")

        @horae.every("1h")
        async def refresh(job: JobContext) -> None:
            ran.append(f"{job.attempt}")

        async with running_node(horae):
            await ran.until(lambda: ran.count("tick") >= 2 and "1" in ran)
        current = horae.deployments.current(horae.module)
        assert current is not None
        assert current.schema == horae.schema
        entries = horae.schedules.ticks("tick")[::-1]
        check_ledger(
            entries,
            fires("* * * * * *", entries[0].nominal_time - timedelta(seconds=1), entries[-1].until),
        )
        assert {entry.decided_by for entry in entries} <= {entries[0].decided_by, None}
        assert horae.schedules.get("refresh").statistics.total_successes == 1

    async def test_a_node_that_declares_nothing_any_more_ends_what_was(
        self, database: Database
    ) -> None:
        with application(database, module="shop") as before:
            before.every("1h")(tick_never)
            before.deploy()
        with application(database, module="shop") as after:
            async with running_node(after):
                assert not after.schedules.get("tick_never").enabled

    async def test_a_node_that_fires_nothing_deploys_nothing(self, horae: Horae) -> None:
        horae.every("1h")(tick_never)
        async with running_node(horae, scheduler=False):
            assert horae.deployments.list() == []

    async def test_an_old_version_that_starts_again_leaves_the_new_one_alone(
        self, database: Database
    ) -> None:
        with (
            application(database, module="shop") as old,
            application(database, module="shop") as new,
        ):
            old.every("2h")(tick_never)
            new.every("1h")(tick_never)
            async with running_node(old):
                pass
            async with running_node(new):
                pass
            before = new.schedules.get("tick_never")
            async with running_node(old):
                assert str(old.schedules.get("tick_never").rules.trigger.text) == "1h"
            assert new.schedules.get("tick_never").id == before.id


def tick_never() -> None: ...


class TestBodies:
    async def test_a_body_knows_its_nominal_time(self, horae: Horae) -> None:
        told = Record[tuple[int, datetime | None]]()

        @horae.job
        def work(job: JobContext) -> None:
            told.append((job.id, job.nominal_time))

        horae.schedules.add(work, cron="* * * * * *")
        by_hand = horae.jobs.start(work)
        async with running_node(horae):
            await told.reaches(3)
        times = {entry.job_id: entry.nominal_time for entry in horae.schedules.ticks("work")}
        assert dict(told).pop(by_hand.id) is None
        assert {
            job_id: moment for job_id, moment in told if job_id != by_hand.id
        }.items() <= times.items()


class TestEnds:
    async def test_a_failure_backs_off_and_uses_up_its_retries(self, horae: Horae) -> None:
        @horae.job
        def fail() -> None:
            raise ValueError("no")

        horae.schedules.add(
            fail, every="1h", retry_period=timedelta(milliseconds=50), max_retries=2
        )
        async with running_node(horae):
            await until_stored(horae, lambda: not horae.schedules.get("fail").enabled)
        after = horae.schedules.get("fail")
        assert (after.disabled_reason, after.statistics.total_failures) == ("retries used up", 3)
        assert [error.error for error in horae.schedules.errors("fail")] == ["ValueError: no"] * 3
        assert [entry.reason for entry in horae.schedules.ticks("fail")] == [
            "retry",
            "retry",
            "on_time",
        ]

    async def test_a_run_whose_node_died_is_a_crash_and_waits(self, horae: Horae) -> None:
        add_type(horae)
        horae.schedules.add("work", every="10s", retry_period="1s")
        horae.schedules.run_now("work")
        assert len(claim_as_another_node(horae)) == 1
        before = horae.schedules.get("work")
        assert (before.statistics.total_crashes, before.open_runs) == (0, 1)
        execute(horae, "UPDATE horae_ticks SET reason = 'on_time'")
        execute(
            horae, "UPDATE horae_jobs SET run_reason = 'on_time'"
        )  # as if its time had come, not by hand
        async with running_node(horae):
            after = await ended(horae, "work")
        assert (after.statistics.total_crashes, after.statistics.consecutive_crashes) == (1, 1)
        assert after.next_start is not None
        assert after.statistics.last_finish is not None
        wait = after.next_start - after.statistics.last_finish
        assert timedelta(minutes=4) < wait <= timedelta(minutes=5)
        assert [error.outcome for error in horae.schedules.errors("work")] == ["crashed"]

    async def test_a_soft_limit_of_the_schedule_ends_a_run_in_good_order(
        self, horae: Horae
    ) -> None:
        @horae.job
        def endless(job: JobContext) -> None:
            while True:
                job.progress.set(1)

        horae.schedules.add(endless, every="1h", max_runtime=timedelta(milliseconds=200))
        async with running_node(horae):
            after = await ended(horae, "endless")
        assert (after.statistics.total_failures, after.statistics.consecutive_failures) == (1, 1)
        assert [error.outcome for error in horae.schedules.errors("endless")] == ["timed_out"]

    async def test_a_hard_limit_ends_what_does_not_listen(self, horae: Horae) -> None:
        horae.registry.add(stubborn.job_type)
        horae.schedules.add("stubborn", every="1h", max_runtime=timedelta(milliseconds=400))
        async with running_node(horae):
            after = await ended(horae, "stubborn")
        assert after.statistics.total_failures + after.statistics.total_crashes == 1
        assert after.next_start is not None

    async def test_a_user_cancels_a_scheduled_job(self, horae: Horae) -> None:
        begun = threading.Event()

        @horae.job
        async def wait_long() -> None:
            begun.set()
            await asyncio.Event().wait()

        horae.schedules.add(wait_long, every="1h", max_retries=0)
        async with running_node(horae):
            await until_set(begun)
            job_id = horae.schedules.get("wait_long").job_id
            assert job_id is not None
            await horae.aio.jobs.cancel(job_id)
            after = await ended(horae, "wait_long")
        assert (
            after.enabled,
            after.statistics.total_failures,
            after.statistics.consecutive_failures,
        ) == (True, 1, 0)

    async def test_an_end_in_the_bodys_own_transaction_reaches_the_owner(
        self, horae: Horae
    ) -> None:
        """No node settles such a run, so none learns of its schedule by itself."""
        changed = list[int]()

        @horae.job(transaction="read committed")
        def own() -> None: ...

        added = horae.schedules.add(own, every="1h")
        async with running_node(horae) as node:
            await ended(horae, "own")
            signals_of(node).schedules_changed.connect(changed.extend)
            horae.schedules.run_now("own")
            await ended(horae, "own", 2)
            # one for the run by hand, one for its end
            await until_after(
                signals_of(node).schedules_changed, lambda: changed.count(added.id) >= 2
            )


class TestOverlap:
    @pytest.mark.parametrize(
        ("policy", "name"), [("cancel_other", "obedient"), ("terminate_other", "stubborn")]
    )
    async def test_the_next_run_takes_the_place_of_the_one_before(
        self, horae: Horae, policy: str, name: str
    ) -> None:
        @horae.job
        async def obedient() -> None:
            await asyncio.Event().wait()

        horae.registry.add(stubborn.job_type)
        horae.schedules.add(name, cron="* * * * * *", overlap=policy, max_retries=0)
        async with running_node(horae, grace=timedelta(0)):
            await until_stored(
                horae, lambda: horae.schedules.get(name).statistics.total_runs >= 2, within=60
            )
            horae.schedules.pause(name)
        # On a busy machine the oldest decisions may be about times that were missed.
        *_, oldest = [each.job_id for each in horae.schedules.ticks(name) if each.job_id]
        first = horae.jobs.get(oldest)
        assert first.state == "cancelled"
        assert first.cancelled_by == f"schedule {name}"

    async def test_a_job_that_is_not_claimed_makes_room_too(self, horae: Horae) -> None:
        """Its node only fires; no worker knows of the job that waits."""
        add_type(horae)
        horae.schedules.add("work", cron="* * * * * *", overlap="cancel_other")
        async with running_node(horae, worker=False):
            await until_stored(
                horae,
                lambda: sum(each.job_id is not None for each in horae.schedules.ticks("work")) >= 3,
            )
        assert horae.schedules.get("work").statistics.total_runs == 0
        entries = horae.schedules.ticks("work")[::-1]
        late = [
            (entry.decided_at - entry.nominal_time).total_seconds()
            for entry in entries
            if entry.job_id
        ]
        assert min(late) < 0.9


class TestBadOnes:
    async def test_unreadable_schedules_stop_no_other(
        self, horae: Horae, caplog: pytest.LogCaptureFixture
    ) -> None:
        ran = add_type(horae)

        @horae.job
        def number(value: int) -> None: ...

        @horae.job
        def forgotten() -> None: ...

        for kind, name, config in (
            (number, "params", {"value": 1}),
            (forgotten, "type", {}),
            ("work", "rules", {}),
            ("work", "good", {}),
        ):
            horae.schedules.add(kind, name=name, every="1h", config=config)
        execute(
            horae, "UPDATE horae_schedules SET params = '{\"value\": [1]}' WHERE name = 'params'"
        )
        execute(horae, "UPDATE horae_schedules SET rules = '{}' WHERE name = 'rules'")
        horae.registry.remove("forgotten")
        with caplog.at_level(logging.WARNING):
            async with running_node(horae):
                await ended(horae, "good")
                broken = await ended(horae, "params")
                await until_logged(caplog, "'rules' cannot be read here")
                assert horae.schedules.get("type").state == "executing"
        assert len(ran) == 1
        assert broken.statistics.total_failures == 1

    async def test_a_batch_that_fails_is_fired_one_by_one(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ran = add_type(horae)
        ids = [horae.schedules.add("work", name=f"s{number}", every="1h").id for number in range(4)]
        fire = firing.fire

        def fire_unless_bad(
            connection: Connection, batch: Collection[int], node: NodeId
        ) -> list[AppliedPlan]:
            if ids[2] in batch:
                raise ValueError("this one cannot be fired")
            return fire(connection, batch, node)

        monkeypatch.setattr(firing, "fire", fire_unless_bad)
        async with running_node(horae):
            await ran.reaches(3)
            assert horae.schedules.get("s2").statistics.total_runs == 0


class TestHints:
    async def test_changes_of_another_process_are_seen_at_once(
        self, horae: Horae, database: Database
    ) -> None:
        ran = add_type(horae)
        with application(database) as elsewhere:
            add_type(elsewhere)
            async with running_node(horae):
                await asyncio.to_thread(elsewhere.schedules.add, "work", every="1h")
                await ran.reaches(1)
                await ended(horae, "work")
                await asyncio.to_thread(
                    elsewhere.schedules.alter, "work", every=timedelta(milliseconds=300)
                )
                await ran.reaches(2)
                await asyncio.to_thread(elsewhere.schedules.pause, "work")
                await until_stored(horae, lambda: horae.schedules.get("work").state == "disabled")
                number = len(ran)
                await asyncio.to_thread(elsewhere.schedules.run_now, "work")
                await ran.reaches(number + 1)

    async def test_without_hints_the_next_reload_sees_it(self, database: Database) -> None:
        with (
            application(database, hints=False) as horae,
            application(database, hints=False) as elsewhere,
        ):
            ran, _ = add_type(horae), add_type(elsewhere)
            async with running_node(horae, timing=Timing(controller=ControllerTiming(reload=0.3))):
                await asyncio.to_thread(elsewhere.schedules.add, "work", every="1h")
                await ran.reaches(1)
                await ended(horae, "work")
                await asyncio.to_thread(
                    elsewhere.schedules.alter, "work", every=timedelta(milliseconds=300)
                )
                await ran.reaches(2)

    async def test_without_hints_it_does_not_wait_for_the_usual_reload(
        self, database: Database
    ) -> None:
        with (
            application(database, hints=False) as horae,
            application(database, hints=False) as elsewhere,
        ):
            ran, _ = add_type(horae), add_type(elsewhere)
            async with running_node(
                horae, timing=Timing(controller=ControllerTiming(reload_without_hints=0.2))
            ):
                await asyncio.to_thread(elsewhere.schedules.add, "work", every="1h")
                await ran.reaches(1)

    async def test_a_node_owns_what_was_added_in_its_own_process(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also if the partition is another's, who knows nothing of it yet."""
        monkeypatch.setattr(Ring, "partitions_of", lambda *_: frozenset())
        with application(database, hints=False) as horae:
            ran = add_type(horae)
            async with running_node(horae):
                await horae.aio.schedules.add("work", every="1h")
                await ran.reaches(1)


class TestTwoNodes:
    @pytest.fixture
    def greedy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every node believes to own everything, first."""
        everything = frozenset(range(1024))
        monkeypatch.setattr(Ring, "partitions_of", lambda *_: everything)

    @pytest.mark.usefixtures("greedy")
    async def test_two_owners_of_everything_make_each_tick_once(
        self, horae: Horae, database: Database
    ) -> None:
        ran = add_type(horae)
        with application(database) as other:
            also_ran = add_type(other)
            for number in range(10):
                horae.schedules.add("work", name=f"s{number}", cron="* * * * * *")
            async with running_node(horae, timing=AT_ONCE), running_node(other, timing=AT_ONCE):
                await until_stored(
                    horae,
                    lambda: min(item.statistics.total_runs for item in horae.schedules.list()) >= 3,
                )
        assert len(set(ran + also_ran)) == len(ran + also_ran)
        for item in horae.schedules.list():
            entries = horae.schedules.ticks(item.id)[::-1]
            check_ledger(
                entries,
                fires(
                    "* * * * * *", entries[0].nominal_time - timedelta(seconds=1), entries[-1].until
                ),
            )

    async def test_a_second_owner_fires_what_the_first_does_not(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ran = add_type(horae)
        monkeypatch.setattr(
            nodes, "schedulers", lambda _: [NodeId("asleep"), NodeId("also asleep")]
        )
        for number in range(6):
            horae.schedules.add("work", name=f"s{number}", every="1h")
        async with running_node(horae):  # missing from the list, it looks after everything
            await ran.reaches(6)


class TestTrouble:
    async def test_an_outage_of_the_database_causes_no_reload(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ran = add_type(horae)
        horae.schedules.add("work", every="1h")
        away = {"schedulers": 1, "due": 1, "fire": 1}
        fail_first(monkeypatch, nodes, "schedulers", away)
        fail_first(monkeypatch, firing, "due", away)
        fail_first(monkeypatch, firing, "fire", away)
        async with running_node(horae):
            await ran.reaches(1)
        assert set(away.values()) == {0}

    async def test_a_failed_query_after_a_hint_is_repeated(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ran = add_type(horae)
        away = {"due_among": 1}
        async with running_node(horae):
            fail_first(monkeypatch, firing, "due_among", away)
            await horae.aio.schedules.add("work", every="1h")
            await ran.reaches(1)
        assert away == {"due_among": 0}

    async def test_a_run_that_outlasts_its_interval_is_not_asked_for_all_the_time(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        release, asked, fire = asyncio.Event(), list[float](), firing.fire

        @horae.job
        async def long() -> None:
            await release.wait()

        def count(
            connection: Connection, batch: Collection[int], node: NodeId
        ) -> list[AppliedPlan]:
            asked.append(time.monotonic())
            return fire(connection, batch, node)

        monkeypatch.setattr(firing, "fire", count)
        horae.schedules.add(long, every="2s")
        async with running_node(horae):
            await until(lambda: asked and time.monotonic() > asked[0] + 3.5)
            release.set()
        assert (
            len(asked) <= 5
        )  # at the start, when it should have ended, a second later; not five times a second

    async def test_a_change_during_a_reload_is_kept(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What is being read may be older: here it says that nothing is due."""
        with application(database, hints=False) as horae:
            ran = add_type(horae)
            horae.schedules.add("work", every="1h", enabled=False)
            learnt, due = list[int](), firing.due

            def old(
                connection: Connection, partitions: Collection[int], horizon: float
            ) -> list[DueSchedule]:
                if learnt:
                    return due(connection, partitions, horizon)
                (row,) = writing.lock(connection, [horae.schedules.resume("work").id])
                learnt.append(row.id)
                signals.runs_ended.send([AppliedPlan(row, None, None)])
                return []

            monkeypatch.setattr(firing, "due", old)
            signals = Signals()
            lone = Controller(
                horae.components.database, NodeId("here"), signals, ControllerTiming(), Random(1)
            )
            async with running_node(horae, scheduler=False), asyncio.TaskGroup() as group:
                group.create_task(lone.run())
                await ran.reaches(1)
                lone.stop()


@pytest.mark.parametrize(
    "database", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)
@pytest.mark.parametrize("hours", [3, -5])
async def test_a_skewed_clock_of_a_node_fires_nothing_early_or_twice(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """Only the database's clock counts; on SQLite that is the process's own."""
    ran, real = add_type(horae), time.time
    horae.schedules.add("work", cron="* * * * * *")
    monkeypatch.setattr(time, "time", lambda: real() + hours * 3600)
    async with running_node(horae):
        await ran.reaches(2)
    entries = horae.schedules.ticks("work", limit=1000)[::-1]
    check_ledger(
        entries,
        fires("* * * * * *", entries[0].nominal_time - timedelta(seconds=1), entries[-1].until),
    )
    assert all(entry.decided_at >= entry.until for entry in entries)


async def test_two_applications_of_one_process_share_their_slots(
    database: Database, tmp_path: Any
) -> None:
    slots, busy, most = Slots(1), [0], [0]
    with (
        application(database) as one,
        application(Database(f"sqlite:///{tmp_path}/other.db")) as other,
    ):
        for horae in (one, other):

            @horae.job
            async def work() -> None:
                busy[0] += 1
                most[0] = max(most[0], busy[0])
                await asyncio.sleep(0.02)
                busy[0] -= 1

            for number in range(5):
                horae.schedules.add("work", name=f"s{number}", every="1h")
        async with running_node(one, slots=slots), running_node(other, slots=slots):
            await until(lambda: all_ran(one) and all_ran(other))
    assert most == [1]


def all_ran(horae: Horae) -> bool:
    return all(item.statistics.total_successes for item in horae.schedules.list())


def fail_first(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, away: dict[str, int]
) -> None:
    real = getattr(module, name)

    def maybe(*arguments: Any) -> Any:
        if away[name]:
            away[name] -= 1
            raise OperationalError("away", None, ConnectionResetError("no answer"))
        return real(*arguments)

    monkeypatch.setattr(module, name, maybe)
