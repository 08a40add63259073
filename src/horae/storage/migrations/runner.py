"""Migrate a database from one revision to another, and reject one that this program cannot use."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DBAPIError, OperationalError

from horae.domain.cluster import LivenessLimits
from horae.errors import (
    ConfigurationError,
    DatabaseBusy,
    InvalidRequest,
    SchemaMismatch,
    Unavailable,
)
from horae.storage.engine import (
    LOCK_SUFFIX,
    POSTGRESQL,
    SQLITE,
    Database,
    is_abandoned,
    may_be_of_changed_tables,
    seconds_since,
    shown,
    side_car_path,
)
from horae.storage.jobs import nodes
from horae.storage.migrations import version
from horae.storage.migrations.version import (
    BASE,
    current_revision,
    distance,
    is_compatible,
    stored_revision,
)

ENCODING: Final = "UTF8"
"""The encoding that a PostgreSQL database needs."""
# PostgreSQL keeps a key of two numbers apart from keys of one number, such as those of nodes.
_LOCK: Final = select(func.pg_advisory_xact_lock(0x486F7261, 0x65))


@dataclass(frozen=True, slots=True)
class MigrationStatus:
    """The revision of a database compared with the one that this program needs."""

    current: str | None
    """The revision of the database; None: not migrated yet."""
    head: str
    """The newest revision that this program knows, which it needs."""
    pending: list[str]
    ahead: bool
    """Whether a newer program has migrated the database to a revision that this one does not know.
    """
    usable: bool
    """Whether this program can use the tables: at its own revision, or at a newer, compatible one.
    """


def upgrade(database: Database, revision: str = "head") -> bool:
    """Migrate up to `revision`, and return whether anything has changed: nothing does if the
    database is already there or past it.

    Raises `InvalidRequest` for a revision that does not exist, `SchemaMismatch` for a database that
    a newer program has migrated so that this one cannot use it, and while nodes run that could not
    use the new tables, `ConfigurationError` for an encoding other than UTF8, `DatabaseBusy` and
    `Unavailable`.
    """
    return _migrate(database, _resolve(revision), up=True)


def downgrade(database: Database, revision: str) -> None:
    """Migrate down to `revision`, dropping what newer revisions added, with its data.

    Raises the same as `upgrade`, and `SchemaMismatch` while any node runs.
    """
    _migrate(database, _resolve(revision), up=False)


def status(database: Database) -> MigrationStatus:
    """Compare the database with this program, without changing or creating anything."""
    current = _revision_of(database)
    ahead = current not in (None, *version.REVISIONS)
    return MigrationStatus(
        current=current,
        head=version.HEAD,
        pending=[] if ahead else list(version.REVISIONS[distance(BASE, current or BASE) :]),
        ahead=ahead,
        usable=_is_usable(database, current),
    )


def sql(dialect: str, *, start: str = BASE, end: str = "head", up: bool = True) -> str:
    """Return the statements from revision `start` to `end` on `dialect` (`postgresql`, `sqlite`).

    The text is empty if `end` is not above `start`, or not below it for `up=False`. Raises
    `InvalidRequest` for a revision or dialect that does not exist.
    """
    if dialect not in (POSTGRESQL, SQLITE):
        raise InvalidRequest(
            f"dialect {dialect!r} is not supported; allowed are postgresql, sqlite"
        )
    first, last = _resolve(start), _resolve(end)
    if not _leads(first, last, up=up):
        return ""
    from horae.storage.migrations import scripts  # noqa: PLC0415 - Alembic is slow to import

    return scripts.render(dialect, first, last)


def check(database: Database) -> None:
    """Raise `SchemaMismatch` unless this program can use the tables of the database."""
    current = _revision_of(database)
    if not _is_usable(database, current):
        raise mismatch(current)


def check_open(connection: Connection) -> None:
    """Raise `SchemaMismatch` if an open database got tables that this program cannot use."""
    current = stored_revision(connection)
    if current != version.HEAD and (
        current in (None, *version.REVISIONS) or not is_compatible(connection)
    ):
        raise mismatch(current)


def ensure(database: Database) -> None:
    """Migrate a SQLite file, or raise `SchemaMismatch` for unusable tables of a PostgreSQL server.

    A SQLite file belongs to the program. A PostgreSQL server is shared: the start of a new program
    must not change the schema while old programs are still running. Should the tables be migrated
    later, errors of statements say so.
    """
    try:
        current = _revision_of(database)
        if not _is_usable(database, current):
            if database.dialect != SQLITE:
                raise mismatch(current)
            upgrade(database)
    except DatabaseBusy as error:
        raise DatabaseBusy(
            f"the database cannot be opened: {error}; before the first start in a transaction of"
            " your own call `open()` of the application, or run `horae migrate up`"
        ) from error

    def check_after_error(connection: Connection) -> None:
        try:
            check_open(connection)
        except SchemaMismatch as error:
            raise SchemaMismatch(
                "the tables have changed since this program opened the database, so restart it:"
                f" {error}"
            ) from None
        except DBAPIError as error:
            if not may_be_of_changed_tables(error):
                raise
            raise SchemaMismatch(
                "the tables that this program has opened cannot be found any more: they were"
                " removed or renamed, or the search_path of its role was changed; run `horae"
                " doctor` to find the cause"
            ) from error

    database.check_tables = check_after_error


def move(connection: Connection, target: str, *, up: bool) -> bool:
    """Migrate in the transaction of `connection` in one direction; other migrations wait for it.

    Returns whether anything has changed.
    """
    if connection.dialect.name == POSTGRESQL:
        connection.execute(_LOCK)
    # The revision is read under the lock, because another process may have migrated first.
    current = current_revision(connection)
    if current not in (None, *version.REVISIONS):
        if up and is_compatible(connection):
            return False  # a newer program has done all that this one needs
        raise mismatch(current)
    if not _leads(current or BASE, target, up=up):
        return False
    if current is None and connection.dialect.name == POSTGRESQL:
        refuse_encoding(connection)
    if current is not None and not (up and version.OLDEST_COMPATIBLE[target] <= current):
        refuse_beside_running_nodes(connection, target)
    from horae.storage.migrations import scripts  # noqa: PLC0415 - Alembic is slow to import

    scripts.run(connection, current or BASE, target)
    return True


def refuse_encoding(connection: Connection) -> None:
    """Raise `ConfigurationError` if the database cannot store every text."""
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
    if encoding != ENCODING:
        raise ConfigurationError(
            f"the database has the encoding {encoding}, in which not every text can be stored,"
            f" such as the error of a job; create it with ENCODING '{ENCODING}' TEMPLATE template0"
        )


def _migrate(database: Database, target: str, *, up: bool) -> bool:
    with _raising_unavailable(database):
        return database.transact(move, target, up=up)


def _revision_of(database: Database) -> str | None:
    file = database.url.database or ""
    if database.dialect == SQLITE and not file.startswith("file:") and not Path(file).exists():
        return None
    with _raising_unavailable(database):
        return database.autocommit(current_revision)


@contextmanager
def _raising_unavailable(database: Database) -> Generator[None]:
    try:
        yield
    except OperationalError as error:
        raise Unavailable(f"{shown(database.url)} does not answer: {error.orig}") from error


def _is_usable(database: Database, current: str | None) -> bool:
    if current is None or current in version.REVISIONS:
        return current == version.HEAD
    with _raising_unavailable(database):
        return database.autocommit(is_compatible)


def _leads(start: str, end: str, *, up: bool) -> bool:
    return distance(start, end) > 0 if up else distance(start, end) < 0


def _resolve(revision: str) -> str:
    if revision == "head":
        return version.HEAD
    if revision not in (BASE, *version.REVISIONS):
        raise InvalidRequest(
            f"revision {revision!r} does not exist; known revisions: base,"
            f" {', '.join(version.REVISIONS)}, head"
        )
    return revision


def mismatch(current: str | None) -> SchemaMismatch:
    """Return the error for a database at this revision that this program cannot use or migrate."""
    if current is None:
        return SchemaMismatch("the database has no tables yet: run `horae migrate up`")
    if current in version.REVISIONS:
        return SchemaMismatch(
            f"the database is at revision {current}, this program needs {version.HEAD}: run `horae"
            " migrate up`"
        )
    return SchemaMismatch(
        f"this database was migrated by a newer version (revision {current}; this program knows up"
        f" to {version.HEAD}): upgrade the program"
    )


MOST_NAMED: Final = 5
"""Maximum number of nodes that the message names."""

_NO_NEW_NODES: Final = text(f"LOCK TABLE {nodes.name} IN SHARE MODE")
_NODES: Final = select(
    nodes.c.id, nodes.c.name, seconds_since(nodes.c.heartbeat_at).label("silence")
)


def refuse_beside_running_nodes(connection: Connection, revision: str) -> None:
    """Raise `SchemaMismatch` if a node lives; a node that was stopped has no row any more.

    A node that starts meanwhile waits with its registration until the migration ends, and then
    compares the revision. On SQLite the migration holds the write lock anyway.
    """
    if connection.dialect.name != SQLITE:
        connection.execute(_NO_NEW_NODES)
    found = connection.execute(_NODES).all()
    if connection.dialect.name == SQLITE:
        folder = side_car_path(connection.engine, "nodes")
        files = [(row.name, folder / f"{row.id}{LOCK_SUFFIX}") for row in found]
        names = sorted(name for name, file in files if file.exists() and not is_abandoned(file))
    else:
        names = sorted(row.name for row in found if row.silence < LivenessLimits().silence)
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        raise SchemaMismatch(
            f"nodes are running that cannot use the tables of revision {revision}"
            f" ({', '.join(names[:MOST_NAMED])}{more}): stop all nodes first, then run the command"
            " again"
        )
