"""What is measured while the soak runs: the processes by `/proc`, and the tables."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from benchmarks.soak.nodes import Incarnation

PAGE_SIZE: Final = os.sysconf("SC_PAGE_SIZE")
MEGABYTE: Final = 1024 * 1024
TABLES: Final = (
    "horae_jobs",
    "horae_job_attempts",
    "horae_ticks",
    "horae_nodes",
    "horae_schedules",
    "horae_deployments",
    "horae_audit",
    "horae_sessions",
)
BACKLOG: Final = text("SELECT count(*) FROM horae_jobs WHERE state = 'pending' AND queue <> 'held'")
CHANGING: Final = (
    "horae_jobs",
    "horae_job_attempts",
    "horae_ticks",
    "horae_schedules",
    "horae_nodes",
    "horae_live_jobs",
)
"""Tables whose rows are updated or deleted often, so that PostgreSQL has to vacuum them."""
POSTGRES_SIZES: Final = text(
    "SELECT relname AS name, n_dead_tup AS dead, pg_total_relation_size(relid) AS size FROM pg_stat_user_tables "
    "WHERE relname = ANY(:tables)"
)
SQLITE_SIZES: Final = text(
    "SELECT m.tbl_name AS name, sum(s.pgsize) AS size FROM dbstat AS s JOIN sqlite_master AS m ON m.name = s.name "
    "WHERE m.tbl_name LIKE 'horae%' GROUP BY m.tbl_name"
)


@dataclass(frozen=True, slots=True)
class Point:
    """One value at a time, in seconds since the begin of the run."""

    at: float
    value: float


@dataclass
class Series:
    """The values of one figure over time, such as the memory of one process."""

    figure: str
    subject: str
    unit: str
    points: list[Point] = field(default_factory=list[Point])

    def within(self, start: float, end: float) -> list[Point]:
        return [point for point in self.points if start <= point.at < end]


@dataclass
class Measures:
    """All series of one run, by figure and subject."""

    series: dict[tuple[str, str], Series] = field(default_factory=dict[tuple[str, str], Series])

    def add(self, at: float, figure: str, subject: str, value: float, unit: str) -> None:
        found = self.series.setdefault((figure, subject), Series(figure, subject, unit))
        found.points.append(Point(at, value))

    def of(self, figure: str) -> list[Series]:
        return [series for series in self.series.values() if series.figure == figure]


def process_figures(pid: int) -> dict[str, tuple[float, str]]:
    """Return the memory, descriptors, threads and child processes of a process; raises OSError if it has ended."""
    folder = Path(f"/proc/{pid}")
    pages = int((folder / "statm").read_text().split()[1])
    threads = list((folder / "task").iterdir())
    children = sum(_children_of(thread) for thread in threads)
    return {
        "memory": (pages * PAGE_SIZE / MEGABYTE, "MB"),
        "descriptors": (len(list((folder / "fd").iterdir())), ""),
        "threads": (len(threads), ""),
        "child processes": (children, ""),
    }


def _children_of(thread: Path) -> int:
    try:
        return len((thread / "children").read_text().split())
    except FileNotFoundError:  # it has just ended
        return 0


def table_figures(connection: Connection) -> list[tuple[str, str, float, str]]:
    """Return the figures of the tables as (figure, subject, value, unit)."""
    found: list[tuple[str, str, float, str]] = []
    for table in TABLES:
        rows = connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()
        found.append(("rows", table, rows, ""))
    found.append(("backlog", "pending jobs", connection.execute(BACKLOG).scalar_one(), ""))
    if connection.dialect.name == "postgresql":
        for row in connection.execute(POSTGRES_SIZES, {"tables": list(CHANGING)}).all():
            found.append(("dead rows", row.name, row.dead, ""))
            found.append(("size", row.name, row.size / MEGABYTE, "MB"))
    else:
        with suppress(DBAPIError):  # not every SQLite library can tell
            sizes = connection.execute(SQLITE_SIZES).all()
            found += [
                ("size", row.name, row.size / MEGABYTE, "MB")
                for row in sizes
                if row.name in CHANGING
            ]
    return found


def file_figures(file: Path) -> list[tuple[str, str, float, str]]:
    """Return the size of a SQLite file's write-ahead log, and how many files there are beside the database."""
    found: list[tuple[str, str, float, str]] = []
    log = file.with_name(f"{file.name}-wal")
    with suppress(FileNotFoundError):
        found.append(("size", log.name, log.stat().st_size / MEGABYTE, "MB"))
    beside = sum(1 for path in file.parent.rglob(f"{file.name}*/**/*") if path.is_file())
    found.append(("files", "beside the database", beside, ""))
    return found


class Sampler:
    """Measures on a thread of its own, at an interval."""

    def __init__(
        self,
        engine: Engine,
        incarnations: Callable[[], Sequence[Incarnation]],
        every: float,
        began: float,
    ) -> None:
        self.measures = Measures()
        self._engine, self._incarnations, self._every, self._began = (
            engine,
            incarnations,
            every,
            began,
        )
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="soak-sampler", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._ended.wait(self._every):
            at = time.monotonic() - self._began
            self.measures.add(at, "load average", "machine", os.getloadavg()[0], "")
            for incarnation in self._incarnations():
                with suppress(OSError):  # it has just been killed
                    for figure, (value, unit) in process_figures(incarnation.pid).items():
                        self.measures.add(at, figure, incarnation.name, value, unit)
            for figure, subject, value, unit in self._of_database():
                self.measures.add(at, figure, subject, value, unit)

    def _of_database(self) -> list[tuple[str, str, float, str]]:
        found: list[tuple[str, str, float, str]] = []
        with (
            suppress(DBAPIError),
            self._engine.connect() as connection,
        ):  # the server may be restarting
            found += table_figures(connection)
        if self._engine.dialect.name == "sqlite":
            found += file_figures(Path(self._engine.url.database or ""))
        return found
