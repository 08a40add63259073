"""Runs a body inside the context managers of `@horae.around`.

They surround the body and its transaction: the last one is entered before the transaction begins,
and the first is left after the transaction was committed or rolled back. So the outcome is settled
when they are left, and nothing that they raise then can change it. A body counts as begun as soon
as the first one is entered, because that runs code of the application.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from concurrent import futures
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from horae.domain.jobs import AttemptOutcome, JobState
from horae.guarded_log import guarded_log
from horae.redaction import traceback_text
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.bodies.forked_body import Forks, end_child
from horae.runtime.bodies.running_loop import in_event_loop
from horae.types import Attempt, BodyEnd, Hook, JobContext

T = TypeVar("T")

log = guarded_log("horae.runtime")


class Surroundings:
    """The context managers around one body."""

    def __init__(
        self, hooks: Sequence[Hook[Any]], attempt: Attempt, context: JobContext[Any]
    ) -> None:
        self._hooks, self._attempt, self._context = tuple(hooks), attempt, context
        self._entered: list[tuple[Hook[Any], Any]] = []
        self._resources = ExitStack()
        self._calls = _AsyncCalls(self._resources)
        self._forks = Forks.count

    def enter(self) -> None:
        """Enter the context managers of a function, those for coroutines on a loop of their own."""
        for call in self._enter_each():
            self._calls.run(call)

    async def enter_async(self) -> None:
        """Enter the context managers of a coroutine."""
        for call in self._enter_each():
            await call

    def _enter_each(self) -> Iterator[Awaitable[object]]:
        """Enter one after another; yield what has to be awaited for the one that comes next."""
        for hook in self._hooks:
            manager = hook.call(self._context)
            if _is_sync(hook, manager):
                manager.__enter__()
            else:
                yield manager.__aenter__()
            self._entered.append((hook, manager))
        # From here on, the body itself says whether it has begun.
        self._attempt.is_surrounded = True

    def leave(self, run: FinishedRun) -> FinishedRun:
        """Leave what was entered, and return how the run has ended."""
        # The outcome is settled, in whatever state hooks have left their event loop.
        with suppress(Exception), self._resources:
            for hook, call in self._leave_each(run):
                with self._guard(hook):
                    self._calls.run(call())
        return self._with_meta()

    async def leave_async(self, run: FinishedRun) -> FinishedRun:
        """Leave what was entered around a coroutine."""
        for hook, call in self._leave_each(run):
            with self._guard(hook):
                await call()
        return self._with_meta()

    def _leave_each(
        self, run: FinishedRun
    ) -> Iterator[tuple[Hook[Any], Callable[[], Awaitable[object]]]]:
        """Leave one after another; yield each call that has to be awaited.

        A process that the body has forked ends here.
        """
        self._run, error, settlement = run, run.error, run.settlement
        if Forks.count != self._forks:
            end_child(error)
        if settlement is None:
            self._attempt.ended = BodyEnd(AttemptOutcome.FINISHED if run.already else None, error)
        else:
            retry_in = settlement.delay if settlement.state is JobState.PENDING else None
            self._attempt.ended = BodyEnd(
                settlement.outcome, error, retry_in, settlement.error, settlement.traceback
            )
        raised = (None, None, None) if error is None else (type(error), error, error.__traceback__)
        for hook, manager in reversed(self._entered):
            if _is_sync(hook, manager):
                with self._guard(hook):
                    manager.__exit__(*raised)
            else:
                yield hook, partial(manager.__aexit__, *raised)

    def _with_meta(self) -> FinishedRun:
        """Return the run with what its hooks have left for the next attempt and the next run."""
        run, ended, next_meta = self._run, self._attempt.ended, self._attempt.next_meta
        if next_meta is not None and run.settlement is not None:
            run = run._replace(settlement=run.settlement._replace(next_meta=next_meta))
        if ended is None or ended.retry_in is None or not ended.meta or run.settlement is None:
            return run
        with log.guard("job %d keeps its meta, because the new one is no JSON: %s", run.claim.id):
            meta = json.dumps({**self._context.meta, **ended.meta})
            return run._replace(settlement=run.settlement._replace(meta=meta))
        return run

    @contextmanager
    def _guard(self, hook: Hook[Any]) -> Generator[None]:
        """Log what a hook raises after the body; the caller of an inline job gets a Ctrl-C."""
        try:
            yield
        except KeyboardInterrupt as error:
            self._run = self._run._replace(error=error)
        except BaseException as error:  # noqa: BLE001 - the outcome is settled
            if error is not self._run.error:
                log.error(  # the traceback, without the values that errors repeat
                    "%s (around) failed after job %d (%s), whose outcome stays as it is:\n%s",
                    hook.address,
                    self._attempt.claim.id,
                    self._attempt.claim.type,
                    traceback_text(error),
                )


def _is_sync(hook: Hook[Any], manager: object) -> bool:
    kind = type(manager)
    if hasattr(kind, "__enter__") and hasattr(kind, "__exit__"):
        return True
    if hasattr(kind, "__aenter__") and hasattr(kind, "__aexit__"):
        return False
    raise TypeError(
        f"around: {hook.address} returned {manager!r}, expected a context manager; or it must yield"
        " once"
    )


class _AsyncCalls:
    """Awaits the asynchronous context managers around a synchronous body, on one event loop."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._runner: asyncio.Runner | None = None
        self._thread: futures.Executor | None = None

    def run(self, call: Awaitable[T]) -> T:
        async def wait() -> T:
            return await call

        if self._runner is None:
            self._runner = runner = asyncio.Runner()
            if in_event_loop():  # a coroutine that runs a job inline blocks its loop
                self._thread = thread = futures.ThreadPoolExecutor(1, "horae-around")
                self._stack.enter_context(thread)
                self._stack.callback(lambda: thread.submit(runner.close).result())
            else:
                self._stack.callback(runner.close)
        if self._thread is not None:
            return self._thread.submit(self._runner.run, wait()).result()
        return self._runner.run(wait())
