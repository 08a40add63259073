"""How the guards of `ablations` are removed: by replacing a function, or a statement without its condition."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from unittest import mock

from sqlalchemy import Connection, or_, select, true

from horae.client.jobs.cancelling import JobCanceller
from horae.domain.cluster import Contact, Silences
from horae.domain.jobs import AttemptOutcome, Claim, Job, NodeId
from horae.domain.limits import Chooser
from horae.runtime.liveness import Sweeper
from horae.runtime.settling import Settler
from horae.storage.engine import POSTGRESQL, SQLITE, Direct, PerDialect, member_of, microseconds_now
from horae.storage.jobs import claims, jobs, queues
from horae.storage.jobs.limits import limited_claims
from horae.storage.outcomes import cancelling, settling, settling_statements
from horae.storage.schedules import writing
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


def statement(module: Any, name: str, build: Callable[[], Any]) -> Patch:
    """Replace a statement, which is built when the patch is applied."""
    return lambda: mock.patch.object(module, name, build())


def _settle(*, plain: bool) -> Any:
    """Build the statements that settle a batch anew."""
    return PerDialect(
        *(settling_statements._settle(dialect, plain=plain) for dialect in (POSTGRESQL, SQLITE))  # noqa: SLF001
    )


def _unfenced(*, plain: bool) -> Any:
    with (
        mock.patch.object(settling_statements, "_has_lease", _has_any_lease),
        mock.patch.object(settling_statements, "_is_of_node", true()),
    ):
        return _settle(plain=plain)


def _has_any_lease(batch: Any) -> Any:
    return jobs.c.id == batch.c.id


UNFENCED_SETTLE: Final = together(
    statement(settling, "SETTLE", partial(_unfenced, plain=False)),
    statement(settling, "FINISH", partial(_unfenced, plain=True)),
)


def _closed() -> Any:
    return select(queues.c.name).where(
        or_(queues.c.paused_at.is_not(None), queues.c.concurrency_limit.is_not(None))
    )


_DUE: Final = claims.due_jobs(_closed(), jobs.c.id)
_START: Final = claims.start_in_order(select(jobs.c.id).where(member_of(jobs.c.id, "ids")))


def claim_in_two_steps(
    connection: Connection, made: Direct, parameters: Mapping[str, Any]
) -> list[Claim]:
    """Read which jobs are due, and then start them whatever has happened to them meanwhile."""
    if made is not claims.CLAIM[claims.Part.ALL]:
        return _execute_claim(connection, made, parameters)
    due = connection.execute(_DUE, parameters).scalars().all()
    return _execute_claim(connection, _START, {"ids": list(due), "node": parameters["node"]})


_execute_claim: Final = claims.execute_claim


def claiming_with(changes: Mapping[str, Any]) -> Patch:
    """Let a claim change other columns than it does."""

    def apply() -> AbstractContextManager[Any]:
        stack = ExitStack()
        stack.enter_context(mock.patch.dict(claims.STARTED, changes))
        stack.enter_context(mock.patch.object(claims, "CLAIM", built_claims()))
        limited = claims.start_in_order(limited_claims._fitting)  # noqa: SLF001
        stack.enter_context(mock.patch.object(limited_claims, "CLAIM", limited))
        return stack

    return apply


def built_claims() -> Mapping[claims.Part, Any]:
    """Build the claim of all due jobs anew."""
    due = claims.due_jobs(claims._closed, jobs.c.id).with_for_update(skip_locked=True)  # noqa: SLF001
    return {claims.Part.ALL: claims.start_in_order(select(due.cte("due").c.id))}


def unlimited() -> Any:
    """Build the claim from limited queues as if nothing was running."""
    made = limited_claims._fitting._generate()  # noqa: SLF001
    place = limited_claims._ranked.c.place  # noqa: SLF001
    limit = queues.c.concurrency_limit
    made._where_criteria = (or_(limit.is_(None), place <= limit),)  # noqa: SLF001
    return claims.start_in_order(made)


def moment_before_the_lock() -> Any:
    """Select a moment of half a second ago, as if a claim had read the clock and then waited for the limit."""
    return select(microseconds_now() - 500_000)


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


async def remove_all_journals(self: Sweeper) -> None:
    """Remove the journals of dead nodes in the round after their jobs were rescued."""
    while self._kept_journals:
        self._journals.remove(self._kept_journals.popleft()[1])
    await _round(self)


def end_runs_later(_: Connection, *ended: Any) -> list[Any]:
    """Put off to end the runs of schedules."""
    world.current().running.process.put_off.append(ended)
    return []


def commit_and_end_runs(self: Settler, batch: Any) -> Any:
    """Commit results, and end the runs of schedules in transactions of their own."""
    settled = _commit(self, batch)
    process = world.current().running.process
    later, process.put_off = process.put_off, []
    for ended in later:
        settled.runs.extend(self._environment.database.transact(_end_runs, *ended))
    return settled


_round: Final = Sweeper._round  # noqa: SLF001
_commit: Final = Settler._commit  # noqa: SLF001
_end_runs: Final = settling._end_runs  # noqa: SLF001


def silence_by_own_clock(_self: Silences, _node: NodeId, heartbeat_at: datetime, *_: Any) -> float:
    """Compare a heartbeat with the clock of the node that judges."""
    return world.current().running.process.clock.wall() - heartbeat_at.timestamp()


def end_no_runs(*_: Any) -> list[Any]:
    """Replace the functions that end runs of schedules."""
    return []


def cancel_live_only(self: JobCanceller, job: Job, who: str | None, **_: bool) -> Job:
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
    return [
        row._replace(run_token=None, started_at=None, state="idle")
        for row in _lock(connection, ids)
    ]


def lock_as_due(connection: Connection, ids: Any) -> list[Any]:
    """Return schedules as if it was their time: the node knows best."""
    return [
        row if row.next_start is None else row._replace(now=max(row.now, row.next_start))
        for row in _lock(connection, ids)
    ]


def _settle_without_snoozes() -> Any:
    with mock.patch.object(settling_statements, "UNCOUNTED", {AttemptOutcome.INTERRUPTED}):
        return _settle(plain=False)


counting_snoozes: Final[Patch] = statement(settling, "SETTLE", _settle_without_snoozes)
"""A snooze uses up an attempt."""
forgetting_turns: Final[Patch] = instead(
    Chooser, "_place", lambda _, lane: (-lane.priority, lane.place)
)
"""An owner who had a turn is as far in front as before."""
