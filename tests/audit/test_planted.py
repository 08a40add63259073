"""Faults planted at random: the audit names each of them, and nothing else."""

import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Final

import pytest
from sqlalchemy import Connection, Engine, text

from horae.client.audit import AuditFinding
from horae.client.audit.audit import audit
from horae.storage.engine import Database
from horae.storage.jobs import metadata
from tests.audit.history import declare, live, node, work
from tests.audit.plants import PLANTS, Plant, Planted
from tests.harness.applications import url_of
from tests.schedules.driver import Driver

FAULTS: Final = int(os.environ.get("TEST_PLANTS", str(len(PLANTS))))
"""Faults: one of each kind in continuous integration, 1,000 in the acceptance run."""
SEED: Final = int(os.environ.get("TEST_SEED", "20260101"))
INDEXES: Final = (
    "CREATE INDEX attempts ON horae_job_attempts (job_id)",
    "CREATE INDEX runs ON horae_jobs (schedule_id)",
    "CREATE INDEX ids ON horae_jobs (id)",
)
KEEP: Final = timedelta(days=30)
BARE_SCHEMA: Final = "SET LOCAL search_path = clock, pg_catalog, bare"


def copy_without_constraints(driver: Driver, target: Path) -> str:
    """Copy all rows into tables without keys, checks and indexes, as if constraints did not hold; return their URL."""
    names = [table.name for table in metadata.sorted_tables]
    if driver.database.dialect == "sqlite":
        with closing(sqlite3.connect(target)) as copy:
            copy.execute("ATTACH DATABASE ? AS original", (driver.database.url.database,))
            for name in names:
                copy.execute(f"CREATE TABLE {name} AS SELECT * FROM original.{name}")
            for index in INDEXES:
                copy.execute(index)
            copy.commit()
        return f"sqlite:///{target}"
    with driver.database.engine.begin() as connection:
        connection.exec_driver_sql("DROP SCHEMA IF EXISTS bare CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA bare")
        for name in names:
            numbered = "row_number() OVER () AS rowid"
            connection.exec_driver_sql(
                f"CREATE TABLE bare.{name} AS SELECT {numbered}, * FROM public.{name}"
            )
        connection.exec_driver_sql("SET LOCAL search_path = bare")
        for statement in (*INDEXES, "ANALYZE"):
            connection.exec_driver_sql(statement)
    return url_of(driver.database)


@pytest.fixture
def bare(driver: Driver, tmp_path: Path) -> Iterator[Engine]:
    declare(driver.horae)
    live(driver, SEED % 1000, steps=40, alters=False)
    work(driver)
    with closing(Database(copy_without_constraints(driver, tmp_path / "bare.db"))) as database:
        yield database.engine


@contextmanager
def rolled_back(engine: Engine) -> Generator[Connection]:
    with engine.connect() as connection:
        if connection.dialect.name != "sqlite":
            connection.exec_driver_sql(BARE_SCHEMA)
        yield connection
        connection.rollback()


class Related:
    """Which jobs and groups a finding about a job may name instead of it: those that it is counted in, or waits for."""

    def __init__(self, connection: Connection) -> None:
        rows = connection.execute(
            text("SELECT id, schedule_id, group_id, retry_of FROM horae_jobs")
        ).all()
        self.schedules = {row.id: row.schedule_id for row in rows if row.schedule_id is not None}
        self.jobs: dict[int, set[int]] = defaultdict(set)
        self.groups: dict[int, set[int]] = defaultdict(set)
        for row in rows:
            if row.group_id is not None:
                self.groups[row.id].add(row.group_id)
            self._relate(row.id, row.retry_of)
        for row in connection.execute(text("SELECT after_id, job_id FROM horae_dependencies")):
            self._relate(row.after_id, row.job_id)
        for row in connection.execute(text("SELECT id, then_id FROM horae_groups")):
            self.groups[row.then_id].add(row.id)

    def _relate(self, one: int, other: int | None) -> None:
        if other is not None:
            self.jobs[one].add(other)
            self.jobs[other].add(one)

    def belongs(self, finding: AuditFinding, planted: Planted) -> bool:
        """Whether a finding is about what was planted, or about another run of the same schedule."""
        if planted.queue is not None:
            return finding.queue == planted.queue
        if planted.limit is not None:
            return finding.message.startswith(f"limit '{planted.limit}' ")
        named = re.match(r"group (\d+): ", finding.message)
        if named is not None:
            group = int(named[1])
            return group == planted.group or group in self.groups[planted.job or 0]
        if planted.job is not None and finding.job_id in {planted.job, *self.jobs[planted.job]}:
            return True
        schedule = finding.schedule_id or self.schedules.get(finding.job_id or 0)
        return planted.schedule is not None and schedule == planted.schedule


def problem_of(
    connection: Connection, plant: Plant, random: Random, related: Related
) -> str | None:
    planted = plant.plant(connection, random)
    if planted is None:
        return f"{plant.name}: the history has no place for it"
    found = audit(connection, [node()], KEEP).findings
    named = [finding.message for finding in found if related.belongs(finding, planted)]
    invented = [finding.message for finding in found if not related.belongs(finding, planted)]
    if named and not invented:
        return None
    return f"{plant.name}: {planted}: named {named[:2]}, invented {invented[:2]}"


@pytest.mark.slow
@pytest.mark.timeout(60 + 5 * FAULTS)
def test_each_planted_fault_is_named_and_none_invented(bare: Engine) -> None:
    random = Random(SEED)
    with rolled_back(bare) as connection:
        assert list(audit(connection, [node()], KEEP).findings) == []
        related = Related(connection)
    problems = list[str]()
    for number in range(FAULTS):
        with rolled_back(bare) as connection:
            problem = problem_of(connection, PLANTS[number % len(PLANTS)], random, related)
        problems += [problem] if problem else []
    assert problems == []
