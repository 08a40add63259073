"""The log lines of jobs: written once however often, read in order from a place, deleted with their job or when old."""

from datetime import UTC, datetime
from typing import Final

from horae.domain.jobs.job import Claim, JobId
from horae.domain.jobs.log_lines import LogLine, place_of
from horae.storage.engine.database import Database
from horae.storage.jobs import logs
from horae.storage.outcomes import deletion
from tests.storage.arrange import running, settled, success, wall_clock

NOW: Final = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
START: Final = (0, -1)


def lines_of(
    claim: Claim, *numbers: int, level: int = 20, lease: int | None = None
) -> list[LogLine]:
    attempt = claim.lease if lease is None else lease
    return [
        LogLine(claim.id, attempt, n, attempt, NOW, level, "shop", f"line {n}: “ü” '\\n")
        for n in numbers
    ]


def read(
    database: Database,
    job_id: JobId,
    after: tuple[int, int] = START,
    level: int = 0,
    limit: int = 99,
) -> list[int]:
    return [line.line for line in database.autocommit(logs.read, job_id, after, level, limit)]


def test_lines_are_read_as_they_were_written_and_in_order(database: Database) -> None:
    claim, other = running(database), running(database)
    written = lines_of(claim, 0, 1, 2)
    database.transact(logs.write, [*lines_of(other, 0), *reversed(written)])
    later = lines_of(claim, 0, lease=claim.lease + 1)
    database.transact(logs.write, later)
    assert database.autocommit(logs.read, claim.id, START, 0, 99) == [*written, *later]
    assert database.autocommit(logs.read, claim.id, place_of(written[1].cursor), 0, 99) == [
        written[2],
        *later,
    ]
    assert read(database, claim.id, limit=2) == [0, 1]
    assert read(database, claim.id, level=30) == []


def test_a_batch_that_is_written_twice_leaves_each_line_once(database: Database) -> None:
    claim = running(database)
    lines = lines_of(claim, 0, 1)
    for _ in range(2):
        database.transact(logs.write, lines)
    assert read(database, claim.id) == [0, 1]


def test_the_number_of_dropped_lines_can_grow(database: Database) -> None:
    claim = running(database)
    [gap] = lines_of(claim, 5)
    for dropped in (3, 70):
        database.transact(logs.write, [gap._replace(dropped=1), gap._replace(dropped=dropped)])
    assert database.autocommit(logs.count_dropped, claim.id) == 70
    [found] = database.autocommit(logs.read, claim.id, START, 0, 99)
    assert found.dropped == 70


def test_lines_are_deleted_with_their_job(database: Database) -> None:
    claim, other = running(database), running(database)
    database.transact(logs.write, [*lines_of(claim, 0, 1), *lines_of(other, 0)])
    settled(database, success(claim))
    assert database.transact(deletion.delete_jobs, [claim.id]) == {claim.id}
    assert read(database, claim.id) == []
    assert read(database, other.id) == [0]


def test_lines_of_a_job_that_is_gone_are_not_written(database: Database) -> None:
    claim = running(database)
    settled(database, success(claim))
    database.transact(deletion.delete_jobs, [claim.id])
    database.transact(logs.write, lines_of(claim, 0))
    assert read(database, claim.id) == []


def test_old_lines_are_deleted_in_batches(database: Database) -> None:
    claim = running(database)
    old, new = lines_of(claim, 0, 1, 2), lines_of(claim, 3)
    now = wall_clock()
    database.transact(logs.write, [*old, *(line._replace(at=now) for line in new)])
    assert database.transact(logs.forget, 3600.0, 2) == 2
    assert database.transact(logs.forget, 3600.0, 2) == 1
    assert database.transact(logs.forget, 3600.0, 2) == 0
    assert read(database, claim.id) == [3]
