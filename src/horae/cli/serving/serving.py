"""Runs nodes and servers: a first signal shuts down in order, a second exits at once."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from horae.errors import ConfigurationError, ScheduleIsRunning
from horae.guarded_log import guarded_log
from horae.resource_shortage import try_start
from horae.runtime.node import Node, own_loop
from horae.storage.engine import (
    DATABASE_ERRORS,
    first_line,
    first_of,
    is_only_transient,
)
from horae.storage.operations import database_error_of

if TYPE_CHECKING:
    from horae.api.serving import HttpServer  # needs the extra `web`

LAST_RESORT: Final = 4.8
"""Seconds that the process may take to exit after the grace period, and after its nodes stopped."""
ONE_ORDER: Final = 0.25
"""Seconds within which further signals are part of the first order.

A terminal signals the whole process group, and so do `timeout` and some process managers, after
they have signalled the process itself.
"""
SETTLED: Final = (
    b"all jobs are settled, but a thread or task of theirs does not end: exiting without waiting"
    b" for it\n"
)
LATE: Final = (
    b"the grace period is over, but a thread or task does not end: exiting without waiting for it\n"
)
UNBEGUN: Final = (
    b"stopped before a node has begun, but a thread does not end: exiting without waiting for it\n"
)
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that end a node in order; a terminal sends the last one when it is closed."""

log = guarded_log("horae.cli")


class Service:
    """Nodes and servers in one event loop.

    The servers answer requests until the last node has stopped.
    """

    def __init__(
        self, nodes: Sequence[Node], servers: "Sequence[HttpServer]", announce: Callable[[], None]
    ) -> None:
        """`announce` is called when all nodes claim jobs and all servers answer."""
        self._nodes, self._servers = nodes, servers
        self._announce = announce
        self._ordered_to_stop = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ordered_at: float | None = None
        self.failed = False

    def run(self) -> bool:
        """Run until a signal, in the main thread; return whether no node and no server failed."""
        listen(self._on_signal)
        own_loop.run(self._run())
        return not self.failed

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        if self._ordered_at is not None:  # the signal arrived before the loop existed
            return
        closing = asyncio.Event()
        answering = [asyncio.Event() for _ in self._servers]
        async with asyncio.TaskGroup() as group:
            for server, ready in zip(self._servers, answering, strict=True):
                group.create_task(self._run_guarded(server.url, server.run(closing, ready.set)))
            announcing = group.create_task(self._announce_when_ready(answering))
            async with asyncio.TaskGroup() as living:
                living.create_task(self._ordered_to_stop.wait())
                for node in self._nodes:
                    living.create_task(self._run_guarded("a node", node.run()))
            announcing.cancel()
            closing.set()
        self._loop = None
        for node in self._nodes:
            node.give_up_calls()
        # Begins before the loop waits for tasks that ignore being cancelled.
        end_for_certain(int(self.failed))

    async def _run_guarded(self, name: str, life: Coroutine[Any, Any, None]) -> None:
        try:
            await life
        except (ConfigurationError, ScheduleIsRunning) as error:  # a deployed schedule may run
            self.failed = True
            log.error("%s failed: %s", name, error)
        except Exception as error:  # the process ends in order, whatever has failed
            self.failed = True
            if is_only_transient(error):
                first = first_of(error)
                if isinstance(first, DATABASE_ERRORS):
                    why = database_error_of(first)
                else:
                    why = first_line(first)
                log.error(
                    "%s failed because of the database: %s; run `horae doctor` to find the cause",
                    name,
                    why,
                )
            else:
                log.exception("%s failed", name)
        # The others stop too, because a process with half of its parts would pass for healthy.
        self._stop()

    async def _announce_when_ready(self, answering: Sequence[asyncio.Event]) -> None:
        for ready in (*(node.ready for node in self._nodes), *answering):
            await ready.wait()
        # The disk may be full, or the reader of stdout may be gone.
        with log.guard("the line that announces the node cannot be printed: %s"):
            self._announce()

    def _stop(self, number: int | None = None) -> None:
        if number is not None:
            log.info("%s: shutting down; running jobs may finish", signal.Signals(number).name)
        elif not self._ordered_to_stop.is_set():
            self._end_after_grace()
        self._ordered_to_stop.set()
        for node in self._nodes:
            node.stop()

    def _end_after_grace(self) -> None:
        grace = max((node.grace.total_seconds() for node in self._nodes), default=0.0)
        end_for_certain(int(self.failed), grace + LAST_RESORT, LATE)

    def _on_signal(self, number: int) -> None:
        if self._ordered_at is not None:
            if time.monotonic() - self._ordered_at < ONE_ORDER:
                return
            os.write(
                2,
                b"second signal: exiting at once; other nodes will rescue the jobs that ran here\n",
            )
            os._exit(128 + number)
        self._ordered_at = time.monotonic()
        if self._loop is not None:
            # Not on the loop, because a body may block it.
            self._end_after_grace()
            with suppress(RuntimeError):  # raised if the loop has just ended
                self._loop.call_soon_threadsafe(self._stop, number)


@contextmanager
def ending_in_order() -> Generator[None]:
    """Let SIGTERM end the program with 0 until `listen` is called; loading may take long."""
    usual = signal.getsignal(signal.SIGTERM)
    if usual is not signal.SIG_DFL or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGTERM, _end_unbegun)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is _end_unbegun:
            signal.signal(signal.SIGTERM, usual)


def _end_unbegun(number: int, _frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second signal ends it at once
    log.info("%s: no node has begun; shutting down", signal.Signals(number).name)
    end_for_certain(0, text=UNBEGUN)
    raise SystemExit(0)


def listen(on_signal: Callable[[int], None]) -> None:
    """Call `on_signal` for each signal on its own thread, which no blocking body can delay."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    # The signal is written at once, whatever the main thread does.
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number in SIGNALS:
        # `nohup` lets a program ignore that its terminal is closed.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)  # its number is in the pipe already

    def read() -> None:
        while True:
            for number in os.read(read_end, 1):
                if number in SIGNALS:
                    on_signal(number)

    threading.Thread(target=read, name="horae-signals", daemon=True).start()
    os.register_at_fork(after_in_child=_restore_signals)


def _restore_signals() -> None:
    """Detach a fork from the node's pipe, because the fork's signals are not for the node."""
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def end_for_certain(code: int, seconds: float = LAST_RESORT, text: bytes = SETTLED) -> None:
    """Exit after `seconds` even if a body, hook or connection hangs, if a thread can start."""

    def end() -> None:
        time.sleep(seconds)
        os.write(2, text)
        os._exit(code)

    try_start(threading.Thread(target=end, name="horae-last-resort", daemon=True))
