"""Runs one body: opens its transaction, calls it, and returns what is to be written about it.

Never raises. A body that takes several jobs has a module of its own (`batches.py`).
"""

import time
from collections.abc import Generator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
    nullcontext,
)
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import Connection

from horae.domain.jobs import NodeId, finished
from horae.errors import InvalidJobType
from horae.quoting import quoted
from horae.runtime.bodies.batches import perform_batch, perform_batch_async
from horae.runtime.bodies.ending import begin, close, finish_returned, stopped_by
from horae.runtime.bodies.environment import RunEnvironment
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.bodies.forked_body import Forks, end_child
from horae.runtime.bodies.orders import Overtaken
from horae.runtime.bodies.surroundings import Surroundings
from horae.runtime.bodies.values import load, stored_result, stored_result_of_coroutine
from horae.storage.engine.connections import forbid_commit
from horae.storage.outcomes import settling
from horae.types import ISOLATIONS, Attempt, JobContext, Transaction
from horae.types.logs import logged_as
from horae.types.parameters import MappedParameters, ModelParameters

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


def perform(attempt: Attempt, environment: RunEnvironment) -> FinishedRun:
    """Run a body in this thread."""
    if attempt.job_type.batch is not None:
        return perform_batch(attempt, environment)
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
    return close(attempt, run, here, environment)


async def perform_async(attempt: Attempt, environment: RunEnvironment) -> FinishedRun:
    """Run a coroutine body in this task."""
    if attempt.job_type.batch is not None:
        return await perform_batch_async(attempt, environment)
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
    return close(attempt, run, here, environment)


def _run(attempt: Attempt, context: JobContext[Any], environment: RunEnvironment) -> FinishedRun:
    attempt.check()
    transaction = _transaction_of(attempt, context)
    if transaction is None:
        begin(attempt, environment)
        if isinstance(attempt.job_type.parameters, MappedParameters):
            # Their relationships load on a connection that is opened at their first use.
            from sqlalchemy.orm import Session

            with Session(environment.database.without_transaction(), autoflush=False) as session:
                attempt.params = session.merge(attempt.params, load=False)
                result = environment.call(attempt, context)
        else:
            result = environment.call(attempt, context)
        attempt.check_end()
        return finish_returned(stored_result(result, attempt), attempt, environment)
    if isinstance(transaction, str):
        transaction = environment.database.transaction(transaction)
    with cast("AbstractContextManager[Any]", transaction) as entered:
        attempt.session = own = _session_in(entered)
        connection = None  # to settle on, if the transaction is on Horae's database
        found = entered if own is None else own.connection()
        if isinstance(found, Connection) and environment.database.is_at(found.engine.url):
            environment.database.adopt(found)
            connection = found
        attempt.connection = connection
        if connection is not None and isinstance(attempt.job_type.parameters, MappedParameters):
            # Open for as long as relationships may load.
            attempt.params = context.session.merge(attempt.params, load=False)
        begin(attempt, environment)
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


def _transaction_of(attempt: Attempt, context: JobContext[Any]) -> Transaction:
    """Return the transaction to run in. Raises `InvalidJobType` for a text that is no isolation
    level: under others that the driver knows, such as autocommit, the effects of a failed body
    would stay.
    """
    transaction: Transaction = attempt.job_type.transaction(context)
    if isinstance(transaction, str) and transaction not in ISOLATIONS:
        allowed = ", ".join(map(repr, ISOLATIONS))
        raise InvalidJobType(
            f"job type {attempt.job_type.type!r}: its transaction is {quoted(transaction)},"
            f" expected one of {allowed}"
        )
    return transaction


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
    transaction = _transaction_of(attempt, context)
    if transaction is None:
        begin(attempt, environment)
        result = await attempt.job_type.run(context)
        attempt.check_end()
        text = await stored_result_of_coroutine(result, attempt, environment.database)
        return finish_returned(text, attempt, environment)
    if isinstance(transaction, str):
        transaction = environment.database.async_transaction(transaction)
    async with cast("AbstractAsyncContextManager[Any]", transaction) as entered:
        from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

        attempt.async_session = own = entered if isinstance(entered, AsyncSession) else None
        connection = None  # to settle on, if the transaction is on Horae's database
        found = entered if own is None else await own.connection()
        if isinstance(found, AsyncConnection) and environment.database.is_at(found.engine.url):
            await found.run_sync(environment.database.adopt)
            connection = found
        attempt.async_connection = connection
        if connection is not None and isinstance(attempt.job_type.parameters, MappedParameters):
            attempt.params = await context.async_session.merge(attempt.params, load=False)
        begin(attempt, environment)
        own_connection = attempt.any_connection
        with nullcontext() if own_connection is None else forbid_commit(own_connection):
            with _ending_in_a_child():
                result = await attempt.job_type.run(context)
            text = await stored_result_of_coroutine(result, attempt, environment.database)
            attempt.check_end()
            if connection is not None:
                await context.async_session.flush()
        if connection is not None:
            await connection.run_sync(settle_within, attempt, text, environment.node)
    return _finish_committed(attempt, text, own=connection is not None)


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
    settlement = finished(claim, result)._replace(
        label=attempt.label, took=attempt.took, next_meta=attempt.next_meta
    )
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
