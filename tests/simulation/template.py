"""The database that each simulation begins with: all tables, one for effects of bodies, and a history kept by triggers.

The triggers record each change of a job's row in the transaction that makes it, with the virtual time. The invariants read
this history, so they do not depend on what Horae itself reports.
"""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, Final

from horae.storage.engine import Database
from horae.storage.migrations.runner import upgrade

OWN_TABLES: Final = """
CREATE TABLE sim_effects (job INTEGER NOT NULL, attempt INTEGER NOT NULL, lease INTEGER NOT NULL, part INTEGER NOT NULL);
CREATE TABLE sim_history (
    number INTEGER PRIMARY KEY AUTOINCREMENT, job_id INTEGER NOT NULL, type TEXT, queue TEXT, schedule_id INTEGER,
    old_state TEXT, state TEXT, old_lease INTEGER, lease INTEGER, node_id TEXT, attempt INTEGER, progress INTEGER,
    lane INTEGER, started_at INTEGER, at REAL
);
CREATE TRIGGER sim_created AFTER INSERT ON horae_jobs BEGIN
    INSERT INTO sim_history (job_id, type, queue, schedule_id, state, lease, node_id, attempt, progress, lane, started_at, at)
    VALUES (NEW.id, NEW.type, NEW.queue, NEW.schedule_id, NEW.state, NEW.lease, NEW.node_id, NEW.attempt,
            NEW.progress_percentage, NEW.lane_id, NEW.started_at, sim_time());
END;
CREATE TRIGGER sim_changed AFTER UPDATE OF state, lease, node_id, attempt, progress_percentage, lane_id ON horae_jobs BEGIN
    INSERT INTO sim_history (job_id, type, queue, schedule_id, old_state, state, old_lease, lease, node_id, attempt,
                             progress, lane, started_at, at)
    VALUES (NEW.id, NEW.type, NEW.queue, NEW.schedule_id, OLD.state, NEW.state, OLD.lease, NEW.lease, NEW.node_id,
            NEW.attempt, NEW.progress_percentage, NEW.lane_id, NEW.started_at, sim_time());
END;
"""


@cache
def template() -> bytes:
    """Return the content of the file, which is made once."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "template.db")
        with closing(Database(f"sqlite:///{file}")) as database:
            upgrade(database)
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript(OWN_TABLES)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file.read_bytes()


class SharedFile:
    """The file that the simulations of this process use one after another.

    Its connections stay open, because preparing their statements anew takes more time than running them. So only its
    rows are replaced, since prepared statements do not outlive a change of the tables.
    """

    def __init__(self, path: Path) -> None:
        """Create the file with the content of the template."""
        self.path, self.url = path, f"sqlite:///{path}"
        self.server: Any = None
        """What stands for the server; a file has none."""
        path.write_bytes(template())
        self.connections: list[Any] = []
        """All connections of simulated processes that are open."""
        self.free_connections: list[Any] = []
        """Those that no process has at present."""
        self._own = sqlite3.connect(path, isolation_level=None)
        self._own.execute("PRAGMA synchronous = OFF")
        names = self._own.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        self._rows = {
            name: self._own.execute(f"SELECT * FROM {name}").fetchall() for (name,) in names
        }

    def reset(self) -> None:
        """Replace the content by that of the template, and remove the files beside it."""
        self._own.execute("BEGIN IMMEDIATE")
        for table, rows in self._rows.items():
            self._own.execute(f"DELETE FROM {table}")
            for row in rows:
                self._own.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        self._own.execute("COMMIT")
        for beside in self.path.parent.iterdir():
            if beside.is_dir():
                shutil.rmtree(beside)
            elif not beside.name.startswith(self.path.name):
                beside.unlink()

    def finish(self) -> None:
        """Do nothing: what a process has open ends with it."""

    def reader(self) -> sqlite3.Connection:
        """Return what answers the queries of a simulation about its progress."""
        return sqlite3.connect(self.path)

    def tables(self) -> sqlite3.Connection:
        """Return a connection to the tables of a simulation that has ended."""
        return sqlite3.connect(self.path)

    def discard(self) -> None:
        """Remove the file of a process that is about to end, which closes the connections quicker."""
        shutil.rmtree(self.path.parent)

    def close(self) -> None:
        """Close all connections, and remove the file."""
        for connection in self.connections:
            connection.close_for_good()
        self._own.close()
        shutil.rmtree(self.path.parent)


def memory_folder(within: Path | None = None) -> Path:
    """Return a new folder within another one, or else in memory where the system has such a place."""
    shared = within or Path("/dev/shm")
    return Path(
        tempfile.mkdtemp(prefix="horae-simulation-", dir=shared if shared.is_dir() else None)
    )
