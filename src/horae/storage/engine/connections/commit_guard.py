"""Prevent the body of a job from committing the transaction in which its job finishes.

What the body committed would remain if the job failed, and would be repeated by the next attempt. The body may use
savepoints (nested transactions). If it rolls back the whole transaction, its job cannot finish in it.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from inspect import iscoroutinefunction
from typing import Any, Final
from weakref import WeakSet

from sqlalchemy import Connection, Engine, Pool, event

from horae.errors import InvalidRequest

_COMMIT_FORBIDDEN: Final = "horae_commit_forbidden"
_ENDING: Final = r"COMMIT|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO\b)"
_ENDS_FIRST: Final = re.compile(rf"(?:\s|--[^\n]*\n|/\*.*?\*/|;)*(?:END|{_ENDING})\b", re.IGNORECASE | re.DOTALL)
_ENDS_LATER: Final = re.compile(rf";\s*(?:{_ENDING})\b", re.IGNORECASE)

_listened = WeakSet[Engine]()
_listened_pools = WeakSet[Pool]()
"""The pools of watched engines; variants made by `execution_options` share the pool and are watched with them."""


def watch(engine: Engine) -> None:
    """Watch the connections of an engine; may be repeated. The cost is negligible while commits are not forbidden."""
    if engine in _listened or engine.pool in _listened_pools:
        return
    if type(engine) is Engine:
        _listened_pools.add(engine.pool)
    event.listen(engine, "commit", _refuse_commit)
    event.listen(engine, "before_cursor_execute", _refuse_statement)
    _listened.add(engine)


@contextmanager
def forbid_commit(connection: Connection) -> Generator[None]:
    """Refuse commits within the block. Raises `InvalidRequest` if the transaction was ended within it."""
    watch(connection.engine)
    connection.info[_COMMIT_FORBIDDEN] = True
    try:
        with _forbid_driver_commit(connection.connection.driver_connection):
            yield
    finally:
        if not connection.invalidated:
            connection.info.pop(_COMMIT_FORBIDDEN, None)
    if not connection.in_transaction():
        raise InvalidRequest(
            "the body has rolled back its transaction, so its job cannot finish; roll back a savepoint (begin_nested) "
            "instead, or raise an error"
        )


@contextmanager
def _forbid_driver_commit(driver: Any) -> Generator[None]:
    """Refuse `commit` of the driver's own connection, too, which a body can reach.

    Does nothing for a driver's connection that is implemented in C, whose methods cannot be replaced.
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
    if _COMMIT_FORBIDDEN in connection.info:
        connection.connection.rollback()  # SQLAlchemy considers the transaction ended, even if this raises
        raise _refusal()


def _refuse_statement(connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
    if _COMMIT_FORBIDDEN not in connection.info:
        return
    # Dollars may quote the body of a function, whose statements are not executed now.
    if _ENDS_FIRST.match(statement) or (";" in statement and "$" not in statement and _ENDS_LATER.search(statement)):
        raise _refusal()


def _refusal() -> InvalidRequest:
    return InvalidRequest(
        "the body of a job must not end its transaction, which is committed if the job finishes; use a savepoint "
        "(begin_nested), or declare the job type without transaction="
    )
