"""Horae's statements in the transactions of Django's own connection.

While a thread is inside `transaction.atomic` on the alias of Horae's database, its calls join that
transaction: a job exists exactly if it commits. Hints about it are sent after the commit.
"""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any, Final

from django.core import mail
from django.db import DatabaseError, InterfaceError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import TransactionManagementError
from sqlalchemy import Connection

from horae.contrib.django.databases import connection_of, url_of
from horae.contrib.django.threads import DjangoThreads
from horae.errors import ConfigurationError, DatabaseBusy, Unavailable
from horae.forking import ForkSafeLock
from horae.storage.engine import DATABASE_ERRORS, Lending, lending, lent
from horae.storage.engine.connections import refuse_ending

LENT: Final = "_horae_lent"
"""The attribute of Django's connection that keeps what was made of the driver's connection."""
IN_USE: Final = "_horae_in_use"
"""The attribute that holds the lent connection while it is used, such as that of a body."""

FAILED_TRANSACTION: Final = "25P02"
"""PostgreSQL's code for a statement after an error: here that which finishes the job."""
SPOILED: Final = (
    "the body has caught a database error, or asked for a rollback, so that Django cannot commit"
    " its transaction and its job cannot finish; put the statements that may fail into an atomic"
    " block of their own"
)


class DjangoTransactions:
    """The transactions on one alias of Django's `DATABASES`."""

    def __init__(self, alias: str) -> None:
        self.alias = alias
        self._lending: tuple[str, Lending] | None = None
        self._lock = ForkSafeLock()

    def lend(self) -> AbstractContextManager[Connection] | None:
        """Lend Django's connection while this thread has a transaction open on it."""
        wrapper = connection_of(self.alias)
        if not wrapper.in_atomic_block:
            if hasattr(mail, "outbox"):  # Django's mark of a test run
                # Raises what a test gets that may not use databases: without it a job would be
                # started where the project works.
                was_open = wrapper.connection is not None
                wrapper.cursor().close()
                if not was_open:  # no server drops the database of tests while one is open
                    wrapper.close()
            return None
        in_use: Connection | None = vars(wrapper).get(IN_USE)
        return self._lent(wrapper) if in_use is None else nullcontext(in_use)

    def after_commit(self, call: Callable[[], None], /) -> None:
        """Call a function after the commit of this thread's transaction; at once without one."""
        if connection_of(self.alias).in_atomic_block:
            transaction.on_commit(call, using=self.alias, robust=True)
        else:
            call()

    def caller_threads(self, count: int, /) -> DjangoThreads:
        """Return the threads on which coroutines call the database, up to `count` for each use."""
        return DjangoThreads(self.alias, count)

    @contextmanager
    def begun(self) -> Generator[Connection]:
        """Open a transaction of Django for a body, and yield its connection.

        Raises `Unavailable` if it cannot begin now, and `TransactionManagementError` instead of
        committing nothing, if the body has caught an error that spoils the transaction.
        """
        wrapper = connection_of(self.alias)
        if not (wrapper.settings_dict["AUTOCOMMIT"] or wrapper.in_atomic_block):
            raise ConfigurationError(
                f"DATABASES[{self.alias!r}]: with 'AUTOCOMMIT': False an atomic block of Django"
                " does not commit, so no job can finish in it; remove that line"
            )
        with ExitStack() as transactions:
            with _unavailable(), _taking_the_lock(wrapper):
                transactions.enter_context(transaction.atomic(using=self.alias))
            connection = transactions.enter_context(self._lent(wrapper))
            with wrapper.execute_wrapper(_refuse_ending):
                try:
                    yield connection
                except DATABASE_ERRORS as error:
                    sqlstate = getattr(getattr(error, "orig", None), "sqlstate", None)
                    if sqlstate != FAILED_TRANSACTION:
                        raise
                    raise TransactionManagementError(SPOILED) from error
            if wrapper.needs_rollback:
                raise TransactionManagementError(SPOILED)

    @contextmanager
    def _lent(self, wrapper: BaseDatabaseWrapper) -> Generator[Connection]:
        outer = vars(wrapper).get(IN_USE)  # that of a test around a body
        try:
            url = url_of(self.alias)
            with self._lock:
                if self._lending is None or self._lending[0] != url:
                    self._lending = url, lending(url, self._driver)
                lend = self._lending[1]
            with lend() as connection:
                vars(wrapper)[IN_USE] = connection
                yield connection
        except DATABASE_ERRORS:
            # Django checks its connection before it uses it again.
            wrapper.errors_occurred = True
            raise
        finally:
            vars(wrapper)[IN_USE] = outer

    def _driver(self) -> Any:
        """Return the driver's connection of this thread as it is lent."""
        wrapper = connection_of(self.alias)
        wrapper.ensure_connection()
        owner, made = vars(wrapper).get(LENT, (None, None))
        if owner is not wrapper.connection:
            owner, made = wrapper.connection, lent(wrapper.connection)
            vars(wrapper)[LENT] = owner, made
        return made


@contextmanager
def _unavailable() -> Generator[None]:
    """Raise `Unavailable` for what Django raises: the body has not begun, and may begin later."""
    try:
        yield
    except (DatabaseError, InterfaceError) as error:
        kind = DatabaseBusy if "locked" in str(error) else Unavailable
        raise kind(f"Django cannot begin a transaction: {error}") from error


@contextmanager
def _taking_the_lock(wrapper: BaseDatabaseWrapper) -> Generator[None]:
    """Let a transaction on SQLite begin with the write lock: a body that reads before it writes
    would be refused the lock if anybody has written meanwhile.
    """
    wrapper.ensure_connection()
    given = vars(wrapper)
    # Only the connections to files have a mode.
    if wrapper.in_atomic_block or given.get("transaction_mode", "of a server") is not None:
        yield
        return
    given["transaction_mode"] = "IMMEDIATE"
    try:
        yield
    finally:
        given["transaction_mode"] = None


def _refuse_ending(
    execute: Callable[..., Any], sql: Any, params: Any, many: Any, context: Any
) -> Any:
    """Refuse statements that would end the transaction of a body."""
    refuse_ending(str(sql))
    return execute(sql, params, many, context)
