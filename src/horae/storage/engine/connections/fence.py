"""Keeps the body of a job from committing the transaction that the end of the job belongs to.

What a body commits by itself would stay although its job fails, and would be done again with the next attempt. Nested
transactions (savepoints) are the body's own affair. What it rolls back is gone, and the job with it.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from inspect import iscoroutinefunction
from typing import Any, Final
from weakref import WeakSet

from sqlalchemy import Connection, Engine, Pool, event

from horae.errors import InvalidRequest

_FENCED: Final = "horae_fenced"
_ENDING: Final = r"COMMIT|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO\b)"
_FIRST: Final = re.compile(rf"(?:\s|--[^\n]*\n|/\*.*?\*/|;)*(?:END|{_ENDING})\b", re.IGNORECASE | re.DOTALL)
_LATER: Final = re.compile(rf";\s*(?:{_ENDING})\b", re.IGNORECASE)

_listened = WeakSet[Engine]()
_listened_pools = WeakSet[Pool]()
"""Of engines whose variants, which `execution_options` makes, are watched with them."""


def listen(engine: Engine) -> None:
    """Watch the connections of an engine, once; it costs those that no body has next to nothing."""
    if engine in _listened or engine.pool in _listened_pools:
        return
    if type(engine) is Engine:
        _listened_pools.add(engine.pool)
    event.listen(engine, "commit", _refuse_commit)
    event.listen(engine, "before_cursor_execute", _refuse_statement)
    _listened.add(engine)


@contextmanager
def fenced(connection: Connection) -> Generator[None]:
    """Let nobody commit within the block. Raises `InvalidRequest` if its transaction is over at the end of it."""
    listen(connection.engine)
    connection.info[_FENCED] = True
    try:
        with _driver_fenced(connection.connection.driver_connection):
            yield
    finally:
        if not connection.invalidated:
            connection.info.pop(_FENCED, None)
    if not connection.in_transaction():
        raise InvalidRequest(
            "the body has rolled back its transaction, so its job cannot finish; roll back a savepoint (begin_nested) "
            "instead, or raise an error"
        )


@contextmanager
def _driver_fenced(driver: Any) -> Generator[None]:
    """The same for `commit` of the driver's own connection, which a body can get hold of as well.

    The application's own engine may have made it in C, where no method can be replaced.
    """
    replaceable = getattr(driver, "__dict__", {})
    replaceable["commit"] = _refuse_async if iscoroutinefunction(driver.commit) else _refuse
    try:
        yield
    finally:
        replaceable.pop("commit", None)


def _refuse() -> None:
    raise _refusal()


async def _refuse_async() -> None:
    raise _refusal()


def _refuse_commit(connection: Connection) -> None:
    if _FENCED in connection.info:
        connection.connection.rollback()  # SQLAlchemy takes the transaction for over whether it commits or raises
        raise _refusal()


def _refuse_statement(connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
    if _FENCED not in connection.info:
        return
    # A dollar may quote the body of a function, whose statements are not run now.
    if _FIRST.match(statement) or (";" in statement and "$" not in statement and _LATER.search(statement)):
        raise _refusal()


def _refusal() -> InvalidRequest:
    return InvalidRequest(
        "a body does not end its own transaction, which commits exactly if the job finishes; use a savepoint "
        "(begin_nested), or no transaction= for the job type"
    )
