"""Runs one body: opens its transaction, calls it, and returns what is to be written about it.

Never raises.
"""

import json
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_core import PydanticSerializationError, to_json
from sqlalchemy import Connection

from horae.domain.jobs import Claim, NodeId, finished
from horae.domain.storable import fits, is_storable_json, spelled_out, too_long, unreadable_json
from horae.errors import InvalidRequest
from horae.guarded_log import guarded_log
from horae.resource_shortage import lacks_resource
from horae.runtime.bodies.finished_run import FinishedRun, Settling, finish
from horae.runtime.bodies.forked_body import Forks, end_child
from horae.runtime.bodies.log_book import KeptLogs
from horae.runtime.bodies.orders import Interrupted, Overtaken
from horae.runtime.bodies.outcome import outcome_of
from horae.runtime.bodies.surroundings import Surroundings
from horae.runtime.journal import Journal
from horae.storage.engine import Database, is_transient
from horae.storage.engine.connections import forbid_commit
from horae.storage.jobs.groups import TooMuchError, results_before
from horae.storage.jobs.search import parameters
from horae.storage.outcomes import settling
from horae.types import Attempt, Hook, JobContext, Observer
from horae.types.large_values import (
    STORED,
    LargeValues,
    LargeValuesUnavailable,
    is_reference,
    open_text,
)
from horae.types.logs import logged_as
from horae.types.parameters import MappedParameters, ModelParameters, problem_of
from horae.types.previous import MOST_BYTES, MOST_JOBS, PreviousResultMissing, TakenResults

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
    from sqlalchemy.orm import Session

STORE_PAUSES: Final = (0.1, 0.5, 2.0)
"""Seconds between attempts to write a large result to its store."""
log = guarded_log("horae.runtime")


def call_body(attempt: Attempt, context: JobContext[Any]) -> Any:
    """Call a body that is not a coroutine function, and return its result."""
    return attempt.job_type.run(context)


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What bodies run with: their database, the node that holds their leases, and its journal."""

    database: Database
    node: NodeId
    journal: Journal = field(default_factory=Journal)
    rng: Random = field(default_factory=Random)
    """Draws the delays of retries."""
    around: Sequence[Hook[Any]] = ()
    """The context managers around each body, the outermost first."""
    settlements: Sequence[Observer[Settling]] = ()
    """What observes the writing of results."""
    log_book: KeptLogs | None = None
    """Keeps the log lines of bodies."""
    call: Callable[[Attempt, JobContext[Any]], Any] = call_body
    """Calls a body that is not a coroutine function. In some processes a signal may interrupt the
    body, but not its commit.
    """


def perform(attempt: Attempt, environment: RunEnvironment) -> FinishedRun:
    """Run a body in this thread."""
    attempt.begin(environment.log_book)
    here, context = Forks.count, JobContext(attempt)
    around = Surroundings(environment.around, attempt, context) if environment.around else None
    with logged_as(attempt, environment.node):
        try:
            load(attempt, environment.database)
            if around is not None:
                environment.journal.begin(attempt.claim)
                around.enter()
            run = _run(attempt, context, environment)
        except BaseException as error:  # noqa: BLE001 - any exception of a body is its outcome
            run = stopped_by(error, attempt, environment)
        if around is not None:
            run = around.leave(run)
    return _close(attempt, run, here)


async def perform_async(attempt: Attempt, environment: RunEnvironment) -> FinishedRun:
    """Run a coroutine body in this task."""
    attempt.begin(environment.log_book)
    here, context = Forks.count, JobContext(attempt)
    around = Surroundings(environment.around, attempt, context) if environment.around else None
    with logged_as(attempt, environment.node):
        try:
            declared, text = attempt.job_type.parameters, attempt.claim.params
            if (
                attempt.job_type.takes is None
                and isinstance(declared, ModelParameters)
                and not declared.is_elsewhere(text)
            ):
                attempt.params = declared.load(text)
            else:
                await environment.database.in_thread(partial(load, attempt, environment.database))
            if around is not None:
                environment.journal.begin(attempt.claim)
                await around.enter_async()
            run = await _run_async(attempt, context, environment)
        except BaseException as error:  # noqa: BLE001 - a cancelled task has its reason in the attempt
            run = stopped_by(error, attempt, environment)
        if around is not None:
            run = await around.leave_async(run)
    return _close(attempt, run, here)


def _close(attempt: Attempt, run: FinishedRun, forks_before: int) -> FinishedRun:
    """Close a body's log and note its duration; end the process if the body has forked it."""
    if Forks.count != forks_before:
        end_child(run.error)
    if attempt.log_lines is not None:
        attempt.log_lines.close()
    took = attempt.took
    if took is None or run.settlement is None:
        return run
    return run._replace(settlement=run.settlement._replace(took=took))


def stopped_by(
    error: BaseException,
    attempt: Attempt,
    environment: RunEnvironment,
) -> FinishedRun:
    """Return how an exception ends a run.

    It is no attempt if the database was unavailable or the machine lacked something before the body
    began, or if the node stops before that.
    """
    if attempt.is_surrounded:
        called = attempt.body_is_called
    else:  # the journal has it as soon as the first hook is entered, which may have failed
        called = attempt.claim in environment.journal
    if called:
        return ended_by(error, attempt, environment)
    if isinstance(attempt.order, Interrupted):
        return FinishedRun(attempt.claim, None, error, unbegun=True)
    if attempt.order is None and (
        is_transient(error) or lacks_resource(error) or isinstance(error, LargeValuesUnavailable)
    ):
        return unbegun(attempt.claim, error)
    return ended_by(error, attempt, environment)


def unbegun(claim: Claim, error: BaseException) -> FinishedRun:
    """Return how a run ends whose body cannot begin here for now: its job is handed back."""
    log.warning("job %d (%s) cannot begin yet: %s", claim.id, claim.type, error)
    return FinishedRun(claim, None, error, unbegun=True)


def ended_by(
    error: BaseException,
    attempt: Attempt,
    environment: RunEnvironment,
) -> FinishedRun:
    """Return how a run ends that has raised this error, or that was stopped with it."""
    outcome = outcome_of(attempt, error)
    return finish(attempt, outcome, environment.rng, error)


def load(attempt: Attempt, database: Database) -> None:
    """Load the parameters, and the results of the jobs before if the type takes them.

    Raises `ValidationError` or `PreviousResultMissing` if they are not as the type declares them.
    """
    job_type, claim = attempt.job_type, attempt.claim
    if isinstance(job_type.parameters, MappedParameters):
        attempt.params = database.autocommit(parameters.load, job_type.parameters.mapped, claim.id)
    else:
        attempt.params = job_type.parameters.load(claim.params)
    if job_type.takes is not None:
        attempt.previous = _results_before(
            job_type.takes, claim, database, job_type.parameters.files
        )


def _results_before(
    takes: TakenResults, claim: Claim, database: Database, files: LargeValues | None
) -> Any:
    try:
        found = database.autocommit(results_before, claim.id, most=MOST_JOBS, most_bytes=MOST_BYTES)
    except TooMuchError as error:
        raise PreviousResultMissing(
            f"the jobs before this one have {error}; read them with job.group.results(), which"
            " takes a part at a time"
        ) from None
    if found is not None:
        found = [
            each if each.text is None else each._replace(text=open_text(files, each.text))
            for each in found
        ]
    return takes.value_of(found)


def stored_result(result: Any, attempt: Attempt) -> str | None:
    """Return what is stored in the row of a result; a large one may go to a store of files.

    If the store does not answer for a few seconds, the result is stored in the row.
    """
    text = result_text(result, attempt.job_type.max_result_bytes)
    files: LargeValues | None = attempt.job_type.parameters.files
    if files is None or text is None:
        return text
    for pause in STORE_PAUSES if _is_large(text, files) else ():
        try:
            return files.replaced(text)
        except LargeValuesUnavailable as error:
            log.warning("the result of job %d waits: %s", attempt.claim.id, error)
            time.sleep(pause)
    return text


async def stored_result_of_coroutine(
    result: Any, attempt: Attempt, database: Database
) -> str | None:
    """Do the same for a coroutine: only what writes to a store of files needs a thread."""
    files = attempt.job_type.parameters.files
    if files is None or result is None:
        return result_text(result, attempt.job_type.max_result_bytes)
    return await database.in_thread(partial(stored_result, result, attempt))


def _is_large(text: str, files: LargeValues) -> bool:
    if STORED in text and is_reference(json.loads(text)):
        raise TypeError(f"the result cannot be stored: {STORED} is a reserved name")
    return len(text) > files.over


def result_text(result: Any, most_bytes: int) -> str | None:
    """Return a result as JSON text; raise TypeError if it is too long or not JSON."""
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


def _run(attempt: Attempt, context: JobContext[Any], environment: RunEnvironment) -> FinishedRun:
    attempt.check()
    transaction = attempt.job_type.transaction(context)
    if transaction is None:
        _begin(attempt, environment)
        if isinstance(attempt.job_type.parameters, MappedParameters):
            # Their relationships load on a connection that is opened at their first use.
            from sqlalchemy.orm import Session

            with Session(environment.database.without_transaction(), autoflush=False) as session:
                attempt.params = session.merge(attempt.params, load=False)
                result = environment.call(attempt, context)
        else:
            result = environment.call(attempt, context)
        attempt.check_end()
        return _finish_returned(stored_result(result, attempt), attempt, environment)
    if isinstance(transaction, str):
        transaction = environment.database.transaction(transaction)
    with cast("AbstractContextManager[Any]", transaction) as entered:
        connection = _own_connection(entered, environment.database)
        attempt.connection = connection
        attempt.session = _session_in(entered)
        if connection is not None and isinstance(attempt.job_type.parameters, MappedParameters):
            attempt.params = context.session.merge(
                attempt.params, load=False
            )  # open for as long as relationships may load
        _begin(attempt, environment)
        with nullcontext() if connection is None else forbid_commit(connection):
            with _ending_in_a_child():
                result = environment.call(attempt, context)
            text = stored_result(result, attempt)
            attempt.check_end()
            if connection is not None:
                context.session.flush()
        if connection is not None:
            settle_within(connection, attempt, text, environment.node)
    return _finish_committed(attempt, text, own=connection is not None)


def _begin(attempt: Attempt, environment: RunEnvironment) -> None:
    """Record that the body itself is called now; inside hooks, it counts as begun with them."""
    if attempt.is_surrounded:
        attempt.body_is_called = True
    else:
        environment.journal.begin(attempt.claim)


def _finish_returned(
    text: str | None, attempt: Attempt, environment: RunEnvironment
) -> FinishedRun:
    """Return the end of a body that has returned outside a transaction."""
    claim = attempt.claim
    if text is not None:
        return FinishedRun(claim, finished(claim, text))
    if attempt.label is None:
        environment.journal.succeed(claim)
    return FinishedRun(claim, finished(claim))


def _finish_committed(attempt: Attempt, text: str | None, *, own: bool) -> FinishedRun:
    """Return the end of a body whose transaction is committed; `own`: it was on Horae's database
    and finished the job.
    """
    settlement = None if own else finished(attempt.claim, text)
    return FinishedRun(attempt.claim, settlement, already=own, releases=attempt.releases)


async def _run_async(
    attempt: Attempt, context: JobContext[Any], environment: RunEnvironment
) -> FinishedRun:
    attempt.check()
    transaction = attempt.job_type.transaction(context)
    if transaction is None:
        _begin(attempt, environment)
        result = await attempt.job_type.run(context)
        attempt.check_end()
        text = await stored_result_of_coroutine(result, attempt, environment.database)
        return _finish_returned(text, attempt, environment)
    if isinstance(transaction, str):
        transaction = environment.database.async_transaction(transaction)
    async with cast("AbstractAsyncContextManager[Any]", transaction) as entered:
        connection = await _own_async_connection(entered, environment.database)
        attempt.async_connection = connection
        attempt.async_session = _async_session_in(entered)
        if connection is not None and isinstance(attempt.job_type.parameters, MappedParameters):
            attempt.params = await context.async_session.merge(attempt.params, load=False)
        _begin(attempt, environment)
        with nullcontext() if connection is None else forbid_commit(sync_connection_of(connection)):
            with _ending_in_a_child():
                result = await attempt.job_type.run(context)
            text = await stored_result_of_coroutine(result, attempt, environment.database)
            attempt.check_end()
            if connection is not None:
                await context.async_session.flush()
        if connection is not None:
            await connection.run_sync(settle_within, attempt, text, environment.node)
    return _finish_committed(attempt, text, own=connection is not None)


def sync_connection_of(connection: "AsyncConnection") -> Connection:
    """Return the synchronous connection under an asynchronous one that is open."""
    if connection.sync_connection is None:
        raise InvalidRequest("the transaction of this job was not begun")
    return connection.sync_connection


@contextmanager
def _ending_in_a_child() -> Generator[None]:
    """End a child process forked by the body when the body ends in it, before anything is
    committed.
    """
    here = Forks.count
    try:
        yield
    except BaseException as error:
        if Forks.count != here:
            end_child(error)
        raise
    if Forks.count != here:
        end_child(None)


def settle_within(
    connection: Connection, attempt: Attempt, result: str | None, node: NodeId
) -> None:
    """Finish the job as the last statement of its transaction; raise `Overtaken` to roll back."""
    claim = attempt.claim
    attempt.run_before_end(connection)
    attempt.commit_began = time.monotonic()
    settlement = finished(claim, result)._replace(label=attempt.label, took=attempt.took)
    settled = settling.settle(connection, node, [settlement])
    if claim.id not in settled.settled:
        raise Overtaken
    attempt.releases = attempt.releases or bool(settled.follow_ups.released)


def _session_in(entered: Any) -> "Session | None":
    """Return what a transaction has entered if it is a session, without loading the ORM for one
    that is none.
    """
    if entered is None or isinstance(entered, Connection):
        return None
    from sqlalchemy.orm import Session

    return entered if isinstance(entered, Session) else None


def _async_session_in(entered: Any) -> "AsyncSession | None":
    from sqlalchemy.ext.asyncio import AsyncSession

    return entered if isinstance(entered, AsyncSession) else None


def _own_connection(entered: Any, database: Database) -> Connection | None:
    """Return the connection to settle on, if the job type's transaction is on Horae's database."""
    session = _session_in(entered)
    connection = entered if session is None else session.connection()
    if not isinstance(connection, Connection) or not database.is_at(connection.engine.url):
        return None
    database.adopt(connection)
    return connection


async def _own_async_connection(entered: Any, database: Database) -> "AsyncConnection | None":
    from sqlalchemy.ext.asyncio import AsyncConnection

    session = _async_session_in(entered)
    connection = entered if session is None else await session.connection()
    if not isinstance(connection, AsyncConnection) or not database.is_at(connection.engine.url):
        return None
    await connection.run_sync(database.adopt)
    return connection
