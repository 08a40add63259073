"""Jobs are created, read, cancelled, expired and deleted: the contract of both databases."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, event, text
from typing_extensions import override

from horae.client.jobs.creating import creation as handler
from horae.client.jobs.creating.contention import with_retries
from horae.client.jobs.creating.new_job import NewJobs, new_job
from horae.domain.backoff import Backoff
from horae.domain.jobs.job import ENDED, Claim, Job, JobId, JobState, Settlement
from horae.domain.jobs.retention import KeptFor
from horae.errors import DuplicateJob, InvalidParameters, InvalidRequest, MaxJobCountExceeded
from horae.storage.engine.database import Database
from horae.storage.jobs import creation, owed_hooks, reading
from horae.storage.jobs.creation import JobRow
from horae.storage.jobs.owed_hooks import FIRST, KeptJob
from horae.storage.jobs.reading import JobFilter
from horae.storage.outcomes import cancelling, deletion
from horae.types.context import JobContext
from horae.types.function import JobFunction
from horae.types.job_type import JobType
from horae.types.options.start_options import StartOptions
from tests.storage import arrange
from tests.storage.arrange import (
    NODE,
    OTHER,
    PLAIN,
    again,
    age,
    at_once,
    attempts,
    claimed,
    count,
    failure,
    job,
    running,
    settled,
    started,
    success,
    wall_clock,
)


class Export(JobType[None]):
    type = "export"
    max_count: int | None = 3

    @override
    def run(self, job: JobContext[None]) -> None:
        del job


class Unlimited(Export):
    type = "unlimited"
    max_count = None


class Report(Export):
    type = "report"
    max_count = 1


class Broken(Export):
    type = "broken"

    @override
    def after_creation(self, job: object, values: object, connection: Connection) -> None:
        del job, values, connection
        raise LookupError("the folder is full")


def create(database: Database, job_type: JobType[None], **options: Any) -> tuple[Job, bool]:
    wanted = new_job(job_type, StartOptions(**options), {})
    return with_retries(lambda: database.transact(handler.create, wanted), timedelta(seconds=30))


def test_a_new_job(database: Database) -> None:
    before = wall_clock() - timedelta(seconds=60)
    new = JobRow(
        type="import",
        queue="q",
        priority=-3,
        params='{"a": 1}',
        owner="alice",
        max_attempts=4,
        backoff='{"base": 2.0}',
        unique_key="k",
        meta='{"trace": "t"}',
    )
    inserted = database.transact(creation.add, new)
    found = job(database, inserted.id)
    assert found == Job(
        id=inserted.id,
        type="import",
        queue="q",
        priority=-3,
        state=JobState.PENDING,
        label=None,
        progress_percentage=0,
        owner="alice",
        params={"a": 1},
        result=None,
        error=None,
        human_readable_error=None,
        attempt=0,
        max_attempts=4,
        lease=0,
        node_id=None,
        unique_key="k",
        run_at=inserted.run_at,
        created_at=inserted.created_at,
        updated_at=found.updated_at,
        started_at=None,
        finished_at=None,
        cancelled_by=None,
        meta={"trace": "t"},
    )
    assert abs(found.updated_at - inserted.created_at) < timedelta(seconds=1)
    assert before < found.created_at < wall_clock() + timedelta(seconds=60)


def test_the_job_that_is_returned_is_the_job_that_was_stored(database: Database) -> None:
    @JobFunction
    def import_csv(path: str, rows: int = 3) -> None: ...

    options = StartOptions(
        owner="ålice",
        priority=4,
        queue="q",
        unique_key="k",
        max_attempts=3,
        meta={"a": [1, None]},
        run_at=wall_clock() + timedelta(days=1),
        backoff=Backoff(base=timedelta(seconds=1)),
    )
    wanted = new_job(import_csv.job_type, options, {"path": "a.csv"})
    returned, new = database.transact(handler.create, wanted)
    found = job(database, returned.id)
    assert new
    assert found.params == {"path": "a.csv", "rows": 3}
    assert replace(found, updated_at=returned.updated_at) == returned


def test_a_delay_counts_from_the_databases_now(database: Database) -> None:
    found = job(database, started(database, delay=90.5))
    assert abs(found.run_at - found.created_at - timedelta(seconds=90.5)) < timedelta(seconds=1)


def test_run_at_is_kept_to_the_microsecond(database: Database) -> None:
    when = wall_clock().replace(microsecond=123_457) + timedelta(days=400)
    assert job(database, started(database, run_at=when)).run_at == when


def test_ten_thousand_jobs_in_one_statement_with_ids_in_order(database: Database) -> None:
    statements: list[str] = []
    for engine in (database.engine, database.autocommit_engine):
        event.listen(
            engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2])
        )
    params = [{"number": number, "text": f"ä{number}"} for number in range(10_000)]
    template = replace(PLAIN, owner="alice", meta='{"batch": 1}', priority=2)
    ids = database.transact(creation.add_many, template, [json.dumps(each) for each in params])
    assert len([text for text in statements if "horae_jobs" in text]) == 1
    assert ids == sorted(ids)
    assert len(set(ids)) == 10_000
    found = {item.id: item for item in database.transact(reading.get_many, ids)}
    assert [found[job_id].params for job_id in ids] == params
    assert {(item.owner, item.priority, item.meta["batch"]) for item in found.values()} == {
        ("alice", 2, 1)
    }


def test_a_batch_without_parameters(database: Database) -> None:
    ids = database.transact(creation.add_many, PLAIN, [None, None])
    assert [job(database, job_id).params for job_id in ids] == [None, None]
    assert database.transact(creation.add_many, PLAIN, []) == []


def test_the_limit_holds_for_each_owner_and_type(database: Database) -> None:
    for _ in range(3):
        create(database, Export(), owner="alice")
    with pytest.raises(MaxJobCountExceeded) as caught:
        create(database, Export(), owner="alice")
    assert (caught.value.job_type, caught.value.owner, caught.value.max_count) == (
        "export",
        "alice",
        3,
    )
    create(database, Export(), owner="bob")
    create(database, Report(), owner="alice")
    create(database, Unlimited(), owner="alice")
    for _ in range(4):
        create(database, Export())  # nobody's jobs are not counted
    assert count(database) == (10, 0)


def test_exactly_max_count_are_created_by_many_at_once(database: Database) -> None:
    results = at_once([partial(create, database, Export(), owner="alice")] * 20)
    created = [result for result in results if isinstance(result, tuple)]
    assert len(created) == 3, results
    assert sum(isinstance(result, MaxJobCountExceeded) for result in results) == 17
    assert count(database) == (3, 0)


def test_a_batch_counts_as_a_whole(database: Database) -> None:
    create(database, Export(), owner="alice")
    batch = NewJobs(Export(), StartOptions(owner="alice"))
    batch.extend([{}] * 2, "values")
    too_many = NewJobs(Export(), StartOptions(owner="alice"))
    too_many.extend([{}] * 3, "values")
    with pytest.raises(MaxJobCountExceeded):
        database.transact(handler.create_many, too_many)
    assert count(database) == (1, 0)
    assert len(database.transact(handler.create_many, batch)) == 2


@pytest.mark.parametrize("how", [success, failure])
def test_an_ended_job_makes_room(database: Database, how: Callable[[Claim], Settlement]) -> None:
    claims = [running(database, type="export", owner="alice") for _ in range(3)]
    settled(database, how(claims[0]))
    create(database, Export(), owner="alice")
    with pytest.raises(MaxJobCountExceeded):
        create(database, Export(), owner="alice")


def test_a_cancelled_job_makes_room_only_when_its_body_has_stopped(database: Database) -> None:
    claims = [running(database, type="export", owner="alice") for _ in range(3)]
    database.transact(cancelling.cancel, claims[0].id, None)
    with pytest.raises(MaxJobCountExceeded):
        create(database, Export(), owner="alice")
    settled(database, success(claims[0]))
    create(database, Export(), owner="alice")
    assert database.transact(creation.count_open, "alice", "export") == 3


def test_a_retry_still_occupies(database: Database) -> None:
    claim = running(database, type="export", owner="alice", max_attempts=2)
    settled(database, again(claim, 60.0))
    assert database.transact(creation.count_open, "alice", "export") == 1


def test_an_active_unique_key_is_refused_or_returned(database: Database) -> None:
    first, new = create(database, Export(), unique_key="k")
    assert new
    with pytest.raises(DuplicateJob) as caught:
        create(database, Export(), unique_key="k")
    assert (caught.value.job_id, caught.value.unique_key) == (first.id, "k")
    assert create(database, Export(), unique_key="k", on_duplicate="return") == (
        job(database, first.id),
        False,
    )
    other, _ = create(database, Unlimited(), unique_key="k")
    assert other.id != first.id
    assert count(database) == (2, 0)


@pytest.mark.parametrize("state", ["started", "retried", "cancelled under its body"])
def test_a_unique_key_lasts_while_the_job_is_active(database: Database, state: str) -> None:
    claim = running(database, type="export", unique_key="k", max_attempts=2)
    if state == "retried":
        settled(database, again(claim, 60.0))
    elif state != "started":
        database.transact(cancelling.cancel, claim.id, None)
        assert create(database, Export(), unique_key="k")[1]  # it has ended for good
        return
    with pytest.raises(DuplicateJob):
        create(database, Export(), unique_key="k")


def test_an_ended_job_frees_its_unique_key(database: Database) -> None:
    claim = running(database, type="export", unique_key="k")
    settled(database, success(claim))
    assert create(database, Export(), unique_key="k")[1]


def test_a_unique_key_is_free_for_one_of_many_at_once(database: Database) -> None:
    results = at_once([partial(create, database, Export(), unique_key="k")] * 20)
    created = [result for result in results if isinstance(result, tuple)]
    assert len(created) == 1, results
    assert {result.job_id for result in results if isinstance(result, DuplicateJob)} == {
        created[0][0].id
    }
    assert count(database) == (1, 0)


def test_many_at_once_may_all_get_the_one_job(database: Database) -> None:
    results = at_once(
        [partial(create, database, Export(), unique_key="k", on_duplicate="return")] * 20
    )
    pairs = [result for result in results if isinstance(result, tuple)]
    assert len(pairs) == 20, results
    assert len({found.id for found, _ in pairs}) == 1
    assert sum(new for _, new in pairs) == 1


def test_limit_and_key_together(database: Database) -> None:
    for key in "abc":
        create(database, Export(), owner="alice", unique_key=key)
    with pytest.raises(DuplicateJob):
        create(database, Export(), owner="alice", unique_key="a")
    with pytest.raises(MaxJobCountExceeded):
        create(database, Export(), owner="alice", unique_key="d")


def test_a_hook_that_fails_leaves_nothing(database: Database) -> None:
    with pytest.raises(LookupError, match="the folder is full"):
        create(database, Broken(), owner="alice")
    assert count(database) == (0, 0)
    assert database.transact(creation.count_open, "alice", "broken") == 0


@pytest.mark.parametrize("value", ["\x00", ["a\x00b"], {"k\x00": 1}, "\\\x00"])
def test_a_nul_character_is_refused_at_the_caller(value: object) -> None:
    @JobFunction
    def keep(value: object) -> None: ...

    with pytest.raises(InvalidParameters, match="NUL"):
        new_job(keep.job_type, StartOptions(), {"value": value})
    with pytest.raises(InvalidRequest, match="meta has a character"):
        new_job(Export(), StartOptions(meta={"value": value}), {})


def test_an_escaped_nul_character_is_stored(database: Database) -> None:
    @JobFunction
    def keep(value: str) -> None: ...

    wanted = new_job(keep.job_type, StartOptions(meta={"m": "\\u0000"}), {"value": "\\u0000"})
    created, _ = database.transact(handler.create, wanted)
    found = job(database, created.id)
    assert (found.params, found.meta) == ({"value": "\\u0000"}, {"m": "\\u0000"})


@pytest.mark.parametrize("name", ["owner", "queue", "unique_key"])
@pytest.mark.parametrize("text", ["", "x" * 201, "a\x00b", "\ud800"])
def test_a_name_that_cannot_be_stored_is_refused_at_the_caller(name: str, text: str) -> None:
    given: dict[str, Any] = {name: text}
    with pytest.raises(InvalidRequest, match=name):
        StartOptions(**given)


@pytest.mark.parametrize("priority", [2**31, -(2**31)])
def test_a_priority_beyond_the_column_is_refused_at_the_caller(priority: int) -> None:
    with pytest.raises(
        InvalidRequest, match=r"priority is -?2147483648, expected -2147483647 to 2147483647"
    ):
        StartOptions(priority=priority)
    with pytest.raises(
        InvalidRequest, match=r"max_attempts is -?2147483648, expected 1 to 2147483647"
    ):
        StartOptions(max_attempts=priority)


def test_the_largest_numbers_are_stored(database: Database) -> None:
    largest = 2**31 - 1
    found, _ = create(database, Export(), priority=-largest, max_attempts=largest)
    assert job(database, found.id).priority == -largest


def test_cancelling(database: Database) -> None:
    pending, claim = started(database), running(database)
    of_pending = database.transact(cancelling.cancel, pending, "alice")
    of_started = database.transact(cancelling.cancel, claim.id, None)
    assert of_pending is not None
    assert of_started is not None
    first, second = of_pending.job, of_started.job
    assert first == job(database, pending)
    assert second == job(database, claim.id)
    assert (first.state, first.cancelled_by, first.node_id, first.lease) == (
        JobState.CANCELLED,
        "alice",
        None,
        0,
    )
    assert (second.state, second.cancelled_by, second.node_id, second.lease) == (
        JobState.CANCELLED,
        None,
        NODE,
        1,
    )
    assert first.finished_at is not None
    assert second.occupied
    assert not first.occupied
    assert claimed(database) == []


@pytest.mark.parametrize("state", ["finished", "failed", "cancelled", "missing"])
def test_an_ended_job_is_not_cancelled(database: Database, state: str) -> None:
    claim = running(database)
    match state:
        case "finished":
            settled(database, success(claim))
        case "failed":
            settled(database, failure(claim))
        case "cancelled":
            database.transact(cancelling.cancel, claim.id, "alice")
        case _:
            assert database.transact(cancelling.cancel, JobId(10**9), "bob") is None
    before = job(database, claim.id)
    if state != "missing":
        assert database.transact(cancelling.cancel, claim.id, "bob") is None
    assert job(database, claim.id) == before


def test_progress_is_not_reset_by_a_cancel(database: Database) -> None:
    claim = running(database, max_attempts=2)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE horae_jobs SET progress_percentage = 30, label = 'half'")
    database.transact(cancelling.cancel, claim.id, None)
    found = job(database, claim.id)
    assert (found.progress_percentage, found.label) == (30, "half")


def test_only_jobs_past_their_hard_limit_are_failed(database: Database) -> None:
    late, in_time, other = running(database), running(database), running(database, type="export")
    for claim in (late, other):
        age(database, claim.id, "started_at", 61)
    age(database, in_time.id, "started_at", 59)
    before = job(database, late.id)
    [expired] = arrange.expired(database, {"import": 60.0, "export": 62.0, "unknown": 1.0})
    found = job(database, late.id)
    assert expired == found
    assert (found.state, found.node_id, found.lease) == (JobState.FAILED, NODE, before.lease)
    assert found.error == "hard time limit exceeded"
    assert found.human_readable_error == "This job ran for longer than it may and was stopped."
    assert {job(database, claim.id).state for claim in (in_time, other)} == {JobState.STARTED}
    assert arrange.expired(database, {"import": 60.0}) == []
    assert arrange.expired(database, {}) == []


def test_only_owned_jobs_that_were_not_claimed_are_failed(database: Database) -> None:
    waits = started(database, owner="alice")
    spared = [
        started(database),  # nobody waits for it
        running(database, owner="alice").id,
        started(database, owner="alice", type="export"),
    ]
    retried = running(database, owner="alice", max_attempts=2)
    settled(database, again(retried))
    recent = started(database, owner="alice")
    for job_id in (waits, retried.id, *spared):
        age(database, job_id, "run_at", 61)
    age(database, recent, "run_at", 59)
    [expired] = arrange.expired_pending(database, {"import": 60.0})
    assert expired == job(database, waits)
    assert (expired.state, expired.node_id) == (JobState.FAILED, None)
    assert expired.error == "pending timeout exceeded: no worker took the job"
    assert not {job(database, job_id).state for job_id in (*spared, retried.id, recent)} & {
        JobState.FAILED
    }


def test_a_job_that_is_due_later_does_not_expire(database: Database) -> None:
    job_id = started(database, owner="alice", delay=3600.0)
    age(database, job_id, "created_at", 7200)
    assert arrange.expired_pending(database, {"import": 60.0}) == []


def test_old_ended_jobs_are_found_in_batches_in_the_order_of_their_ends(
    database: Database,
) -> None:
    old = [started(database) for _ in range(5)]
    held = running(database)
    database.transact(cancelling.cancel, held.id, None, owed=False)
    recent, active = started(database), started(database)
    for job_id in (*old, recent):
        database.transact(cancelling.cancel, job_id, None, owed=False)
    first, *others = old
    for job_id in (*others, held.id):
        age(database, job_id, "finished_at", 100)
    age(database, first, "finished_at", 90)
    # Two ended in the same microsecond, as those of one settlement do.
    same = "(SELECT finished_at FROM horae_jobs WHERE id = :other)"
    set_same = text(f"UPDATE horae_jobs SET finished_at = {same} WHERE id = :id")
    pair = {"id": others[1], "other": others[0]}
    database.transact(lambda connection: connection.execute(set_same, pair))
    age(database, active, "created_at", 100)

    def ended(after: KeptJob, limit: int) -> list[KeptJob]:
        kept = KeptFor(50.0, tuple(ENDED), ("import",))
        return database.autocommit(owed_hooks.past_keeping, kept, after=after, limit=limit)

    found = ended(FIRST, 10)
    assert [each.id for each in found] == [*others, first]
    assert found[0].finished_at == found[1].finished_at
    one_by_one = [FIRST]
    while batch := ended(one_by_one[-1], 1):
        one_by_one += batch
    assert one_by_one[1:] == found
    assert ended(found[1], 2) == found[2:4]


def test_only_ended_jobs_whose_bodies_have_stopped_are_removed(database: Database) -> None:
    finished, held, active = running(database), running(database, OTHER), running(database)
    waiting = started(database)
    settled(database, success(finished))
    database.transact(cancelling.cancel, held.id, None)
    everything = [finished.id, held.id, active.id, waiting, JobId(10**9)]
    assert database.transact(deletion.delete_jobs, everything) == {finished.id}
    assert attempts(database, finished.id) == []
    assert count(database) == (3, 0)
    assert database.transact(deletion.delete_jobs, []) == set()


def test_a_removed_job_does_not_come_back(database: Database) -> None:
    claim = running(database)
    settled(database, success(claim))
    database.transact(deletion.delete_jobs, [claim.id])
    settled(database, failure(claim))
    assert count(database) == (0, 0)
    assert started(database) > claim.id  # an id is never given twice


def test_reading(database: Database) -> None:
    first, second = started(database), started(database)
    assert database.transact(reading.get, JobId(10**9)) is None
    found = database.transact(reading.get_many, [second, first, JobId(10**9)])
    assert {item.id for item in found} == {first, second}
    assert database.transact(reading.get_many, []) == []
    database.transact(cancelling.cancel, first, None)
    states = database.transact(reading.states, [first, second, JobId(10**9)])
    assert states == {first: JobState.CANCELLED, second: JobState.PENDING}
    assert database.transact(reading.counts) == {JobState.CANCELLED: 1, JobState.PENDING: 1}
    assert attempts(database, first) == []


def test_pages_are_the_newest_first_and_never_overlap(database: Database) -> None:
    ids = [started(database) for _ in range(7)]
    newest = database.transact(reading.page, JobFilter(limit=3))
    assert [item.id for item in newest] == ids[:3:-1]
    rest = database.transact(reading.page, JobFilter(limit=10, before=newest[-1].id))
    assert [item.id for item in rest] == ids[3::-1]


def test_filters(database: Database) -> None:
    mine = started(database, owner="alice", queue="q")
    other = started(database, type="export", owner="bob")
    running(database)
    database.transact(cancelling.cancel, other, None)

    def ids(**wanted: Any) -> set[int]:
        return {item.id for item in database.transact(reading.page, JobFilter(**wanted))}

    assert len(ids()) == 3
    assert ids(owner="alice") == ids(queues=["q"]) == ids(ids=[mine]) == {mine}
    assert ids(types=["export"]) == ids(states=[JobState.CANCELLED]) == {other}
    assert ids(owner="alice", types=["export"]) == set()
    assert ids(states=[]) == ids(types=[]) == ids(ids=[]) == ids(queues=[]) == set()
