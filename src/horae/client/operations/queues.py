"""Operations on queues: list, pause, resume, limit."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection

from horae.client.changes import LoggedChange, with_entry
from horae.client.on_threads import OnThreads, on_change_thread, on_thread
from horae.domain.jobs import check_queue_backend
from horae.domain.limits import Limit
from horae.domain.names import queue_name
from horae.errors import ConfigurationError, NotFound
from horae.quoting import quoted
from horae.sentences import SentenceCode
from horae.storage.engine import Database
from horae.storage.jobs import EVERY_QUEUE
from horae.storage.queues import (
    Pause,
    QueueView,
    declared_queues,
    everything,
    queue_backends,
    queues,
)
from horae.types import Registry, check_note
from horae.types.options import (
    check_concurrency,
    check_fair_by,
    names_in,
    refuse_secret_names,
    stored_limit,
)
from horae.wakeup import Hint, HintKind, WakeupChannel

P = ParamSpec("P")
T = TypeVar("T")


class Queues:
    """Pause, resume and limit queues.

    A queue exists as soon as a job names it; `Horae.queue` declares its limits.
    """

    def __init__(
        self, database: Database, wakeup: WakeupChannel, registry: Registry | None = None
    ) -> None:
        """`registry`: has the types that backends run; their own queues get no limits by key."""
        self._database, self._wakeup, self._registry = database, wakeup, registry or Registry()

    def list(self) -> list[QueueView]:
        """List queues that have work, are paused or limited, or are run by a backend, by name."""
        return self._database.autocommit(queues.view)

    def pause(self, name: str, note: str | None = None) -> None:
        """Pause the queue: no node claims from it; running jobs continue.

        Pausing again changes the note. Raises `InvalidRequest`.
        """
        queue_name(name)
        check_note(note)
        self._change("pause", name, queues.pause, note)

    def resume(self, name: str) -> bool:
        """Resume the queue and notify the nodes; return whether it was paused. Raises
        `InvalidRequest`.
        """
        queue_name(name)
        if was_paused := self._change("resume", name, queues.resume):
            self._wakeup.send(Hint(HintKind.WORK))
        return was_paused

    def pause_everything(self, note: str | None = None) -> None:
        """Pause all queues and the firing of schedules; running jobs continue.

        What was paused by itself stays so when everything is resumed. Pausing again changes the
        note. Raises `InvalidRequest`.
        """
        check_note(note)
        self._change("pause", EVERY_QUEUE, queues.pause, note)
        self._wakeup.send(Hint(HintKind.SCHEDULES))

    def resume_everything(self) -> bool:
        """Resume all queues and schedules that are not paused by themselves.

        Return whether everything was paused. Times of schedules that passed meanwhile are treated
        as after a time without nodes.
        """
        if was_paused := self._change("resume", EVERY_QUEUE, queues.resume):
            self._wakeup.send(Hint(HintKind.WORK))
            self._wakeup.send(Hint(HintKind.SCHEDULES))
        return was_paused

    def everything_paused(self) -> Pause | None:
        """Return since when everything is paused, by whom and why; None if it is not."""
        return self._database.autocommit(everything.read_pause)

    def limit(self, name: str, concurrency_limit: int | None) -> None:
        """Limit how many jobs of the queue run at a time on all nodes together; None removes the
        limit.

        Running jobs continue: under a lower limit none starts until enough have ended. Raises
        `InvalidRequest`.
        """
        queue_name(name)
        check_concurrency("concurrency_limit", concurrency_limit)
        self._change("limit", name, queues.limit, concurrency_limit)
        self._wakeup.send(Hint(HintKind.WORK))

    def limit_by_key(self, name: str, limit: Limit | None) -> str | None:
        """Limit the jobs of the queue, whatever their types are, in total or by key; return the
        name of the limit.

        Replaces the limit of the same name; None removes all limits by key of the queue. The key is
        a format over the parameters; a job without such a parameter counts under an empty one.
        Raises `InvalidRequest`. Raises `ConfigurationError` if a backend runs the jobs of the
        queue, or if a type that a backend runs has this queue as its own, in a schedule or in a
        pending job.
        """
        queue_name(name)
        stored = None
        if limit is not None:
            stored = limit.name_for(f"queue {name}"), stored_limit(limit)
            self._check_types(name, names_in(None, stored[1]["key"]))
        self._change("limit_by_key", name, self._with_check(queues.limit_by_key), stored)
        self._wakeup.send(Hint(HintKind.WORK))
        return None if stored is None else stored[0]

    def set_backend(self, name: str, backend: str) -> None:
        """Store what runs the jobs of the queue: `horae`, `celery` or `celery:QUEUE`.

        An application that names another backend for the queue refuses to start, so change its
        settings as well. Raises `InvalidRequest`, and `ConfigurationError` for a queue with limits
        by key or turns, or with jobs or schedules whose types have limits.
        """
        queue_name(name)
        self._change("backend", name, queue_backends.set_backend, check_queue_backend(backend))
        self._wakeup.send(Hint(HintKind.WORK))

    def fair(self, name: str, by: str | None) -> None:
        """Let owners take turns in the queue: `by="owner"`, or the name of a parameter; None: jobs
        run in the order in which they are due.

        Within a priority, a waiting job is overtaken by at most one job of each owner. Raises
        `InvalidRequest`. Raises `ConfigurationError` if a backend runs the jobs of the queue, or if
        a type that a backend runs has this queue as its own, in a schedule or in a pending job.
        """
        queue_name(name)
        check_fair_by("by", by)
        if by is not None:
            self._check_types(name, names_in(by))
        self._change("fair", name, self._with_check(queues.fair), by)
        self._wakeup.send(Hint(HintKind.WORK))

    def reset(self, name: str) -> None:
        """Restore the limits and turns that code declares for the queue; it stays paused if it is.
        Idempotent.

        Raises `NotFound` for a queue that no deployed module declares, and `ConfigurationError` as
        `fair` does.
        """
        queue_name(name)
        if not self._change("reset", name, self._with_check(declared_queues.reset)):
            raise NotFound(
                f"no deployed module declares the queue {quoted(name)}",
                SentenceCode.REFUSED_QUEUE_UNDECLARED,
                queue=name,
            )
        self._wakeup.send(Hint(HintKind.WORK))

    def _change(
        self,
        action: str,
        name: str,
        statement: Callable[Concatenate[Connection, str, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Change a queue, or all of them, and record that unless nothing was there to change."""
        target = f"queue.{action}", name
        if name == EVERY_QUEUE:
            target = f"everything.{action}", "everything"
        change = LoggedChange.of(*target, partial(queues.settings, name=name))
        make = with_entry(statement, change, changed=lambda result: result is not False)
        return self._database.transact(make, name, *args, **kwargs)

    def _with_check(
        self, change: Callable[Concatenate[Connection, str, P], T]
    ) -> Callable[Concatenate[Connection, str, P], T]:
        """Refuse a change of limits by key or turns that would hold back a backend's jobs."""

        def change_and_check(
            connection: Connection, name: str, /, *args: P.args, **kwargs: P.kwargs
        ) -> T:
            result = change(connection, name, *args, **kwargs)
            queue_backends.check_backend_types(connection, [name], self._registry.with_backend)
            return result

        return change_and_check

    def _check_types(self, name: str, key_names: Collection[str]) -> None:
        """Check the types that have this queue as their own.

        Raises `InvalidRequest` if a parameter in keys is secret, `ConfigurationError` if a backend
        runs the jobs.
        """
        for kind in self._registry:
            if kind.queue != name:
                continue
            refuse_secret_names(name, key_names, kind.type, kind.parameters.model)
            if kind.address is not None:
                raise ConfigurationError(
                    f"queue {quoted(name)}: limits by key and turns hold only for jobs that Horae's"
                    f" nodes run, but job type {quoted(kind.type)} of this queue has backend"
                    f" {quoted(kind.backend)}; limit the concurrency of the queue instead, or name"
                    " another queue for the type"
                )


class AsyncQueues(OnThreads[Queues]):
    """List and change queues from coroutines.

    Meanings, options and errors are those of `Queues`.
    """

    list = on_thread(Queues.list)
    pause = on_change_thread(Queues.pause)
    resume = on_change_thread(Queues.resume)
    pause_everything = on_change_thread(Queues.pause_everything)
    resume_everything = on_change_thread(Queues.resume_everything)
    everything_paused = on_thread(Queues.everything_paused)
    limit = on_change_thread(Queues.limit)
    limit_by_key = on_change_thread(Queues.limit_by_key)
    fair = on_change_thread(Queues.fair)
