"""The database that each simulation begins with: all tables, one for effects of bodies, and a history kept by triggers.

The triggers record each change of a job's row in the transaction that makes it. The invariants read this history, so
they do not depend on what Horae itself reports.
"""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade

OWN_TABLES: Final = """
CREATE TABLE sim_effects (job INTEGER NOT NULL, attempt INTEGER NOT NULL, lease INTEGER NOT NULL, part INTEGER NOT NULL);
CREATE TABLE sim_history (
    number INTEGER PRIMARY KEY AUTOINCREMENT, job_id INTEGER NOT NULL, type TEXT, queue TEXT, schedule_id INTEGER,
    old_state TEXT, state TEXT, old_lease INTEGER, lease INTEGER, node_id TEXT, attempt INTEGER, progress INTEGER
);
CREATE TRIGGER sim_created AFTER INSERT ON horae_jobs BEGIN
    INSERT INTO sim_history (job_id, type, queue, schedule_id, state, lease, node_id, attempt, progress)
    VALUES (NEW.id, NEW.type, NEW.queue, NEW.schedule_id, NEW.state, NEW.lease, NEW.node_id, NEW.attempt,
            NEW.progress_percentage);
END;
CREATE TRIGGER sim_changed AFTER UPDATE OF state, lease, node_id, attempt, progress_percentage ON horae_jobs BEGIN
    INSERT INTO sim_history (job_id, type, queue, schedule_id, old_state, state, old_lease, lease, node_id, attempt,
                             progress)
    VALUES (NEW.id, NEW.type, NEW.queue, NEW.schedule_id, OLD.state, NEW.state, OLD.lease, NEW.lease, NEW.node_id,
            NEW.attempt, NEW.progress_percentage);
END;
"""


def template() -> bytes:
    """Return the content of the file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "template.db")
        with closing(Database(f"sqlite:///{file}")) as database:
            upgrade(database)
        with closing(sqlite3.connect(file)) as connection:
            connection.executescript(OWN_TABLES)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file.read_bytes()


def memory_folder() -> Path:
    """Return a new folder, in memory where the system has such a place."""
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="horae-simulation-", dir=shared if shared.is_dir() else None))
