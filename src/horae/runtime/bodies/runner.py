"""Runs one body: opens its transaction, calls it, and returns what is to be written about it.

Never raises.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from pydantic_core import PydanticSerializationError, to_json
from sqlalchemy import Connection
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session

from horae.domain.jobs.job import Claim, NodeId, finished
from horae.domain.storable import fits, is_storable_json, spelled_out, too_long, unreadable_json
from horae.errors import InvalidRequest
from horae.guarded_log import guarded_log
from horae.runtime.bodies.finished_run import FinishedRun, finish
from horae.runtime.bodies.forked_body import end_child, forks
from horae.runtime.bodies.log_book import KeptLogs
from horae.runtime.bodies.orders import Interrupted, Overtaken
from horae.runtime.bodies.outcome import outcome_of
from horae.runtime.bodies.surroundings import surrounded, surrounded_async
from horae.runtime.journal.journal import Journal
from horae.scarcity import lacks_resource
from horae.storage.engine.connections.commit_guard import forbid_commit
from horae.storage.engine.database import Database
from horae.storage.engine.failures import is_transient
from horae.storage.jobs.search import parameters
from horae.storage.outcomes import settling
from horae.types.application_hooks import Hook
from horae.types.context import JobContext
from horae.types.job_type import JobType
from horae.types.logs.job_fields import logged_as
from horae.types.values.parameters import MappedParameters, ModelParameters
from horae.types.values.plain_data import problem_of

log = guarded_log("horae.runtime")


def call_body(job_type: JobType[Any], context: JobContext[Any]) -> Any:
    """Call a body that is no coroutine, and return its result."""
    return job_type.run(context)


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What bodies run with: the database of their transactions, the node that holds their leases,
    and its journal.
    """

    database: Database
    node: NodeId
    journal: Journal = field(default_factory=Journal)
    rng: Random = field(default_factory=Random)
    """Draws the delays of retries."""
    around: Sequence[Hook[Any]] = ()
    """The context managers around each body, the outermost first."""
    log_book: KeptLogs | None = None
    """Keeps the log lines of bodies."""
    call: Callable[[JobType[Any], JobContext[Any]], Any] = call_body
    """Calls a body that is no coroutine; some processes let a signal interrupt the body, but not
    its commit.
    """


def perform(
    job_type: JobType[Any], context: JobContext[Any], environment: RunEnvironment
) -> FinishedRun:
    """Run a body in this thread."""
    context.begin()
    context.job_type, context.log_book = job_type, environment.log_book
    here = forks.count
    with logged_as(context, environment.node):
        try:
            context.params = load_parameters(job_type, context.claim, environment.database)
            run = (_surrounded if environment.around else _run)(job_type, context, environment)
        except BaseException as error:  # noqa: BLE001 - any exception of a body is its outcome
            run = stopped_by(error, job_type, context, environment)
    return _closed(context, run, here)


async def perform_async(
    job_type: JobType[Any], context: JobContext[Any], environment: RunEnvironment
) -> FinishedRun:
    """Run a coroutine body in this task."""
    context.begin()
    context.job_type, context.log_book = job_type, environment.log_book
    here = forks.count
    with logged_as(context, environment.node):
        try:
            if isinstance(job_type.parameters, ModelParameters):
                context.params = job_type.parameters.load(context.claim.params)
            else:
                context.params = await environment.database.in_thread(
                    lambda: load_parameters(job_type, context.claim, environment.database)
                )
            run = await (_surrounded_async if environment.around else _run_async)(
                job_type, context, environment
            )
        except BaseException as error:  # noqa: BLE001
            # As above; a cancelled task has its reason in the context
            run = stopped_by(error, job_type, context, environment)
    return _closed(context, run, here)


def _closed(context: JobContext[Any], run: FinishedRun, forks_before: int) -> FinishedRun:
    """Close the log of a body and note how long it took; end the process if a fork of the body
    continues in it.
    """
    if forks.count != forks_before:
        end_child(run.error)
    if context.log_lines is not None:
        context.log_lines.close()
    took = context.took
    if took is None or run.settlement is None:
        return run
    return run._replace(settlement=run.settlement._replace(took=took))


def stopped_by(
    error: BaseException,
    job_type: JobType[Any],
    context: JobContext[Any],
    environment: RunEnvironment,
) -> FinishedRun:
    """Return how an exception ends a run.

    It is no attempt if the database was unavailable or the machine lacked something before the body
    began, or if the node stops before that.
    """
    called = (
        context.body_is_called if context.is_surrounded else context.claim in environment.journal
    )
    if called:
        return ended_by(error, job_type, context, environment)
    if isinstance(context.order, Interrupted):
        return FinishedRun(context.claim, None, error, unbegun=True)
    if context.order is None and (is_transient(error) or lacks_resource(error)):
        return unbegun(context.claim, error)
    return ended_by(error, job_type, context, environment)


def unbegun(claim: Claim, error: BaseException) -> FinishedRun:
    """Return how a run ends whose body could not begin here for the time being: its job is handed
    back.
    """
    log.warning("job %d (%s) cannot begin yet: %s", claim.id, claim.type, error)
    return FinishedRun(claim, None, error, unbegun=True)


def ended_by(
    error: BaseException,
    job_type: JobType[Any],
    context: JobContext[Any],
    environment: RunEnvironment,
) -> FinishedRun:
    """Return how a run ends that has raised this error, or that was stopped with it."""
    outcome = outcome_of(job_type, context, error)
    return finish(context.claim, job_type, outcome, environment.rng, error, context.took)


def load_parameters(job_type: JobType[Any], claim: Claim, database: Database) -> Any:
    """Return the parameters as the type declares them; raise what validation raises if the
    declaration has changed.
    """
    if isinstance(job_type.parameters, MappedParameters):
        return database.autocommit(parameters.load, job_type.parameters.mapped, claim.id)
    return job_type.parameters.load(claim.params)


def result_text(result: Any, most_bytes: int) -> str | None:
    """Return a result as JSON text; raise TypeError if it cannot be stored as JSON or is too
    long.
    """
    if result is None:
        return None
    if (problem := problem_of(result)) is not None:
        where = f", at {problem.where}" if problem.where else ""
        raise TypeError(f"the result cannot be stored as JSON{where}: {problem.what}")
    try:
        text = to_json(result).decode()
    except PydanticSerializationError as error:
        raise TypeError(
            f"the result, a {type(result).__name__}, cannot be stored as JSON: {error}"
        ) from error
    if not is_storable_json(text):
        raise TypeError("the result contains a NUL character, which the database cannot store")
    if (why := unreadable_json(text)) is not None:
        raise TypeError(f"the result cannot be read again: {why}")
    text = spelled_out(text)
    if not fits(text, most_bytes):
        raise TypeError(f"the result has {too_long(most_bytes, 'max_result_bytes')}")
    return text


def _run(
    job_type: JobType[Any], context: JobContext[Any], environment: RunEnvironment
) -> FinishedRun:
    context.check()
    transaction = job_type.transaction(context)
    if transaction is None:
        _begin(context, environment)
        is_mapped = isinstance(job_type.parameters, MappedParameters)
        with _attached(context, environment.database) if is_mapped else nullcontext():
            result = environment.call(job_type, context)
        context.check_end()
        return _returned(result, job_type, context, environment)
    if isinstance(transaction, str):
        transaction = environment.database.transaction(transaction)
    with cast("AbstractContextManager[Any]", transaction) as entered:
        connection = _own_connection(entered, environment.database)
        context.enter(connection, entered if isinstance(entered, Session) else None)
        if connection is not None and isinstance(job_type.parameters, MappedParameters):
            context.params = context.session.merge(
                context.params, load=False
            )  # so that its relationships load
        _begin(context, environment)
        with nullcontext() if connection is None else forbid_commit(connection):
            with _ending_in_a_child():
                result = environment.call(job_type, context)
            text = result_text(result, job_type.max_result_bytes)
            context.check_end()
            if connection is not None:
                context.session.flush()
        if connection is not None:
            settle_within(connection, context, text, environment.node)
    return _ended_in_transaction(context, text, own=connection is not None)


def _begin(context: JobContext[Any], environment: RunEnvironment) -> None:
    """Record that the body itself is called now."""
    if context.is_surrounded:
        context.body_is_called = True
    else:
        environment.journal.begin(context.claim)


def _surrounded(
    job_type: JobType[Any], context: JobContext[Any], environment: RunEnvironment
) -> FinishedRun:
    """Run a body inside `@horae.around`; it counts as begun before they are entered."""

    def body() -> FinishedRun:
        try:
            return _run(job_type, context, environment)
        except BaseException as error:  # noqa: BLE001 - as in `perform`
            return stopped_by(error, job_type, context, environment)

    environment.journal.begin(context.claim)
    return surrounded(
        environment.around,
        context,
        body,
        lambda error: ended_by(error, job_type, context, environment),
    )


async def _surrounded_async(
    job_type: JobType[Any], context: JobContext[Any], environment: RunEnvironment
) -> FinishedRun:
    async def body() -> FinishedRun:
        try:
            return await _run_async(job_type, context, environment)
        except BaseException as error:  # noqa: BLE001 - as in `perform`
            return stopped_by(error, job_type, context, environment)

    environment.journal.begin(context.claim)
    return await surrounded_async(
        environment.around,
        context,
        body,
        lambda error: ended_by(error, job_type, context, environment),
    )


def _returned(
    result: Any, job_type: JobType[Any], context: JobContext[Any], environment: RunEnvironment
) -> FinishedRun:
    claim = context.claim
    if result is not None:
        return FinishedRun(claim, finished(claim, result_text(result, job_type.max_result_bytes)))
    if context.label is None:
        environment.journal.succeed(claim)
    return FinishedRun(claim, finished(claim))


def _ended_in_transaction(context: JobContext[Any], text: str | None, *, own: bool) -> FinishedRun:
    """Return the end of a body whose transaction is committed; `own`: it was on Horae's database,
    and ended the job.
    """
    settlement = None if own else finished(context.claim, text)
    return FinishedRun(context.claim, settlement, already=own, releases=context.releases)


@contextmanager
def _attached(context: JobContext[Any], database: Database) -> Generator[None]:
    """Let relationships of mapped parameters load; a connection is opened only when the body uses
    one.
    """
    with Session(database.without_transaction(), autoflush=False) as session:
        context.params = session.merge(context.params, load=False)
        yield


async def _run_async(
    job_type: JobType[Any], context: JobContext[Any], environment: RunEnvironment
) -> FinishedRun:
    context.check()
    transaction = job_type.transaction(context)
    if transaction is None:
        _begin(context, environment)
        result = await job_type.run(context)
        context.check_end()
        return _returned(result, job_type, context, environment)
    if isinstance(transaction, str):
        transaction = environment.database.async_transaction(transaction)
    async with cast("AbstractAsyncContextManager[Any]", transaction) as entered:
        connection = await _own_async_connection(entered, environment.database)
        context.enter_async(connection, entered if isinstance(entered, AsyncSession) else None)
        if connection is not None and isinstance(job_type.parameters, MappedParameters):
            context.params = await context.async_session.merge(context.params, load=False)
        _begin(context, environment)
        with nullcontext() if connection is None else forbid_commit(sync_connection_of(connection)):
            with _ending_in_a_child():
                result = await job_type.run(context)
            text = result_text(result, job_type.max_result_bytes)
            context.check_end()
            if connection is not None:
                await context.async_session.flush()
        if connection is not None:
            await connection.run_sync(settle_within, context, text, environment.node)
    return _ended_in_transaction(context, text, own=connection is not None)


def sync_connection_of(connection: AsyncConnection) -> Connection:
    """Return the synchronous connection under an asynchronous one that is open."""
    if connection.sync_connection is None:
        raise InvalidRequest("the transaction of this job was not begun")
    return connection.sync_connection


@contextmanager
def _ending_in_a_child() -> Generator[None]:
    """End a child process that the body has forked when the body ends in it, before anything is
    committed.
    """
    here = forks.count
    try:
        yield
    except BaseException as error:
        if forks.count != here:
            end_child(error)
        raise
    if forks.count != here:
        end_child(None)


def settle_within(
    connection: Connection, context: JobContext[Any], result: str | None, node: NodeId
) -> None:
    """Finish the job in the last statement of its own transaction; raise `Overtaken` to roll it
    back.
    """
    claim = context.claim
    context.run_before_end(connection)
    settlement = finished(claim, result)._replace(label=context.label, took=context.took)
    settled = settling.settle(connection, node, [settlement])
    if claim.id not in settled.settled:
        raise Overtaken
    context.releases = context.releases or bool(settled.follow_ups.released)


def _own_connection(entered: Any, database: Database) -> Connection | None:
    """Return the connection to settle on, if the job type's transaction is on Horae's own
    database.
    """
    connection = entered.connection() if isinstance(entered, Session) else entered
    if not isinstance(connection, Connection) or not database.is_at(connection.engine.url):
        return None
    database.adopt(connection)
    return connection


async def _own_async_connection(entered: Any, database: Database) -> AsyncConnection | None:
    connection = await entered.connection() if isinstance(entered, AsyncSession) else entered
    if not isinstance(connection, AsyncConnection) or not database.is_at(connection.engine.url):
        return None
    await connection.run_sync(database.adopt)
    return connection
