"""Which clock decides what: the node's own when it polls, the database's what is due; time zones of servers do not matter."""

from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from random import Random
from typing import Any, Final

import pytest
from sqlalchemy import Engine, event

from horae import Horae
from horae.domain.jobs.job import NodeId
from horae.runtime import controller
from horae.runtime.controller import Controller
from horae.runtime.signals import Signals
from horae.runtime.timing import ControllerTiming
from horae.storage.engine.database import Database
from horae.storage.nodes import nodes
from horae.storage.schedules import firing
from tests.harness.applications import application
from tests.schedules.driver import HERE

ZONES: Final = ("UTC", "America/Los_Angeles", "Asia/Kathmandu")


class Hand:
    """The hand of a node's monotonic clock."""

    def __init__(self) -> None:
        self.at = 1000.0

    def monotonic(self) -> float:
        return self.at


class TestWhenANodeLooks:
    """By its own clock, which a test moves: the controller takes one turn at a time."""

    @pytest.fixture
    def hand(self, monkeypatch: pytest.MonkeyPatch) -> Hand:
        hand = Hand()
        monkeypatch.setattr(controller, "time", hand)
        return hand

    @pytest.fixture
    def looks(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """What was read, in order."""
        looks: list[str] = []
        for module, name in ((nodes, "schedulers"), (firing, "due"), (firing, "due_among")):
            monkeypatch.setattr(module, name, noted(looks, name, getattr(module, name)))
        return looks

    @pytest.fixture
    def lone(self, horae: Horae) -> Controller:
        return Controller(
            horae.components.database, NodeId("here"), Signals(), ControllerTiming(), Random(1)
        )

    async def test_the_ring_is_read_every_five_seconds_and_everything_once_a_minute(
        self, lone: Controller, hand: Hand, looks: list[str]
    ) -> None:
        for _ in range(600):  # a minute, by tenths of a second
            await look(lone)
            hand.at += 0.1
        assert looks.count("schedulers") == 12
        assert 1 <= looks.count("due") <= 2
        for _ in range(6000):
            await look(lone)
            hand.at += 0.1
        assert 11 <= looks.count("due") <= 13  # every 54 to 60 s: all do not look at once
        timing = ControllerTiming()
        assert timing.horizon > timing.reload + timing.ring_every

    async def test_everything_is_read_when_the_ring_changes(
        self, lone: Controller, hand: Hand, looks: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await look(lone)
        members = [NodeId("here"), NodeId("there")]
        monkeypatch.setattr(nodes, "schedulers", lambda _: members)
        hand.at += 4.9
        await look(lone)
        assert looks.count("due") == 1
        hand.at += 0.1
        await look(lone)
        assert looks.count("due") == 2
        hand.at += 5
        await look(lone)
        assert looks.count("due") == 2  # the same ring

    async def test_changes_are_read_at_once(self, lone: Controller, looks: list[str]) -> None:
        await look(lone)
        lone.reread([7])
        await look(lone)
        await look(lone)
        assert looks == ["schedulers", "due", "due_among"]
        lone.reread()
        await look(lone)
        assert looks[3:] == ["due"]


def noted(looks: list[str], name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def look(*arguments: Any) -> Any:
        looks.append(name)
        return call(*arguments)

    return look


async def look(lone: Controller) -> None:
    """One turn of a controller, but for its sleep."""
    await lone._read()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]  # a turn has no name of its own


@pytest.fixture(params=ZONES)
def abroad(request: pytest.FixtureRequest, database: Database) -> Iterator[Horae]:
    """An application whose sessions are in a zone of their own."""

    def move(connection: Any, _record: object) -> None:
        if database.dialect == "postgresql":
            connection.execute(f"SET TIME ZONE '{request.param}'")
            connection.commit()

    with closing(Database(database.url)) as moved, application(moved) as horae:

        @horae.job
        def work() -> None: ...

        event.listen(Engine, "connect", move)
        yield horae
        event.remove(Engine, "connect", move)


def test_the_zone_of_the_session_moves_nothing(abroad: Horae) -> None:
    view = abroad.schedules.add("work", every="1h")
    database = abroad.components.database
    (decided,) = database.transact(firing.fire, [view.id], HERE)
    row = decided.schedule
    assert decided.fired is not None
    assert row.started_at is not None
    assert abs(row.started_at - row.now) < timedelta(seconds=1)
    assert row.next_start is not None
    assert timedelta(minutes=59) < row.next_start - row.now <= timedelta(hours=1)
    assert database.transact(firing.fire, [view.id], HERE)[0].fired is None
    stored = abroad.schedules.get("work")
    assert (stored.started_at, stored.next_start) == (row.started_at, row.next_start)
    (tick,) = abroad.schedules.ticks("work")
    assert abs(tick.nominal_time - row.started_at) < timedelta(seconds=5)
