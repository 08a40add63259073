"""Coroutines that start jobs at the same time: they share a thread, an INSERT and a commit.

A coroutine that is alone has a thread at once. Those that come while threads insert wait in a line,
which the next free thread takes as a whole. Parameters are validated on the thread, in the context
of the coroutine. Only jobs that one plain INSERT creates are shared.
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from horae.client.changes import is_requested
from horae.client.jobs.creating import NewJob, SharedInserts, job_of, max_count_of, new_job
from horae.domain.jobs import Job
from horae.forking import BuiltAnewInChild
from horae.storage.engine import Database, Use, is_of_data, set_error, set_result
from horae.types import JobType, JobTypeReference, Registry, has_hook
from horae.types.options import OPTIONS, StartOptions
from horae.types.parameters import ModelParameters

_STORED_AS_GIVEN: Final = frozenset(
    {"owner", "queue", "priority", "delay", "run_at", "max_attempts", "backoff", "meta"}
)
"""Options with which a job is still created by one plain INSERT."""
_OTHER_OPTIONS: Final = OPTIONS.keys() - _STORED_AS_GIVEN


def may_share(job_type: JobType[Any], options: StartOptions) -> bool:
    """Return whether it seems that one plain INSERT creates the job, after validators alone.

    What else an application does at a start must not hold up others; `NewJob` decides about the
    INSERT.
    """
    return not (
        job_type.prepares
        or job_type.parameters.files is not None
        or job_type.named_limits
        or job_type.tags
        or job_type.address is not None
        or job_type.uniqueness is not None
        or job_type.time_limits.expires is not None
        or not isinstance(job_type.parameters, ModelParameters)
        or has_hook(job_type, "after_creation")
        or max_count_of(job_type, options.owner) is not None
        or any(getattr(options, name) is not None for name in _OTHER_OPTIONS)
        or is_requested()
    )


class _Start(NamedTuple):
    """A call that waits for its job; `future` is that of its coroutine."""

    job_type: JobType[Any]
    options: StartOptions
    values: Mapping[str, Any]
    context: Context
    future: "asyncio.Future[Job | NewJob]"


Decided: TypeAlias = list[tuple[_Start, Job | NewJob | BaseException]]


class _Line:
    """The starts of one event loop that wait for a thread, and how many threads insert."""

    def __init__(self) -> None:
        self.waiting = deque[_Start]()
        self.under_way = 0


class SharedStarts(BuiltAnewInChild):
    """Starts plain jobs for coroutines, those of several by one insert."""

    def __init__(
        self,
        registry: Registry,
        database: Database,
        inserts: SharedInserts,
    ) -> None:
        self._registry, self._database = registry, database
        self._inserts = inserts
        self._lines = WeakKeyDictionary[asyncio.AbstractEventLoop, _Line]()

    async def start(
        self, job_type: JobTypeReference, options: StartOptions, values: Mapping[str, Any]
    ) -> Job | NewJob | None:
        """Create a job; None if that takes more than an insert, or calls the application.

        A job that needs more than an INSERT after all, or that the database has refused together
        with others, is returned as it was checked, and has to be inserted alone. Raises what
        checking or inserting it raises, and `DatabaseBusy` if too many starts wait and none ends.
        """
        kind = self._registry.resolve(job_type)
        threads = self._database.caller_threads
        if not (may_share(kind, options) and threads.are_free()):
            return None
        loop = asyncio.get_running_loop()
        line = self._lines.setdefault(loop, _Line())
        threads.check(Use.CHANGE, len(line.waiting))
        start = _Start(kind, options, values, copy_context(), loop.create_future())
        line.waiting.append(start)
        if line.under_way < self._inserts.most_at_once:
            line.under_way += 1
            self._begin(loop, line)
        try:
            return await start.future
        except asyncio.CancelledError:
            with suppress(ValueError):  # a thread may have taken it
                line.waiting.remove(start)
            raise

    def _begin(self, loop: asyncio.AbstractEventLoop, line: _Line) -> None:
        """Let a thread insert all jobs that wait, or count one thread less."""
        count = min(len(line.waiting), 400)
        starts = [line.waiting.popleft() for _ in range(count)]
        if not starts:
            line.under_way -= 1
            return
        try:
            insert = partial(self._insert, loop, line, starts)
            self._database.caller_threads.submit(insert, Use.CHANGE)
        except BaseException as error:  # noqa: BLE001 - raised to each of the callers
            self._decide(loop, line, [(start, error) for start in starts])

    def _insert(
        self, loop: asyncio.AbstractEventLoop, line: _Line, starts: Sequence[_Start]
    ) -> None:
        decided: Decided = []
        try:
            self._create(starts, decided)
        except BaseException as error:  # noqa: BLE001 - raised to each of the callers
            done = {id(start) for start, _ in decided}
            decided += [(start, error) for start in starts if id(start) not in done]
        with suppress(RuntimeError):  # the loop has been closed, so nothing waits for the jobs
            loop.call_soon_threadsafe(self._decide, loop, line, decided)

    def _create(self, starts: Sequence[_Start], decided: Decided) -> None:
        """Create the jobs that share an insert, and add each start and what it led to."""
        shared: list[tuple[_Start, NewJob]] = []
        for start in starts:
            if start.future.cancelled():
                continue
            try:
                new = start.context.run(new_job, start.job_type, start.options, start.values)
            except Exception as error:  # noqa: BLE001 - raised to the caller
                decided.append((start, error))
                continue
            if new.is_plain and new.is_free:
                shared.append((start, new))
            else:
                decided.append((start, new))
        if not shared:
            return
        try:
            inserted = self._inserts.insert([new.row for _, new in shared])
        except Exception as error:
            if len(shared) == 1 or not is_of_data(error):
                raise
            # The database has refused a value of one of them.
            decided += shared
            return
        for (start, new), values in zip(shared, inserted, strict=True):
            decided.append((start, job_of(new.row, values)))

    def _decide(self, loop: asyncio.AbstractEventLoop, line: _Line, decided: Decided) -> None:
        for start, found in decided:
            if isinstance(found, BaseException):
                set_error(start.future, found)
            else:
                set_result(start.future, found)
        self._begin(loop, line)
