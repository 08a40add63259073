"""How the guards of `ablations` are removed: by replacing a function, or a statement without its condition."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from unittest import mock

from sqlalchemy import Connection, and_, func, select

from horae.client.jobs import starting
from horae.client.jobs.cancelling import JobCanceller
from horae.domain.cluster.liveness import Contact
from horae.domain.jobs.job import Job, JobState, NodeId
from horae.errors import LeaseLost
from horae.runtime.bodies import runner
from horae.runtime.claims.settler import Settler
from horae.storage.engine.dialect import PerDialect
from horae.storage.jobs import claims, lane_statements, limited_claims
from horae.storage.jobs.tables import jobs
from horae.storage.outcomes import cancelling, settling, settling_statements
from horae.storage.schedules import writing
from horae.types.context import JobContext
from tests.simulation import replaced, world

Patch = Callable[[], AbstractContextManager[Any]]


def instead(target: Any, name: str, replacement: Any) -> Patch:
    """Replace an attribute."""
    return lambda: mock.patch.object(target, name, replacement)


def together(*patches: Patch) -> Patch:
    """Apply several patches."""

    def apply() -> AbstractContextManager[Any]:
        stack = ExitStack()
        for patch in patches:
            stack.enter_context(patch())
        return stack

    return apply


def statement(module: Any, name: str, build: Callable[[str], Any]) -> Patch:
    """Replace a statement, which is built when the patch is applied."""
    return lambda: mock.patch.object(module, name, PerDialect(build))


def without_conditions_on(column: str, build: Callable[[str], Any]) -> Callable[[str], Any]:
    """Build an UPDATE without the conditions that name a column."""

    def built(dialect: str) -> Any:
        made = build(dialect)
        made._where_criteria = tuple(part for part in made._where_criteria if column not in str(part))  # noqa: SLF001
        return made

    return built


def _unfenced(build: Callable[[str], Any]) -> Callable[[str], Any]:
    def built(dialect: str) -> Any:
        with mock.patch.object(settling_statements, "_held", _held_without_lease):
            return build(dialect)

    return built


def _held_without_lease(batch: Any) -> Any:
    return and_(jobs.c.id == batch.c.id, jobs.c.state == JobState.STARTED)


UNFENCED_SETTLE: Final = together(
    statement(settling, "SETTLE", _unfenced(settling_statements._settle)),  # noqa: SLF001
    statement(settling, "FINISH", _unfenced(settling_statements._finish)),  # noqa: SLF001
)


def claiming_with(changes: Mapping[str, Any]) -> Patch:
    """Let a claim change other columns than it does."""

    def apply() -> AbstractContextManager[Any]:
        stack = ExitStack()
        stack.enter_context(mock.patch.dict(claims.STARTED, changes))
        stack.enter_context(mock.patch.object(claims, "CLAIM", PerDialect(claims._claim)))  # noqa: SLF001
        stack.enter_context(mock.patch.object(limited_claims, "CLAIM", PerDialect(limited_claims._claim)))  # noqa: SLF001
        return stack

    return apply


def unlimited(dialect: str) -> Any:
    """Build the claim from limited queues as if nothing was running."""
    with mock.patch.object(limited_claims, "_held", _nothing_held):
        return limited_claims._claim(dialect)  # noqa: SLF001


def _nothing_held() -> Any:
    counted = select(jobs.c.queue, func.count().label("running")).where(jobs.c.id < 0)
    return counted.group_by(jobs.c.queue).subquery("held")


def cancelling_anything() -> AbstractContextManager[Any]:
    """Cancel a job whatever its state is."""
    anything = cancelling.CANCEL._generate()  # noqa: SLF001
    anything._where_criteria = (cancelling.CANCEL._where_criteria[0],)  # noqa: SLF001
    return mock.patch.object(cancelling, "CANCEL", anything)


async def acknowledge_first(self: Settler, batch: Any) -> None:
    """Forget results before they are committed."""
    self._environment.journal.end([finished.claim for finished in batch])
    try:
        settled = await self._environment.database.in_service(partial(self._commit, batch))
    except Exception:  # noqa: BLE001 - what this removal ignores
        return
    self._signals.settled.send(batch, settled)


async def do_nothing(*_: Any) -> None:
    """Replace a coroutine function."""


def ignore(*_: Any, **__: Any) -> None:
    """Replace a function."""


def end_no_runs(*_: Any) -> list[Any]:
    """Replace the functions that end runs of schedules."""
    return []


def cancel_live_only(self: JobCanceller, job: Job, who: str | None) -> Job:
    """Store the request to cancel beside the reports of the body, and not in the row."""
    self._request_cancel(job.id, who)
    return job


def answer_without_reset(self: Contact, sent: float) -> bool:
    """Record an answer, and count the time of contact as if there had been no gap."""
    since = self._since
    regained = _answer(self, sent)
    self._since = since
    return regained


_answer: Final = Contact.answer


def beat_by_own_clock(connection: Connection, node: NodeId) -> int | None:
    """Send a heartbeat with the time of the node's own clock."""
    moment = datetime.fromtimestamp(world.current().running.process.clock.wall(), UTC)
    return replaced.send_heartbeat(connection, node, replaced.BEAT.values(heartbeat_at=moment))


_lock: Final = writing.lock


def lock_as_idle(connection: Connection, ids: Any) -> list[Any]:
    """Return schedules as if none of them had a run."""
    return [row._replace(run_token=None, started_at=None, state="idle") for row in _lock(connection, ids)]


def lock_as_due(connection: Connection, ids: Any) -> list[Any]:
    """Return schedules as if it was their time: the node knows best."""
    return [
        row if row.next_start is None else row._replace(now=max(row.now, row.next_start))
        for row in _lock(connection, ids)
    ]


def settle_anyway(connection: Connection, context: JobContext[Any], result: str | None, node: NodeId) -> None:
    """Settle a job in its own transaction, and commit even if the lease is lost."""
    with suppress(LeaseLost):
        _settle_within(connection, context, result, node)


_settle_within: Final = runner.settle_within


def hinting_at_once() -> AbstractContextManager[Any]:
    """Send a hint within the caller's transaction."""
    return mock.patch.object(starting, "after_commit", lambda _session, send: send())


def _without_lock(dialect: str) -> Any:
    read = lane_statements.locked_buckets(dialect)
    read._for_update_arg = None  # noqa: SLF001 - as if it had never been asked for
    return read


UNLOCKED_BUCKETS: Final = PerDialect(_without_lock)
