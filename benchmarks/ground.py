"""The common ground of both sides: one database, the application on it, and a raw connection to it."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.application import Measured
from benchmarks.raw import Raw, RawPostgres, RawSqlite
from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.harness.postgres import PostgresServer


@dataclass(frozen=True, slots=True)
class Ground:
    """One database with both sides on it."""

    url: str
    application: Measured
    raw: Raw

    @property
    def name(self) -> str:
        return self.raw.name

    def clear(self) -> None:
        self.raw.clear()


@dataclass(frozen=True, slots=True)
class Scale:
    """How much to measure. `jobs` is the size of one drain; smaller work is a share of it."""

    rounds: int = 5
    jobs: int = 20_000

    def share(self, divisor: int, *, least: int = 2) -> int:
        return max(least, self.jobs // divisor)


Grounds = Sequence[Ground]
SAMPLE = 1000
"""Rows that are inserted before the databases collect statistics, as autovacuum does within a minute."""


@contextmanager
def open_grounds() -> Iterator[Grounds]:
    """Yield a PostgreSQL server with default settings and a SQLite file, on the same disk."""
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer())
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="horae-benchmarks-")))
        yield [
            stack.enter_context(opened(server.create_database())),
            stack.enter_context(opened(f"sqlite:///{folder / 'horae.db'}")),
        ]


@contextmanager
def opened(url: str) -> Iterator[Ground]:
    with closing(Database(url)) as database:
        upgrade(database)
    application = Measured(url)
    raw: Raw = (
        RawPostgres(url)
        if url.startswith("postgresql")
        else RawSqlite(url.removeprefix("sqlite:///"))
    )
    with closing(raw), closing(application.horae):
        application.horae.jobs.start_many(application.noop, [{}] * SAMPLE)
        raw.fill(SAMPLE)
        raw.analyze()
        yield Ground(url, application, raw)
