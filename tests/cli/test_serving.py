"""Several nodes in one process: if one fails, the others end in order."""

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import cast

import pytest
from sqlalchemy.exc import OperationalError

from horae.cli.serving import serving
from horae.cli.serving.serving import Service
from horae.errors import ConfigurationError, ScheduleIsRunning, Unavailable
from horae.runtime.node.node import Node


class Pretended:
    """As much of a node as a service needs."""

    id = "pretended"
    grace = timedelta(0)

    def __init__(self, *, fails: Exception | None = None, stops: bool = False) -> None:
        self.ready = asyncio.Event()
        self.stopped = asyncio.Event()
        self.left = self.gave_up = False
        self._fails, self._stops = fails, stops

    def stop(self) -> None:
        self.stopped.set()

    def give_up_calls(self) -> None:
        """Note whether there are still bodies and services."""
        self.gave_up = self.left

    async def run(self) -> None:
        if self._fails is not None:
            raise self._fails
        self.ready.set()
        if not self._stops:
            await self.stopped.wait()
        self.left = True


@pytest.fixture(autouse=True)
def codes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The exit codes that a process would have ended with, had it not ended by itself."""
    codes: list[int] = []
    monkeypatch.setattr(serving, "listen", hear_nothing)

    def note(code: int, *bound_of_the_stop: object) -> None:
        if not bound_of_the_stop:
            codes.append(code)

    monkeypatch.setattr(serving, "end_for_certain", note)
    return codes


def hear_nothing(_on_signal: Callable[[int], None]) -> None:
    """Leave the signals of the test process alone."""


def serve(*nodes: Pretended) -> tuple[bool, list[str]]:
    announced: list[str] = []
    service = Service(cast("Sequence[Node]", nodes), (), lambda: announced.append("ready"))
    return service.run(), announced


def test_a_node_that_fails_ends_the_others(codes: list[int]) -> None:
    healthy = Pretended()
    assert serve(healthy, Pretended(fails=RuntimeError())) == (False, [])
    assert healthy.left
    assert codes == [1]


def test_an_error_of_the_database_is_logged_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    lost = OperationalError("SELECT 1", {}, Exception("the connection is lost"))
    serve(
        Pretended(fails=ExceptionGroup("", [ExceptionGroup("", [lost]), Unavailable("too busy")]))
    )
    serve(Pretended(fails=ExceptionGroup("", [lost, RuntimeError("a defect")])))
    unavailable, defect = [record for record in caplog.records if "a node failed" in record.message]
    assert unavailable.message.startswith("a node failed because of the database: ")
    assert unavailable.message.endswith(
        ": the connection is lost; run `horae doctor` to find the cause"
    )
    assert (unavailable.exc_info, defect.exc_info is not None) == (None, True)


@pytest.mark.parametrize(
    "error", [ConfigurationError("set broker_url"), ScheduleIsRunning("with a new policy", 8)]
)
def test_what_the_application_declares_wrongly_is_logged_in_one_line(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """As by a node with a Celery application that has no broker."""
    serve(Pretended(fails=error))
    [record] = [record for record in caplog.records if "a node failed" in record.message]
    assert (record.message, record.exc_info) == (f"a node failed: {error}", None)


def test_calls_that_hang_are_given_up_when_all_nodes_have_stopped() -> None:
    both = Pretended(stops=True), Pretended()
    assert serve(*both)[0]
    assert [node.gave_up for node in both] == [True, True]


def test_readiness_is_printed_once_when_all_are_ready(codes: list[int]) -> None:
    assert serve(Pretended(stops=True), Pretended()) == (True, ["ready"])
    assert codes == [0]


def test_a_node_runs_although_nobody_can_read_that_it_is_ready(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def announce() -> None:
        raise OSError("no space left on device")

    nodes = Pretended(stops=True), Pretended()
    assert Service(cast("Sequence[Node]", nodes), (), announce).run()
    assert "cannot be printed: no space left on device" in caplog.text


def test_a_process_ends_after_a_signal_although_a_body_blocks_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    hear: list[Callable[[int], None]] = []
    monkeypatch.setattr(serving, "listen", hear.append)
    bounds: list[tuple[object, ...]] = []
    monkeypatch.setattr(serving, "end_for_certain", lambda *bound: bounds.append(bound))

    class Blocked(Pretended):
        async def run(self) -> None:
            hear[0](signal.SIGTERM)  # as on the thread for signals: the loop does not go on
            assert bounds == [(0, serving.LAST_RESORT, serving.LATE)]
            await super().run()

    assert serve(Blocked())[0]
    assert len(bounds) == 2  # the other is that of an end in order


@pytest.mark.parametrize(("one_order", "exits"), [(3600.0, []), (0.0, [128 + signal.SIGTERM])])
def test_signals_to_the_process_and_to_its_group_are_one_order(
    monkeypatch: pytest.MonkeyPatch, one_order: float, exits: list[int]
) -> None:
    """As `timeout` sends them."""
    monkeypatch.setattr(serving, "ONE_ORDER", one_order)
    hear: list[Callable[[int], None]] = []
    monkeypatch.setattr(serving, "listen", hear.append)
    exited: list[int] = []
    monkeypatch.setattr(os, "_exit", exited.append)

    class Signalled(Pretended):
        async def run(self) -> None:
            for _ in range(2):
                hear[0](signal.SIGTERM)
            await super().run()

    assert serve(Signalled())[0]
    assert exited == exits
