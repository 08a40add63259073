"""Members of a group are read a part at a time, however the parts lie, and without a look at other jobs."""

from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from horae.domain.jobs.groups import GroupId, OnFailure
from horae.domain.jobs.job import Claim, JobId, NodeId
from horae.storage.engine.database import Database
from horae.storage.jobs import claims, creation
from horae.storage.jobs.creation import JobRow
from horae.storage.jobs.groups import groups
from horae.storage.outcomes import cancelling, follow_ups
from tests.storage.arrange import NODE, OTHER, registered, settled, success
from tests.storage.test_query_plans import (
    explained,
    fill,
    filled,
    filled_postgres,
    filled_sqlite,
    reads_all_jobs,
)

__all__ = ["filled", "filled_postgres", "filled_sqlite"]  # fixtures

MEMBER = JobRow(type="import", queue="default", priority=0, params=None)


def add(connection: Connection, group_id: GroupId, number: int) -> list[JobId]:
    ids = creation.add_many(connection, MEMBER, [None] * number, group_id)
    groups.count_added(connection, group_id, number)
    return ids


def claimed_by(database: Database, node: NodeId, job_id: JobId) -> Claim:
    claim = database.autocommit(claims.claim_one, job_id, node)
    assert claim is not None
    return claim


@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_pages_of_members_are_complete_wherever_the_parts_lie(
    database: Database, limit: int
) -> None:
    with database.engine.begin() as connection:
        ours = groups.create(connection, None, OnFailure.CONTINUE, None)
        theirs = groups.create(connection, None, OnFailure.CONTINUE, None)
        expected = list[JobId]()
        overlapping = [*add(connection, ours, 1)]
        for number in (1, 3, 1):
            part = add(connection, ours, number)
            groups.add_part(connection, theirs, add(connection, theirs, 2))
            groups.add_part(connection, ours, part)
            expected += part
        overlapping += add(connection, ours, 2)  # around all the others
        groups.add_part(connection, ours, overlapping)
        expected = sorted(expected + overlapping)
        found, after = list[JobId](), JobId(0)
        while page := groups.members(connection, ours, after=after, limit=limit):
            found += [job.id for job in page]
            after = page[-1].id
        assert found == expected
        left, cancelled = JobId(0), list[JobId]()
        batch: JobId | None = left
        while batch is not None:
            members, _, batch = follow_ups.cancel_members(
                connection, ours, None, after=batch, limit=limit
            )
            cancelled += [member.id for member in members]
        assert sorted(cancelled) == expected


def test_a_batch_reads_no_more_parts_than_it_needs(database: Database) -> None:
    read = list[Mapping[str, Any]]()

    def note(
        _connection: Any, _cursor: Any, _statement: str, _parameters: Any, context: Any, _many: Any
    ) -> None:
        read.extend(each for each in context.compiled_parameters if "last" in each)

    with database.engine.begin() as connection:
        group_id = groups.create(connection, None, OnFailure.CONTINUE, None)
        parts = [add(connection, group_id, 10) for _ in range(30)]
        for part in parts:
            groups.add_part(connection, group_id, part)
        event.listen(connection, "before_cursor_execute", note)
        groups.members(connection, group_id, after=JobId(0), limit=10)
        groups.members(connection, group_id, after=parts[0][-1], limit=10)
        groups.members(connection, group_id, after=JobId(0), limit=100)
        event.remove(connection, "before_cursor_execute", note)
    ends = [part[-1] for part in parts]
    assert [each["last"] for each in read] == [ends[0], ends[1], ends[0], ends[4], ends[20]]


def test_running_members_of_all_nodes_are_found(database: Database) -> None:
    with database.engine.begin() as connection:
        ours = groups.create(connection, None, OnFailure.CONTINUE, None)
        members = add(connection, ours, 5)
        theirs = add(connection, groups.create(connection, None, OnFailure.CONTINUE, None), 1)
    registered(database, NODE)
    registered(database, OTHER)
    first, second, ended, cancelled = (
        claimed_by(database, node, job_id)
        for node, job_id in zip([NODE, OTHER, NODE, OTHER], members[:4], strict=True)
    )
    claimed_by(database, OTHER, theirs[0])
    settled(database, success(ended))
    database.transact(cancelling.cancel, cancelled.id, None)
    found = database.autocommit(groups.running, ours)
    assert sorted(found) == [(claim.id, claim.lease, 0) for claim in (first, second)]


def test_running_members_are_found_without_a_look_at_all_jobs(filled: Database) -> None:
    assert reads_all_jobs_for_progress(filled) == []


def test_running_members_are_found_as_fast_before_there_are_statistics(
    database: Database,
) -> None:
    """As for a minute after many jobs were started for the first time."""
    with database.engine.begin() as connection:
        if database.dialect == "postgresql":
            connection.execute(text("ALTER TABLE horae_jobs SET (autovacuum_enabled = off)"))
    fill(database, {"sqlite": "1700000000000000", "postgresql": "now()"}[database.dialect])
    assert reads_all_jobs_for_progress(database) == []


def reads_all_jobs_for_progress(database: Database) -> list[str]:
    with database.engine.begin() as connection, explained(connection) as plans:
        assert groups.running(connection, GroupId(1)) == []
    return [line for plan in plans for line in plan if reads_all_jobs(line)]
