"""Calls a function before each statement and commit of job bodies, for `horae.testing`."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event


@contextmanager
def watched_statements(
    before_statement: Callable[[str], None],
    before_commit: Callable[[], None],
    ignored: Iterable[Engine],
) -> Generator[None]:
    """Call the functions for all SQLAlchemy connections, except those of the `ignored` engines."""
    pools = {id(engine.pool) for engine in ignored}

    def on_statement(connection: Connection, _cursor: Any, statement: str, *_: Any) -> None:
        if id(connection.engine.pool) not in pools:
            before_statement(statement)

    def on_commit(connection: Connection) -> None:
        if id(connection.engine.pool) not in pools:
            before_commit()

    event.listen(Engine, "before_cursor_execute", on_statement)
    event.listen(Engine, "commit", on_commit)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", on_statement)
        event.remove(Engine, "commit", on_commit)
