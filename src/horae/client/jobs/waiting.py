"""Waits for the end of a job or a group: a hint wakes the wait, which also polls in case none
comes.
"""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from concurrent.futures import wait as wait_for_futures
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlalchemy import Connection

from horae.client.jobs.body_waits import BodyWaits, record_wait
from horae.domain.jobs import ENDED, GroupId, JobId, WaitTarget
from horae.errors import GroupDoesNotExist, InvalidRequest, JobDoesNotExist, WaitTimeout
from horae.guarded_log import guarded_log
from horae.storage.jobs import reading
from horae.storage.jobs.groups import groups
from horae.storage.operations import why_group_unserved, why_unserved
from horae.types import Attempt, LendsSlots, Loan
from horae.types.logs import current_attempt
from horae.wakeup import Hint, HintKind, WakeupChannel

log = guarded_log("horae.jobs")
GONE: Final = "was deleted before its result could be read; see the option keep of its type"
"""Completes the error of a caller that waits for a job and finds it deleted."""
LONGEST_POLL: Final = 1.0
"""Maximum number of seconds between two polls of the row."""
HINDERED_AFTER: Final = 5.0
"""Seconds of a wait between two checks whether the awaited job can start at all."""
UNCOMMITTED: Final = (
    "it is called in a transaction, and jobs that this transaction has started cannot begin before"
    " it is committed: wait after the commit, or start them with sync=True"
)
CHECK_EVERY: Final = 0.1
"""Seconds between checks whether the waiting body was told to stop."""


@dataclass(frozen=True, slots=True)
class Awaited:
    """The target of a wait: a job, or a group with the job after it."""

    target: WaitTarget
    has_ended: Callable[[Connection], bool]
    concerns: Callable[[Hint], bool]
    timed_out: Callable[[float], WaitTimeout]
    hindrance: Callable[[Connection], str | None] = lambda _: None  # why it cannot start


class _Poll:
    """Polls the rows, and logs what keeps the awaited job from starting, if the wait takes long."""

    def __init__(self, awaited: Awaited, waits: BodyWaits) -> None:
        self._awaited, self._waits = awaited, waits
        self._look_at, self._logged = time.monotonic() + HINDERED_AFTER, ""

    def __call__(self) -> bool:
        """Return whether the wait is over."""
        if self._waits.database.autocommit(self._awaited.has_ended):
            return True
        if time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + HINDERED_AFTER
            why = self._waits.database.autocommit(self._awaited.hindrance)
            if self._waits.database.joined() is not None:
                why = UNCOMMITTED
            if why is None:
                why = self._waits.why_taken_up(self._awaited.target)
            if why is not None and why != self._logged:
                self._logged = why
                log.warning("the wait may not end: %s", why)
        return False


def of_job(job_id: JobId) -> Awaited:
    """Return the end of a job as a target. The wait raises `JobDoesNotExist` if the job is deleted.

    Raises `InvalidRequest` in the body of this job, which would wait for ever.
    """
    waiting = current_attempt()
    if waiting is not None and waiting.claim.id == job_id:
        raise InvalidRequest(f"job {job_id} waits for its own end, which it would never reach")

    def has_ended(connection: Connection) -> bool:
        states = reading.states(connection, [job_id])
        if job_id not in states:
            raise JobDoesNotExist(job_id, GONE)
        return states[job_id] in ENDED

    def concerns(hint: Hint) -> bool:
        return hint.kind is HintKind.ENDED and (not hint.job_ids or job_id in hint.job_ids)

    return Awaited(
        WaitTarget.job(job_id),
        has_ended,
        concerns,
        timed_out=partial(WaitTimeout, job_id),
        hindrance=partial(why_unserved, job_id=job_id),
    )


def of_group(group_id: GroupId) -> Awaited:
    """Return the end of all members and of the job after them as a target."""

    def has_ended(connection: Connection) -> bool:
        ended = groups.have_all_ended(connection, group_id)
        if ended is None:
            raise GroupDoesNotExist(group_id)
        return ended

    return Awaited(
        WaitTarget.group(group_id),
        has_ended,
        concerns=lambda hint: hint.kind is HintKind.ENDED,
        timed_out=partial(WaitTimeout, group_id, what="group"),
        hindrance=partial(why_group_unserved, group_id=group_id),
    )


def until_ended(
    waits: BodyWaits, wakeup: WakeupChannel, awaited: Awaited, timeout: float | None
) -> None:
    """Wait in this thread. Raises `WaitTimeout`, or the error for a deleted target.

    Within the body of another job it also raises what stops that body: its cancel or its time
    limit.
    """
    attempt = current_attempt()
    hinted, poll = threading.Event(), _Poll(awaited, waits)
    end = wakeup.subscribe(lambda hint: hinted.set() if awaited.concerns(hint) else None)
    try:
        if poll():
            return
        with record_wait(waits, attempt, awaited.target), _lend_slot(attempt):
            for pause in _pauses(awaited, timeout):
                _wait(hinted, pause, attempt)
                hinted.clear()
                if poll():
                    return
    finally:
        end()


@asynccontextmanager
async def _record_wait_async(
    waits: BodyWaits, attempt: Attempt | None, target: WaitTarget
) -> AsyncGenerator[None]:
    """Record the wait of a coroutine body on a database thread."""
    if attempt is None:
        yield
        return
    in_thread = waits.database.in_thread
    wait = await in_thread(partial(waits.begin, attempt, target))
    try:
        yield
    finally:
        await asyncio.shield(in_thread(partial(waits.end, wait)))


@contextmanager
def _lend_slot(attempt: Attempt | None) -> Generator[None]:
    """Lend the slot of the body that waits, and wait for a slot at the end unless the body was
    ordered to stop.
    """
    slots = None if attempt is None else attempt.slots
    if attempt is None or slots is None:
        yield
        return
    loan = attempt.loan = slots.call(slots.lend)
    try:
        try:
            yield
        except Exception:  # after a `WaitTimeout`, for one, the body may go on
            _return_slot(slots, loan, attempt)
            raise
        _return_slot(slots, loan, attempt)
    finally:  # a slot that was not returned yet is taken back at once
        if not loan.returned.done():
            slots.call(partial(slots.take_back, loan, at_once=True))


def _return_slot(slots: LendsSlots, loan: Loan, attempt: Attempt) -> None:
    slots.call(partial(slots.take_back, loan))
    while not wait_for_futures([loan.returned], CHECK_EVERY).done:
        attempt.check()


@asynccontextmanager
async def _lend_slot_async(attempt: Attempt | None) -> AsyncGenerator[None]:
    """Lend the slot of a coroutine body, which runs on the event loop of the slots."""
    slots = None if attempt is None else attempt.slots
    if attempt is None or slots is None:
        yield
        return
    loan = attempt.loan = slots.lend()
    try:
        try:
            yield
        except Exception:  # after a `WaitTimeout`, for one, the body may go on
            await _return_slot_async(slots, loan)
            raise
        await _return_slot_async(slots, loan)
    finally:  # a slot that was not returned yet is taken back at once
        slots.take_back(loan, at_once=True)


async def _return_slot_async(slots: LendsSlots, loan: Loan) -> None:
    slots.take_back(loan)
    await asyncio.shield(asyncio.wrap_future(loan.returned))


def _wait(hinted: threading.Event, seconds: float, attempt: Attempt | None) -> None:
    """Wait for the hint; within a body check regularly whether that body is to stop."""
    if attempt is None:
        hinted.wait(seconds)
        return
    deadline = time.monotonic() + seconds
    attempt.check()
    while (
        not hinted.wait(max(0.0, min(CHECK_EVERY, deadline - time.monotonic())))
        and time.monotonic() < deadline
    ):
        attempt.check()
    attempt.check()


async def until_ended_async(
    waits: BodyWaits,
    wakeup: WakeupChannel,
    awaited: Awaited,
    timeout: float | None,
) -> None:
    """Wait in this task."""
    hinted, loop = asyncio.Event(), asyncio.get_running_loop()

    def listen(hint: Hint) -> None:
        if awaited.concerns(hint):
            loop.call_soon_threadsafe(hinted.set)

    end = wakeup.subscribe(listen)
    try:
        poll, in_thread = _Poll(awaited, waits), waits.database.in_thread
        if await in_thread(poll):
            return
        attempt = current_attempt()
        async with _record_wait_async(waits, attempt, awaited.target), _lend_slot_async(attempt):
            for pause in _pauses(awaited, timeout):
                with suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await hinted.wait()
                hinted.clear()
                if await in_thread(poll):
                    return
    finally:
        end()


def _pauses(awaited: Awaited, timeout: float | None) -> Iterator[float]:
    """Yield the seconds to wait after each poll.

    Raises `WaitTimeout` after the last poll before the deadline.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    pause = 0.05
    while True:
        left = LONGEST_POLL if deadline is None else deadline - time.monotonic()
        yield max(0.0, min(pause, left))
        if deadline is not None and time.monotonic() >= deadline and left <= 0:
            raise awaited.timed_out(timeout or 0.0)
        pause = min(pause * 2, LONGEST_POLL)
