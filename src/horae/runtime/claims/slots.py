"""How many bodies may run at a time: one limit for all nodes of a process.

A body that waits for another job lends its slot, so that this job can run even if all slots have
bodies that wait. It takes a slot again before it goes on, ahead of jobs that have not begun.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from horae.errors import InvalidRequest, WaitRefused
from horae.runtime.signals import Signal
from horae.types import LendsSlots, Loan

T = TypeVar("T")

MOST_LENT: Final = 256
"""Number of bodies that may wait for other jobs at a time; each keeps its thread and its memory."""


class Slots:
    """A limited number of slots, shared by the workers of one event loop.

    Each running body takes one.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.free = limit
        """Number of further bodies that may begin; negative if stopped bodies took their slots
        back.
        """
        self.lent = 0
        """Number of bodies that wait for other jobs without a slot."""
        self._freed = Signal[[]]()
        self._workers = 0
        self._returning: deque[Loan] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None

    def take(self) -> None:
        """Take a slot for a body that begins."""
        self.free -= 1

    def release(self) -> None:
        """Free the slot of a body that has ended."""
        while self._returning and self.free >= 0:
            loan = self._returning.popleft()
            if not loan.returned.done():
                self._end(loan)
                return
        self.free += 1
        if self._workers > 1:  # a worker alone knows it anyway
            self._freed.send()

    def join(self, on_free: Callable[[], None]) -> None:
        """Add a worker; `on_free` is called when a shared slot becomes free, or one is lent."""
        self._freed.connect(on_free)
        self._workers += 1
        self._loop = asyncio.get_running_loop()

    def leave(self, on_free: Callable[[], None]) -> None:
        """Remove a worker."""
        self._freed.disconnect(on_free)
        self._workers -= 1

    def lend(self) -> Loan:
        """Free the slot of a body that waits for another job. Raises `WaitRefused`."""
        if self.lent >= MOST_LENT:
            raise WaitRefused(MOST_LENT)
        self.lent += 1
        self.release()
        if self._workers == 1:
            self._freed.send()
        return Loan()

    def take_back(self, loan: Loan, *, at_once: bool = False) -> None:
        """Give the body a slot as soon as one is free; `at_once` even if none is, because it was
        ordered to stop.
        """
        if loan.returned.done():
            return
        if at_once or self.free > 0:
            self.free -= 1
            self._end(loan)
        else:
            self._returning.append(loan)

    def call(self, function: Callable[[], T]) -> T:
        """Call a function on the event loop of the slots, from the thread of a body.

        Raises `InvalidRequest` in a coroutine on this loop: it would wait for itself for ever.
        """
        with suppress(RuntimeError):  # there is no loop in this thread
            if asyncio.get_running_loop() is self._loop:
                raise InvalidRequest(
                    "this wait would stop the event loop on which the node and its coroutines run;"
                    " in a coroutine write await horae.aio.jobs.wait(…), or wait_for_group"
                )

        async def call_here() -> T:
            return function()

        if self._loop is None or self._loop.is_closed():
            raise RuntimeError("the node of this body has ended")
        return asyncio.run_coroutine_threadsafe(call_here(), self._loop).result()

    def _end(self, loan: Loan) -> None:
        self.lent -= 1
        loan.returned.set_result(None)


if TYPE_CHECKING:
    _conforms: type[LendsSlots] = Slots
