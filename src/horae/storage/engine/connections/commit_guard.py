"""Prevent the body of a job from ending the transaction in which its job finishes.

What the body committed would remain if the job failed, and would be repeated by the next attempt.
The body may use savepoints (nested transactions). If it rolls back the whole transaction, its job
cannot finish in it. SQL that the body passes to the driver's own connection is not inspected; if
such SQL has ended the transaction, this is noticed afterwards.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast
from weakref import WeakSet

from sqlalchemy import Connection, Engine, Pool, event
from sqlalchemy.dialects.postgresql.base import PGDialect

from horae.errors import InvalidRequest
from horae.storage.engine.dialect import POSTGRESQL

_GUARDED: Final = "horae_transaction_of_a_body"
_IDLE: Final = 0
"""libpq's transaction status of a connection without a transaction."""
_METHODS: Final = ("commit", "rollback")
"""The methods of a driver's connection that end a transaction."""
_ENDING: Final = (
    r"COMMIT|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO\b)"
)
_ENDS_FIRST: Final = re.compile(
    rf"(?:\s|--[^\n]*\n|/\*.*?\*/|;)*(?:END|{_ENDING})\b", re.IGNORECASE | re.DOTALL
)
_ENDS_LATER: Final = re.compile(rf";\s*(?:{_ENDING})\b", re.IGNORECASE)

_listened = WeakSet[Engine]()
_listened_pools = WeakSet[Pool]()
"""The pools of watched engines; variants made by `execution_options` share the pool."""


def watch(engine: Engine) -> None:
    """Watch the connections of an engine; may be repeated.

    The cost is negligible while commits are not forbidden.
    """
    if engine in _listened or engine.pool in _listened_pools:
        return
    if type(engine) is Engine:
        _listened_pools.add(engine.pool)
    event.listen(engine, "commit", _refuse_commit)
    event.listen(engine, "before_cursor_execute", _refuse_statement)
    event.listen(engine, "after_cursor_execute", _note_statement)
    if engine.dialect.name == POSTGRESQL:
        # SQLAlchemy's method for psycopg rolls back afterwards if it began a transaction to ask;
        # the base class's method does not.
        read_level = partial(PGDialect.get_isolation_level, cast("PGDialect", engine.dialect))
        engine.dialect.get_isolation_level = read_level  # type: ignore[method-assign]
    _listened.add(engine)


class _Transaction:
    """The transaction of a body, as the driver's own connection shows it."""

    def __init__(self, driver: Any) -> None:
        # Where the connection is lent, the body may use that of its owner, such as Django's ORM.
        self._driver = getattr(driver, "owner", driver)
        self._began = False
        self.rolled_back = False
        self.is_over = False

    def note(self) -> None:
        """Note whether the driver has begun the transaction, perhaps with the first statement."""
        self._began = self._began or self._is_open()

    def check(self) -> None:
        """Raise `InvalidRequest` if the transaction has ended."""
        if self.rolled_back:
            raise _rolled_back()
        if self._began and not self._is_open():
            raise _refusal()

    def _is_open(self) -> bool:
        libpq = getattr(self._driver, "pgconn", None)
        if libpq is not None:
            return bool(libpq.transaction_status != _IDLE)
        return bool(getattr(self._driver, "in_transaction", self._began))

    @contextmanager
    def guarded(self) -> Generator[None]:
        """Refuse `commit` of the driver's connection, and notice its `rollback`.

        Does nothing for a connection implemented in C, whose methods cannot be replaced.
        """
        driver = self._driver
        replaceable = getattr(driver, "__dict__", {})
        # A body that runs another job inline may be on the same connection.
        before = {name: replaceable[name] for name in _METHODS if name in replaceable}

        def roll_back() -> Any:
            self.rolled_back = True
            return type(driver).rollback(driver)

        replaceable["commit"] = _refuse  # also where `commit` is a coroutine function
        replaceable["rollback"] = roll_back
        try:
            yield
        finally:
            for name in _METHODS:
                replaceable.pop(name, None)
            replaceable.update(before)


@contextmanager
def forbid_commit(connection: Connection) -> Generator[None]:
    """Refuse commits within the block; raises `InvalidRequest` if the transaction ended there."""
    watch(connection.engine)
    connection.info[_GUARDED] = transaction = _Transaction(connection.connection.driver_connection)
    try:
        transaction.note()  # the owner of a lent connection may have begun it
        with transaction.guarded():
            yield
    finally:
        # The body may have closed the connection, or detached it from its pool.
        transaction.is_over = True
    if not connection.invalidated:
        transaction.check()
    if not connection.in_transaction():
        raise _rolled_back()


def _guarded(connection: Connection) -> _Transaction | None:
    found: _Transaction | None = connection.info.get(_GUARDED)
    return None if found is None or found.is_over else found


def _refuse() -> None:
    raise _refusal()


def _refuse_commit(connection: Connection) -> None:
    if _guarded(connection) is not None:
        # SQLAlchemy considers the transaction ended, even if this raises.
        connection.connection.rollback()
        raise _refusal()


def _refuse_statement(connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
    transaction = _guarded(connection)
    if transaction is None:
        return
    transaction.check()
    refuse_ending(statement)


def refuse_ending(statement: str) -> None:
    """Raise `InvalidRequest` for a statement that would end the transaction of a body."""
    # Dollar quotes may enclose the body of a function, whose statements are not executed now.
    if _ENDS_FIRST.match(statement) or (
        ";" in statement and "$" not in statement and _ENDS_LATER.search(statement)
    ):
        raise _refusal()


def _note_statement(connection: Connection, *_: Any) -> None:
    transaction = _guarded(connection)
    if transaction is not None:
        transaction.note()


def _refusal() -> InvalidRequest:
    return InvalidRequest(
        "the body of a job must not end its transaction, which is committed if the job finishes;"
        " use a savepoint (begin_nested), or declare the job type without transaction="
    )


def _rolled_back() -> InvalidRequest:
    return InvalidRequest(
        "the body has rolled back its transaction, so its job cannot finish; roll back a savepoint"
        " (begin_nested) instead, or raise an error"
    )
