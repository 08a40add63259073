"""Runs a body inside the context managers of `@horae.around`.

They surround the body and its transaction: the last one is entered before the transaction begins,
and the first is left after the transaction was committed or rolled back. So the outcome is settled
when they are left, and nothing that they raise then can change it. A body counts as begun as soon
as the first one is entered, because that runs code of the application.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import Any, TypeAlias, TypeVar, cast

from horae.domain.jobs import AttemptOutcome, JobState
from horae.guarded_log import guarded_log
from horae.redaction import traceback_text
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.bodies.forked_body import end_child, forks
from horae.runtime.bodies.running_loop import in_event_loop
from horae.types import Attempt, BodyEnd, Hook, JobContext

T = TypeVar("T")
Failed: TypeAlias = Callable[[BaseException], FinishedRun]
Raised: TypeAlias = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)
Entered: TypeAlias = list[tuple[Hook[Any], Any]]

log = guarded_log("horae.runtime")


def surrounded(
    hooks: Sequence[Hook[Any]],
    attempt: Attempt,
    context: JobContext[Any],
    body: Callable[[], FinishedRun],
    failed: Failed,
) -> FinishedRun:
    """Run a body inside the hooks.

    `failed` makes the result of a body that an error has kept from beginning.
    """
    attempt.is_surrounded = True
    here, entered = forks.count, Entered()
    with ExitStack() as stack:
        calls = _AsyncCalls(stack)
        try:
            _enter(hooks, context, entered, calls)
        except BaseException as error:  # noqa: BLE001
            # What a hook raises is the outcome of the body.
            run = failed(error)
        else:
            run = body()
        if forks.count != here:
            end_child(run.error)
        return _leave(entered, attempt, run, calls)


async def surrounded_async(
    hooks: Sequence[Hook[Any]],
    attempt: Attempt,
    context: JobContext[Any],
    body: Callable[[], Awaitable[FinishedRun]],
    failed: Failed,
) -> FinishedRun:
    """Run a coroutine body inside the hooks; see `surrounded`."""
    attempt.is_surrounded = True
    here, entered = forks.count, Entered()
    try:
        await _enter_async(hooks, context, entered)
    except BaseException as error:  # noqa: BLE001 - what a hook raises is the outcome of the body
        run = failed(error)
    else:
        run = await body()
    if forks.count != here:
        end_child(run.error)
    return await _leave_async(entered, attempt, run)


def _enter(
    hooks: Sequence[Hook[Any]], context: JobContext[Any], entered: Entered, calls: "_AsyncCalls"
) -> None:
    for hook in tuple(hooks):
        manager = hook.call(context)
        if _is_sync(hook, manager):
            manager.__enter__()
        else:
            calls.run(manager.__aenter__())
        entered.append((hook, manager))


async def _enter_async(
    hooks: Sequence[Hook[Any]], context: JobContext[Any], entered: Entered
) -> None:
    for hook in tuple(hooks):
        manager = hook.call(context)
        if _is_sync(hook, manager):
            manager.__enter__()
        else:
            await manager.__aenter__()
        entered.append((hook, manager))


def _leave(
    entered: Entered, attempt: Attempt, run: FinishedRun, calls: "_AsyncCalls"
) -> FinishedRun:
    raised = _ended(attempt, run)
    for hook, manager in reversed(entered):
        try:
            if _is_sync(hook, manager):
                manager.__exit__(*raised)
            else:
                calls.run(manager.__aexit__(*raised))
        except BaseException as error:  # noqa: BLE001 - the outcome is settled
            run = _raised_at_the_end(hook, attempt, run, error)
    return run


async def _leave_async(entered: Entered, attempt: Attempt, run: FinishedRun) -> FinishedRun:
    raised = _ended(attempt, run)
    for hook, manager in reversed(entered):
        try:
            if _is_sync(hook, manager):
                manager.__exit__(*raised)
            else:
                await manager.__aexit__(*raised)
        except BaseException as error:  # noqa: BLE001 - the outcome is settled
            run = _raised_at_the_end(hook, attempt, run, error)
    return run


def _is_sync(hook: Hook[Any], manager: object) -> bool:
    kind = type(manager)
    if hasattr(kind, "__enter__") and hasattr(kind, "__exit__"):
        return True
    if hasattr(kind, "__aenter__") and hasattr(kind, "__aexit__"):
        return False
    raise TypeError(
        f"around: {hook.name} returned {manager!r}, expected a context manager; or it must yield"
        " once"
    )


def _ended(attempt: Attempt, run: FinishedRun) -> Raised:
    """Note how the attempt ended, and return what the body raised as arguments of `__exit__`."""
    settlement = run.settlement
    if settlement is None:
        attempt.ended = BodyEnd(AttemptOutcome.FINISHED if run.already else None, run.error)
    else:
        retry_in = settlement.delay if settlement.state is JobState.PENDING else None
        attempt.ended = BodyEnd(settlement.outcome, run.error, retry_in)
    error = run.error
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)


def _raised_at_the_end(
    hook: Hook[Any], attempt: Attempt, run: FinishedRun, error: BaseException
) -> FinishedRun:
    """Log what a hook raised after the body; pass a Ctrl-C on to the caller of an inline job."""
    if error is run.error:
        return run
    if isinstance(error, KeyboardInterrupt):
        return run._replace(error=error)
    log.error(  # the traceback, without the values that errors repeat
        "%s (around) failed after job %d (%s), whose outcome stays as it is:\n%s",
        hook.name,
        attempt.claim.id,
        attempt.claim.type,
        traceback_text(error),
    )
    return run


class _AsyncCalls:
    """Awaits the asynchronous context managers around a synchronous body, on one event loop."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._runner: asyncio.Runner | None = None
        self._thread: ThreadPoolExecutor | None = None

    def run(self, call: Awaitable[T]) -> T:
        if self._runner is None:
            if in_event_loop():  # a coroutine that runs a job inline blocks its loop
                self._thread = self._stack.enter_context(ThreadPoolExecutor(1, "horae-around"))
            self._runner = asyncio.Runner()
            self._stack.callback(self._close)
        coroutine = cast("Coroutine[Any, Any, T]", _awaited(call))
        if self._thread is not None:
            return self._thread.submit(self._runner.run, coroutine).result()
        return self._runner.run(coroutine)

    def _close(self) -> None:
        if self._runner is not None:
            (
                self._runner.close()
                if self._thread is None
                else self._thread.submit(self._runner.close).result()
            )


async def _awaited(call: Awaitable[T]) -> T:
    return await call
