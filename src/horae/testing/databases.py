"""Temporary databases of the same kind as that of the application, copied from an empty one.

The empty one with all tables is made once for each process and server, because migrations take
longer than most tests.
"""

import atexit
import shutil
import tempfile
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from horae.app import Horae
from horae.errors import HoraeError, InvalidRequest
from horae.opened import JoinsTransactions
from horae.runtime.bodies import in_event_loop
from horae.storage.engine import normalised
from horae.storage.operations import for_tests

_empty: dict[str, Any] = {}
"""The empty database of each server, and the file with that of SQLite."""


@contextmanager
def temporary_database(url: str) -> Generator[str]:
    """Yield the URL of a database with all tables and no rows, which is gone afterwards."""
    given = normalised(url)
    if given.get_backend_name() == "sqlite":
        with tempfile.TemporaryDirectory(
            prefix="horae-test-", ignore_cleanup_errors=True
        ) as folder:
            file = Path(folder) / "test.db"
            shutil.copy(empty_file(), file)
            yield f"sqlite:///{file}"
        return
    server = f"{given.host}:{given.port}"
    if server not in _empty:
        template = for_tests.create_database(given)
        atexit.register(_drop, template)
        with closing(Horae(template.render_as_string(hide_password=False), hints=False)) as horae:
            horae.migrate()
            horae.components.database.transact(for_tests.install_clock)
        _empty[server] = template
    made = for_tests.create_database(given, _empty[server])
    try:
        yield made.render_as_string(hide_password=False)
    finally:
        for_tests.drop_database(made)


@contextmanager
def url_beside(connection: Connection) -> Generator[str]:
    """Yield the URL of a database that works in the transaction of a connection.

    On SQLite it is a file that nobody opens: the connection may have its database in memory, and
    what is kept beside the file must not outlive the test.
    """
    if connection.dialect.name != "sqlite":
        yield connection.engine.url.render_as_string(hide_password=False)
        return
    driver: Any = connection.connection.driver_connection
    if not driver.in_transaction:  # the driver begins none before a savepoint
        connection.exec_driver_sql("BEGIN")
    with tempfile.TemporaryDirectory(prefix="horae-test-", ignore_cleanup_errors=True) as folder:
        yield f"sqlite:///{folder}/lent.db"


def transaction_of_test(joins: JoinsTransactions) -> AbstractContextManager[Connection]:
    """Return the connection of the transaction that a framework has begun for the test, such as
    Django's; raises `InvalidRequest` if there is none.
    """
    if in_event_loop():
        raise InvalidRequest(
            "testing works in the transaction of the test, which is that of its thread and not of"
            " a coroutine: make the test a `def`, and call coroutines by async_to_sync"
        )
    joined = joins.lend()
    if joined is None:
        raise InvalidRequest(
            "testing works in the transaction of the test here, and none is open: make the test a"
            " method of django.test.TestCase"
        )
    return joined


@contextmanager
def settings_replaced(horae: Horae, changes: Mapping[str, Any]) -> Generator[None]:
    """Give an application other settings within the block, and close it before and after that."""
    before = horae.settings
    horae.close()
    horae.settings = before.model_copy(update=changes)
    try:
        yield
    finally:
        horae.close()
        horae.settings = before


def _drop(template: Any) -> None:
    with suppress(HoraeError):  # the server may have stopped before this process
        for_tests.drop_database(template)


def empty_file() -> Path:
    """Return a SQLite file with all tables and no rows, to be copied."""
    if "sqlite" not in _empty:
        folder = tempfile.TemporaryDirectory(prefix="horae-empty-", ignore_cleanup_errors=True)
        atexit.register(folder.cleanup)
        file = Path(folder.name) / "empty.db"
        with closing(Horae(f"sqlite:///{file}", hints=False)) as horae:
            horae.open()
        _empty["sqlite"] = file
    empty: Path = _empty["sqlite"]
    return empty
