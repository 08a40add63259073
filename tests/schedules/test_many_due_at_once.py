"""Many schedules that are due at once: planned ahead, fired by priority, and before what has ended is written."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any, Literal, cast

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError
from typing_extensions import override

from horae import Horae
from horae.domain.cluster.ring import Ring
from horae.domain.jobs.job import Claim, NodeId
from horae.runtime.bodies import RunEnvironment
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.controller import Controller
from horae.runtime.settling import settler
from horae.runtime.settling.settler import Settler
from horae.runtime.signals import Signals
from horae.runtime.timing import ControllerTiming, SettlerTiming, Timing
from horae.storage.engine.database import Database
from horae.storage.outcomes.settling import Settled
from horae.storage.schedules import bulk_firing, firing
from horae.storage.schedules.bulk_firing import BulkFired, PlannedFire
from horae.storage.schedules.plan_writing import AppliedPlan
from horae.storage.schedules.rows import DueSchedule
from tests.harness.applications import application, rows
from tests.harness.nodes import running_node, signals_of, until
from tests.harness.waiting import Record, until_after, until_stored
from tests.schedules.driver import check_ledger, fires

EVERY_SECOND = "* * * * * *"


SMALL = ControllerTiming(burst=3, plan_every=0.0, batch=4)
"""Lets a few schedules count as many."""


def add_many(horae: Horae, number: int, **options: Any) -> None:
    @horae.job(name="work")
    async def work() -> None: ...

    given: dict[str, Any] = {"cron": EVERY_SECOND} | options
    for index in range(number):
        horae.schedules.add(work, name=f"s{index}", **given)


def check_all(horae: Horae) -> None:
    for item in horae.schedules.list():
        entries = horae.schedules.ticks(item.id, limit=1000)[::-1]
        check_ledger(
            entries,
            fires(EVERY_SECOND, entries[0].nominal_time - timedelta(seconds=1), entries[-1].until),
        )
    twice = "SELECT 1 FROM horae_jobs GROUP BY schedule_id, nominal_time HAVING count(*) > 1"
    assert rows(horae, twice) == []


def fewest_runs(horae: Horae) -> int:
    return min(item.statistics.total_runs + item.open_runs for item in horae.schedules.list())


@pytest.mark.slow
class TestPlannedAhead:
    async def test_they_fire_as_they_were_planned(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        planned, fire = list[int](), bulk_firing.fire

        def noted(connection: Connection, plans: Sequence[PlannedFire], node: NodeId) -> BulkFired:
            fired = fire(connection, plans, node)
            planned.extend(decided.schedule.id for decided in fired.applied)
            return fired

        monkeypatch.setattr(bulk_firing, "fire", noted)
        add_many(horae, 10)
        async with running_node(horae, timing=Timing(controller=SMALL)) as node:
            await until_after(signals_of(node).decided, lambda: len(set(planned)) == 10)
        check_all(horae)

    async def test_two_nodes_with_the_same_plans_make_each_tick_once(
        self, horae: Horae, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        everything = frozenset(range(1024))
        monkeypatch.setattr(Ring, "partitions_of", lambda *_: everything)
        timing = Timing(controller=replace(SMALL, second_owner=0.0))
        add_many(horae, 10)
        with application(database) as other:
            other.job(name="work")(lambda: None)
            async with running_node(horae, timing=timing), running_node(other, timing=timing):
                await until_stored(horae, lambda: fewest_runs(horae) >= 4)
        check_all(horae)

    async def test_schedules_fired_by_another_node_are_not_locked_again(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        happened, fire, long_way, ask = (
            Record[tuple[str, set[int]]](),
            bulk_firing.fire,
            firing.fire,
            firing.due_among,
        )

        def beaten(connection: Connection, plans: Sequence[PlannedFire], node: NodeId) -> BulkFired:
            before = fire(connection, plans, NodeId("rival"))
            happened.append(("beaten", {decided.schedule.id for decided in before.applied}))
            return fire(connection, plans, node)

        def noted(connection: Connection, ids: Collection[int], node: NodeId) -> list[AppliedPlan]:
            happened.append(("locked", set(ids)))
            return long_way(connection, ids, node)

        def asked(
            connection: Connection, ids: Collection[int], horizon: float
        ) -> list[DueSchedule]:
            happened.append(("asked", set(ids)))
            return ask(connection, ids, horizon)

        monkeypatch.setattr(bulk_firing, "fire", beaten)
        monkeypatch.setattr(firing, "fire", noted)
        monkeypatch.setattr(firing, "due_among", asked)
        add_many(horae, 4)
        async with running_node(horae, timing=Timing(controller=SMALL)):
            await happened.until(
                lambda: sum(len(ids) for what, ids in happened if what == "beaten") >= 4
            )
            await until_stored(horae, lambda: fewest_runs(horae) >= 3)
        for index, (what, ids) in enumerate(happened):
            if what == "beaten" and ids:
                looked = [(what, these) for what, these in happened[index + 1 :] if these & ids]
                assert not looked or looked[0][0] == "asked"
        check_all(horae)

    async def test_a_plan_that_the_database_refuses_is_made_again(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refused = list[int]()

        def refuse(
            _connection: Connection, plans: Sequence[PlannedFire], _node: NodeId
        ) -> BulkFired:
            refused.append(len(plans))
            raise IntegrityError("INSERT", {}, Exception("twice"))

        monkeypatch.setattr(bulk_firing, "fire", refuse)
        add_many(horae, 5)
        async with running_node(horae, timing=Timing(controller=SMALL)) as node:
            await until_after(signals_of(node).decided, lambda: refused and fewest_runs(horae) >= 3)
        check_all(horae)

    async def test_the_highest_priority_goes_first(self, horae: Horae) -> None:
        timing = Timing(controller=replace(SMALL, burst=1000))
        add_many(horae, 12)
        for index in range(12):
            horae.schedules.alter(f"s{index}", every="1h", priority=index % 6)
        async with running_node(horae, timing=timing) as node:
            await until_after(signals_of(node).decided, lambda: fewest_runs(horae) >= 1)
        made = [row.priority for row in rows(horae, "SELECT priority FROM horae_jobs ORDER BY id")]
        assert [sorted(made[start : start + 4]) for start in (0, 4, 8)] == [
            [4, 4, 5, 5],
            [2, 2, 3, 3],
            [0, 0, 1, 1],
        ]


class Counted(asyncio.Event):
    """Counts who waits for it."""

    waits = 0

    @override
    async def wait(self) -> Literal[True]:
        self.waits += 1
        return await super().wait()


class Desk:
    """A settler without a database."""

    def __init__(self, patch: pytest.MonkeyPatch, timing: SettlerTiming) -> None:
        self.written = Record[int]()
        patch.setattr(settler, "settle_batch", lambda *_: Settled())
        self.burst_over = Counted()
        self.signals = Signals(burst_over=self.burst_over)
        self.signals.settled.connect(lambda batch, _: self.written.append(len(batch)))
        self.settler = Settler(cast("RunEnvironment", self), self.signals, timing, Random(1))
        self.database = self.journal = self
        self.settlements = ()

    def end(self, _claims: object) -> None:
        """Nothing was begun here."""

    async def in_service(self, call: Callable[[], Settled]) -> Settled:
        return call()

    def transact(self, *_: object) -> tuple[Settled, Callable[[], None]]:
        return Settled(), lambda: None

    def add(self, number: int = 1) -> None:
        for _ in range(number):
            self.settler.add(FinishedRun(cast("Claim", None), None))


class TestEndsWait:
    """While many schedules are due, the settler waits before it writes ends."""

    @pytest.fixture
    def desk(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Desk:
        return Desk(monkeypatch, getattr(request, "param", SettlerTiming()))

    async def served(self, desk: Desk, group: asyncio.TaskGroup) -> None:
        group.create_task(desk.settler.run())
        for _ in range(10):
            await asyncio.sleep(0)

    async def test_until_it_is(self, desk: Desk) -> None:
        desk.signals.burst_over.clear()
        desk.add()
        async with asyncio.TaskGroup() as group:
            await self.served(desk, group)
            assert desk.written == []
            desk.signals.burst_over.set()
            await desk.written.until(lambda: sum(desk.written) == 1)
            desk.settler.close()
        assert desk.written == [1]

    @pytest.mark.parametrize("desk", [SettlerTiming(burst_wait=0.02)], indirect=True)
    async def test_but_not_for_ever_and_once_only(self, desk: Desk) -> None:
        desk.signals.burst_over.clear()
        desk.add()
        async with asyncio.TaskGroup() as group:
            await self.served(desk, group)
            await desk.written.until(lambda: sum(desk.written) == 1)
            desk.add()
            await desk.written.until(lambda: sum(desk.written) == 2)
            desk.settler.close()
        assert (desk.written, desk.burst_over.waits) == ([1, 1], 1)

    @pytest.mark.parametrize("desk", [SettlerTiming(most_waiting=3)], indirect=True)
    async def test_not_if_too_many_do(self, desk: Desk) -> None:
        desk.signals.burst_over.clear()
        async with asyncio.TaskGroup() as group:
            desk.add(2)
            await self.served(desk, group)
            assert desk.written == []
            desk.add(2)
            await desk.written.until(lambda: sum(desk.written) == 4)
            desk.settler.close()
        assert sum(desk.written) == 4

    async def test_many_due_schedules_delay_ends_until_they_have_fired(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        free = list[bool]()
        fire = firing.fire

        def noted(connection: Connection, ids: Collection[int], node: NodeId) -> list[AppliedPlan]:
            free.append(calm.is_set())
            return fire(connection, ids, node)

        monkeypatch.setattr(firing, "fire", noted)
        horae.job(name="work")(lambda: None)
        for index in range(7):
            horae.schedules.add("work", name=f"s{index}", every="1h")
        signals = Signals()
        calm = signals.burst_over
        lone = Controller(
            horae.components.database, NodeId("here"), signals, ControllerTiming(batch=2), Random(1)
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(lone.run())
            await until(lambda: fewest_runs(horae) == 1 and calm.is_set())
            lone.stop()
        assert free.count(False) >= 3
