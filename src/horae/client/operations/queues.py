"""Operations on queues: list, pause, resume, limit."""

from functools import partial
from typing import Any, Final

from horae.client.changes import Change, recorded
from horae.domain.limits.limit import Limit
from horae.domain.names import LONGEST_NAME, queue_name
from horae.errors import InvalidRequest, NotFound, quoted
from horae.storage.engine.database import Database
from horae.storage.operations import queues
from horae.storage.operations.queues import QueueView
from horae.types.arguments import LARGEST_NUMBER, check_note, of_kind
from horae.wakeup.channel import Hint, HintKind, WakeupChannel

LARGEST_LIMIT: Final = LARGEST_NUMBER


class Queues:
    """Pause, resume and limit queues. A queue needs no declaration: it exists as soon as a job names it."""

    def __init__(self, database: Database, wakeup: WakeupChannel) -> None:
        self._database, self._wakeup = database, wakeup

    def list(self) -> list[QueueView]:
        """Every queue that is paused, has a limit or has work, by name."""
        return self._database.autocommit(queues.view)

    def pause(self, name: str, note: str | None = None) -> None:
        """Pause the queue: no node claims from it; running jobs continue. Pausing again changes the note.

        Raises `InvalidRequest`.
        """
        queue_name(name)
        check_note(note)
        self._database.transact(recorded(queues.pause, _change("queue.pause", name)), name, note)

    def resume(self, name: str) -> None:
        """Resume the queue and notify the nodes; idempotent.

        Raises `NotFound` for a queue that was never paused.
        """
        resume = recorded(queues.resume, _change("queue.resume", name), changed=bool)
        if not self._database.transact(resume, name):
            raise NotFound(f"queue {quoted(name)} was never paused")
        self._wakeup.send(Hint(HintKind.WORK))

    def limit(self, name: str, concurrency_limit: int | None) -> None:
        """Limit the number of jobs of the queue that run at a time on all nodes together; None removes the limit.

        Running jobs continue: under a lower limit none starts until enough have ended. Raises `InvalidRequest`.
        """
        queue_name(name)
        if concurrency_limit is not None and not 0 < concurrency_limit <= LARGEST_LIMIT:
            raise InvalidRequest(
                f"concurrency_limit: {concurrency_limit} is not allowed; expected 1 to {LARGEST_LIMIT}, or none; "
                "to start no job at all, pause the queue"
            )
        self._database.transact(recorded(queues.limit, _change("queue.limit", name)), name, concurrency_limit)
        self._wakeup.send(Hint(HintKind.WORK))

    def limit_by_key(self, name: str, limit: Limit | None) -> str | None:
        """Limit the jobs of the queue, whatever their types are, in total or by key; return the name of the limit.

        Replaces the limit of the same name; None removes all limits by key of the queue. The key is a format over the
        parameters; a job without such a parameter counts under an empty one. Raises `InvalidRequest`.
        """
        queue_name(name)
        stored = None if limit is None else (limit.name_for(f"queue {name}"), _stored(limit))
        self._database.transact(recorded(queues.limit_by_key, _change("queue.limit_by_key", name)), name, stored)
        self._wakeup.send(Hint(HintKind.WORK))
        return None if stored is None else stored[0]

    def fair(self, name: str, by: str | None) -> None:
        """Let owners take turns in the queue: `by="owner"`, or the name of a parameter; None: as jobs are due.

        Within a priority, a job is passed by at most one job of each owner that waits. Raises `InvalidRequest`.
        """
        queue_name(name)
        if by is not None and (not isinstance(by, str) or not by.isidentifier() or len(by) > LONGEST_NAME):
            raise InvalidRequest(f"fair by {quoted(by)}: expected 'owner', the name of a parameter, or none")
        self._database.transact(recorded(queues.fair, _change("queue.fair", name)), name, by)
        self._wakeup.send(Hint(HintKind.WORK))


def _stored(limit: Limit) -> dict[str, Any]:
    of_kind("limit", limit, Limit, "a Limit")
    if callable(limit.key):
        raise InvalidRequest("the key of a queue's limit is stored, so it must be a format such as '{customer_id}'")
    return {"key": limit.key, "numbers": limit.numbers.to_json()}


def _change(action: str, name: str) -> Change:
    return Change.of(action, name, partial(queues.settings, name=name))
