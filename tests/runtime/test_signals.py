"""Services know each other only in the order in which they are made; what goes the other way is a named signal."""

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from types import MethodType
from typing import Any

import pytest

from horae import Horae, JobContext
from horae.runtime.signals import Signal, Signals
from tests.harness.nodes import running_node, signals_of
from tests.harness.waiting import until_after


class TestSignal:
    def test_receivers_are_called_in_order(self) -> None:
        signal, received = Signal[[int]](), list[str]()
        signal.connect(lambda number: received.append(f"first {number}"))
        signal.connect(lambda number: received.append(f"second {number}"))
        signal.send(1)
        signal.send(2)
        assert received == ["first 1", "second 1", "first 2", "second 2"]

    async def test_all_that_wait_are_woken_and_one_that_was_cancelled_is_no_matter(self) -> None:
        signal = Signal[[]]()
        waits = [signal.wait() for _ in range(3)]
        waits[0].cancel()
        signal.send()
        assert [(wait.done(), wait.cancelled()) for wait in waits] == [
            (True, True),
            (True, False),
            (True, False),
        ]

    async def test_earlier_signals_are_not_received(self) -> None:
        signal = Signal[[]]()
        signal.send()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await signal.wait()

    def test_an_error_of_a_receiver_reaches_the_sender(self) -> None:
        signal = Signal[[str]]()
        signal.connect(int)
        with pytest.raises(ValueError, match="many"):
            signal.send("many")


def neighbours(item: object) -> Iterator[object]:
    """What an object refers to, through bound methods and partial functions, but not through signals."""
    if isinstance(item, MethodType):
        yield item.__self__
    elif isinstance(item, partial):
        yield from (item.func, *item.args, *item.keywords.values())
    elif isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, list | tuple | set | frozenset):
        yield from item
    elif callable(item) and (cells := getattr(item, "__closure__", None)):
        yield from (cell.cell_contents for cell in cells)
    elif type(item).__module__.startswith("horae.runtime") and not isinstance(
        item, Signals | Signal
    ):
        kinds: tuple[type, ...] = inspect.getmro(item.__class__)
        yield from (
            getattr(item, name, None) for kind in kinds for name in getattr(kind, "__slots__", ())
        )
        yield from getattr(item, "__dict__", {}).values()


def reachable(start: object) -> set[int]:
    """The ids of all that an object refers to, directly or not."""
    found, waiting = set[int](), list(neighbours(start))
    while waiting:
        item = waiting.pop()
        if id(item) not in found:
            found.add(id(item))
            waiting.extend(neighbours(item))
    return found


def services_of(incarnation: Any) -> dict[str, object]:
    kept = vars(incarnation).values()
    return {
        type(item).__name__: item
        for item in kept
        if type(item).__module__.startswith("horae.runtime")
    }


async def test_no_service_of_a_node_can_reach_itself(horae: Horae) -> None:
    async with running_node(horae) as node:
        services = services_of(vars(node)["_incarnation"])
        assert {
            "Workers",
            "Settler",
            "Completion",
            "Controller",
            "Sweeper",
            "RunMonitor",
            "HookService",
        } <= set(services)
        assert [
            name for name, service in services.items() if id(service) in reachable(service)
        ] == []


async def test_a_test_waits_for_a_signal_by_its_name(horae: Horae) -> None:
    @horae.job
    async def work() -> None: ...

    async with running_node(horae) as node:
        job = await horae.aio.jobs.start(work)
        done = await until_after(
            signals_of(node).settled, lambda: horae.jobs.get(job.id).state == "finished"
        )
    assert done


def public_values(item: object) -> Iterator[object]:
    """What an object of Horae shows by names without an underscore; other objects show nothing."""
    if type(item).__module__.startswith("horae."):
        for name in dir(item):
            if not name.startswith("_"):
                with suppress(Exception):  # such as the connection of a body without a transaction
                    yield getattr(item, name)
    elif isinstance(item, MethodType):
        yield item.__self__


async def test_a_body_reaches_nothing_of_its_node_by_public_names(horae: Horae) -> None:
    found = list[str]()

    @horae.job
    async def look_around(job: JobContext) -> None:
        seen, waiting = dict[int, object](), list[object]([job])
        while waiting:
            item = waiting.pop()
            if id(item) not in seen:
                seen[id(item)] = item
                waiting.extend(public_values(item))
        found.extend(type(item).__module__ for item in seen.values())

    async with running_node(horae) as node:
        job = await horae.aio.jobs.start(look_around)
        await until_after(
            signals_of(node).settled, lambda: horae.jobs.get(job.id).state == "finished"
        )
    assert "horae.types.context" in found
    assert "horae.domain.jobs.progress" in found
    assert [module for module in found if module.startswith("horae.runtime")] == []
