"""Faults planted at random: the audit names each of them, and nothing else."""

import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from sqlalchemy import Connection

from horae.client.invariants.audit import audit
from horae.client.invariants.finding import AuditFinding
from horae.storage.engine.database import Database
from tests.invariants.history import declare, live
from tests.invariants.plants import PLANTS, Ground, Planted
from tests.schedules.driver import Driver

FAULTS: Final = int(os.environ.get("HORAE_PLANTS", "66"))
"""Faults: two of each kind in continuous integration, 1,000 in the acceptance run."""
SEED: Final = int(os.environ.get("HORAE_SEED", "20260101"))
KEEP: Final = timedelta(days=30)


def without_constraints(source: Path, target: Path) -> None:
    """Copy all rows into tables without keys, checks and indexes, as if constraints did not hold."""
    with closing(sqlite3.connect(target)) as copy:
        copy.execute("ATTACH DATABASE ? AS original", (str(source),))
        names = [name for (name,) in copy.execute("SELECT name FROM original.sqlite_master WHERE type = 'table'")]
        for name in names:
            if name.startswith("horae_"):
                copy.execute(f"CREATE TABLE {name} AS SELECT * FROM original.{name}")
        copy.execute("CREATE INDEX attempts ON horae_job_attempts (job_id)")
        copy.execute("CREATE INDEX runs ON horae_jobs (schedule_id)")
        copy.execute("CREATE INDEX ids ON horae_jobs (id)")
        copy.commit()


@pytest.fixture
def bare(driver: Driver, tmp_path: Path) -> Iterator[Database]:
    declare(driver.horae)
    live(driver, SEED % 1000, steps=80)
    file = Path(driver.database.url.database or "")
    driver.horae.close()
    without_constraints(file, tmp_path / "bare.db")
    with closing(Database(f"sqlite:///{tmp_path}/bare.db")) as database:
        yield database


def belongs(finding: AuditFinding, planted: Planted, runs: dict[int, int]) -> bool:
    """Whether a finding is about what was planted, or about another run of the same schedule."""
    if planted.queue is not None:
        return finding.queue == planted.queue
    schedule = finding.schedule_id or runs.get(finding.job_id or 0)
    return finding.job_id == planted.job != None or (planted.schedule is not None and schedule == planted.schedule)  # noqa: E711


def check(connection: Connection, number: int, random: Random, runs: dict[int, int]) -> Any:
    plant = PLANTS[number % len(PLANTS)]
    planted = plant(Ground(connection, random))
    if planted is None:
        return None
    found = audit(connection, (), KEEP).findings
    named = [finding for finding in found if belongs(finding, planted, runs)]
    invented = [finding.message for finding in found if not belongs(finding, planted, runs)]
    problem = (
        "" if named and not invented else f"{planted}: named {[f.message for f in named][:2]}, invented {invented[:2]}"
    )
    return plant.__name__, problem


@pytest.mark.parametrize("clocked_database", ["sqlite"], indirect=True)
@pytest.mark.timeout(60 + 5 * FAULTS)
def test_each_planted_fault_is_named_and_none_invented(bare: Database) -> None:
    random, kinds, problems = Random(SEED), Counter[str](), list[str]()
    with bare.engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT id, schedule_id FROM horae_jobs WHERE schedule_id IS NOT NULL")
        runs = {row.id: row.schedule_id for row in rows}
        assert audit(connection, (), KEEP).findings == []
        connection.rollback()
        for number in range(FAULTS):
            with connection.begin() as transaction:
                result = check(connection, number, random, runs)
                transaction.rollback()
            if result is not None:
                kinds[result[0]] += 1
                problems += [result[1]] if result[1] else []
    assert problems == []
    assert len(kinds) >= len(PLANTS) - 3
