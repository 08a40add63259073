"""Keeps the event loop running that bodies share with their node, whatever a body does to it.

Coroutine bodies run on the node's own loop. So a body could end the node, and all other bodies with
it:

- `SystemExit` or `KeyboardInterrupt` out of a task that it has spawned: asyncio passes them on to
  the caller of the loop. Here such a task raises `BodyExited` instead, and the job fails.
- `loop.stop()`: raises an error in a body.
- cancelling `asyncio.all_tasks()`: the tasks of the node, and of bodies themselves, are not listed
  there.

`run` also continues after a callback, or an `asyncio.Task` that a body has made itself, has ended
the loop. A loop that the application runs cannot be protected from these, because wrapping
callbacks would slow down every step of every task. Nor can the application's own tasks be hidden
from `asyncio.all_tasks()`, the one that awaits the node among them: that is how asyncio ends them
with the program.
"""

import asyncio
import signal
import threading
from asyncio.tasks import _register_task, _unregister_task  # documented under "Extending asyncio"
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, TypeVar
from weakref import WeakSet

from typing_extensions import override

from horae.domain.jobs.job import Claim
from horae.guarded_log import guarded_log
from horae.types.logs.job_fields import current_claim, current_node

T = TypeVar("T")
Blame = Callable[[Claim, BaseException], None]
ENDS_THE_PROCESS: Final = (SystemExit, KeyboardInterrupt)

log = guarded_log("horae.runtime")


class BodyExited(Exception):
    """A task that a body had spawned tried to end the process."""


class LoopGuard:
    """Guards one event loop for all nodes on it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.owns_loop = False
        """Whether only Horae and its bodies create tasks on the loop."""
        self._factory: Any = loop.get_task_factory()
        self._stop = loop.stop
        self._hidden = WeakSet[asyncio.Task[Any]]()
        self._blame = WeakSet[Any]()
        loop.set_task_factory(self._make)
        with suppress(
            TypeError
        ):  # another implementation of the loop, whose methods cannot be replaced
            vars(loop)["stop"] = self._stop_for_all_but_bodies

    def register(self, executor: Any) -> None:
        """Call the `blame` method of this executor when a body has tried to end the process."""
        self._blame.add(executor)

    def show_all(self) -> None:
        """List the hidden tasks of the node again, so that asyncio cancels the remaining ones when
        the loop ends.
        """
        for task in list(self._hidden):
            show(task)

    def _make(
        self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any
    ) -> asyncio.Task[Any]:
        claim = current_claim()
        if claim is not None and asyncio.iscoroutine(coroutine):
            coroutine = _Watched(coroutine, claim, self._exited)
        task: asyncio.Task[Any] = (
            asyncio.Task(coroutine, loop=loop, **options)
            if self._factory is None
            else self._factory(loop, coroutine, **options)
        )
        if claim is None and (self.owns_loop or current_node() is not None):
            self._hidden.add(hide(task))
        return task

    def _exited(self, claim: Claim, error: BaseException) -> None:
        log.error(
            "a task of job %d (%s) tried to end the process with %r", claim.id, claim.type, error
        )
        for executor in list(self._blame):
            executor.blame(claim, error)

    def _stop_for_all_but_bodies(self) -> None:
        claim = current_claim()
        if claim is not None:
            raise RuntimeError(
                f"job {claim.id} ({claim.type}) must not stop the event loop, which its node"
                " runs on"
            )
        self._stop()


class _Watched(Coroutine[Any, Any, Any]):
    """Wraps the coroutine of a body's task, and replaces exceptions that would end the process."""

    __slots__ = ("_claim", "_coroutine", "_exited")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], claim: Claim, exited: Blame) -> None:
        self._coroutine, self._claim, self._exited = coroutine, claim, exited

    @override
    def send(self, value: Any, /) -> Any:
        try:
            return self._coroutine.send(value)
        except ENDS_THE_PROCESS as error:
            raise self._instead(error) from error

    @override
    def throw(
        self,
        kind: Any,
        value: BaseException | object = None,
        traceback: TracebackType | None = None,
        /,
    ) -> Any:
        try:
            return self._coroutine.throw(kind if value is None else value)  # type: ignore[arg-type]
        except ENDS_THE_PROCESS as error:
            raise self._instead(error) from error

    @override
    def close(self) -> None:
        self._coroutine.close()

    @override
    def __await__(self) -> Generator[Any, Any, Any]:
        return self._coroutine.__await__()

    def __getattr__(self, name: str) -> Any:
        """Return other attributes of the coroutine, as the description of its task shows them."""
        return getattr(self._coroutine, name)

    def _instead(self, error: BaseException) -> BodyExited:
        self._exited(self._claim, error)
        return BodyExited(f"a job cannot end the process that it runs in: {error!r}")


def hide(task: asyncio.Task[T]) -> asyncio.Task[T]:
    """Remove a task from `asyncio.all_tasks()`; the caller must keep a reference to it."""
    _unregister_task(task)
    return task


def show(task: asyncio.Task[Any]) -> None:
    """List a hidden task again unless it is done."""
    if not task.done():
        _register_task(task)


def guard_of(loop: asyncio.AbstractEventLoop) -> LoopGuard:
    """Return the guard of a loop; the first call creates it."""
    present = getattr(loop.get_task_factory(), "__self__", None)
    return present if isinstance(present, LoopGuard) else LoopGuard(loop)


def _is_by_keyboard() -> bool:
    """Whether Ctrl-C raises `KeyboardInterrupt` in this thread, with no other handler for the
    signal.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    return in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in a new loop, as `asyncio.run` does, and keep the loop running until it ends,
    whatever bodies do.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        guard = guard_of(loop)
        guard.owns_loop = True
        task = loop.create_task(main)
        task.add_done_callback(lambda _: loop.stop())
        while not task.done():
            try:
                loop.run_forever()
            except ENDS_THE_PROCESS as error:
                if isinstance(error, KeyboardInterrupt) and _is_by_keyboard():
                    task.cancel()
                    raise
                if not task.done():
                    log.exception("a callback of a body tried to end the process; the node goes on")
        guard.show_all()
        return task.result()
