"""Nodes share the schedules of one database: each has two owners, and always one that lives."""

from collections import Counter
from contextlib import AsyncExitStack

import pytest

from horae import Horae
from horae.domain.cluster.ring import PARTITIONS, Ring
from horae.domain.jobs.job import NodeId
from horae.runtime.controller import Controller
from horae.runtime.timing import ControllerTiming, Timing
from horae.storage.engine.database import Database
from horae.storage.nodes import nodes
from tests.harness.applications import application, execute
from tests.harness.nodes import running_node, until
from tests.harness.waiting import Record
from tests.schedules.driver import check_ledger, fires
from tests.schedules.test_controller import add_type

QUICK = Timing(controller=ControllerTiming(ring_every=0.1))
"""A ring that is looked at often."""


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> dict[NodeId, frozenset[int]]:
    """Which partitions each node believes to own."""
    found: dict[NodeId, frozenset[int]] = {}
    look = Controller._read_ring  # noqa: SLF001 - what it finds is what the test is about

    async def note(self: Controller) -> None:
        await look(self)
        found[self._node] = self._partitions

    monkeypatch.setattr(Controller, "_read_ring", note)
    return found


async def test_every_partition_has_two_owners_and_another_when_one_leaves(
    database: Database, seen: dict[NodeId, frozenset[int]]
) -> None:
    async with AsyncExitStack() as stack:
        applications = [stack.enter_context(application(database)) for _ in range(3)]
        entered = [
            await stack.enter_async_context(running_node(horae, timing=QUICK))
            for horae in applications[:2]
        ]
        leaving = await stack.enter_async_context(AsyncExitStack())
        entered.append(
            await leaving.enter_async_context(running_node(applications[2], timing=QUICK))
        )
        living = [node.id for node in entered if node.id is not None]
        await until(
            lambda: (
                [seen.get(node) for node in living]
                == [Ring(living).partitions_of(node) for node in living]
            )
        )
        assert owners(seen, living) == {2: PARTITIONS}
        await leaving.aclose()
        await until(lambda: owners(seen, living[:2]) == {2: PARTITIONS})


def owners(seen: dict[NodeId, frozenset[int]], living: list[NodeId]) -> dict[int, int]:
    """How many partitions have so many owners."""
    each = Counter(partition for node in living for partition in seen.get(node, ()))
    return dict(Counter(each.values()))


async def test_a_node_that_only_works_is_no_owner(horae: Horae, database: Database) -> None:
    with application(database) as other:
        async with (
            running_node(horae, timing=QUICK) as first,
            running_node(other, scheduler=False, timing=QUICK),
        ):
            assert horae.components.database.autocommit(nodes.schedulers) == [first.id]


async def test_partitions_of_a_dead_node_belong_to_the_second_owner(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that has fallen silent stays on the ring for a while: nothing waits for its being struck off."""
    ran = add_type(horae)
    monkeypatch.setattr(nodes, "schedulers", lambda _: sorted([NodeId("asleep"), *living]))
    living: list[NodeId] = []
    for number in range(8):
        horae.schedules.add("work", name=f"s{number}", every="1h")
    async with running_node(horae, timing=QUICK) as node:
        assert node.id is not None
        living.append(node.id)
        await ran.reaches(8)


async def test_a_node_missing_from_its_own_list_owns_everything(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = add_type(horae)
    monkeypatch.setattr(
        nodes, "schedulers", lambda _: [NodeId("one"), NodeId("two"), NodeId("three")]
    )
    for number in range(8):
        horae.schedules.add("work", name=f"s{number}", every="1h")
    async with running_node(horae, timing=QUICK):
        await ran.reaches(8)


async def test_schedules_continue_when_their_node_leaves(horae: Horae, database: Database) -> None:
    ran = add_type(horae)
    with application(database) as other:
        also_ran = add_type(other)
        for number in range(6):
            horae.schedules.add("work", name=f"s{number}", cron="* * * * * *")
        async with running_node(other, timing=QUICK):
            async with running_node(horae, timing=QUICK):
                await ran.reaches(1)
                await also_ran.reaches(1)
            number = len(also_ran)
            await also_ran.reaches(number + 12)
    assert len(set(ran + also_ran)) == len(ran + also_ran)
    for item in horae.schedules.list():
        entries = horae.schedules.ticks(item.id, limit=1000)[::-1]
        check_ledger(entries, fires("* * * * * *", item.created_at, entries[-1].until))


async def test_an_idle_node_reads_nothing_of_schedules_that_are_far_away(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what is due within the horizon is kept in mind."""
    heaps = Record[int]()
    reload = Controller._reload  # noqa: SLF001 - its effect on memory is what the test is about

    async def note(self: Controller) -> None:
        await reload(self)
        heaps.append(len(self._heap))

    add_type(horae)
    for number in range(30):
        horae.schedules.add("work", name=f"s{number}", cron="0 0 1 1 *")
    execute(horae, "UPDATE horae_schedules SET enabled = enabled")
    monkeypatch.setattr(Controller, "_reload", note)
    async with running_node(horae, timing=QUICK):
        await heaps.reaches(1)
    assert set(heaps) == {0}
