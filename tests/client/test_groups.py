"""Groups and dependencies as callers use them: `then` runs once, members add members, wrong calls are refused."""

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from horae import Discard, Horae, JobContext, Retry, Unique
from horae.client.doctor.work import work_findings
from horae.client.jobs import Jobs, job_starts
from horae.client.jobs.creating import members
from horae.client.jobs.job_reads import JobReads
from horae.domain.jobs.groups import GroupState
from horae.errors import (
    GroupDoesNotExist,
    GroupNotCancellable,
    GroupNotOpen,
    InvalidParameters,
    InvalidRequest,
    JobDoesNotExist,
    JobWasCancelled,
    WaitTimeout,
)
from horae.storage.operations import doctor
from horae.types.options.start_options import StartOptions
from tests.harness.applications import claim_as_another_node, own_engine, rows
from tests.harness.nodes import running_node, until, until_set, until_state
from tests.runtime import process_bodies


@pytest.fixture(autouse=True)
def audited(horae: Horae) -> Iterator[None]:
    """Audit the database after each test."""
    yield
    assert list(horae.audit().findings) == []


@pytest.fixture
def types(horae: Horae) -> Any:
    """Job types that most tests use."""

    class Types:
        @staticmethod
        @horae.job
        def square(n: int) -> int:
            return n * n

        @staticmethod
        @horae.job
        def fail() -> None:
            raise ValueError("no")

        @staticmethod
        @horae.job
        def combine(job: JobContext) -> list[int]:
            return list(job.group.results())

        @staticmethod
        @horae.job
        async def combine_async(job: JobContext) -> list[int]:
            return [result async for result in job.async_group.results()]

    return Types


async def test_a_retry_of_then_sees_the_results_too(horae: Horae, types: Any) -> None:
    fails = 2

    @horae.job
    def sum_up(job: JobContext) -> int:
        nonlocal fails
        fails -= 1
        if fails >= 0:
            raise ValueError("a mistake that is corrected before the second retry")
        return sum(job.group.results())

    group = horae.jobs.start_group([(types.square, {"n": n}) for n in range(5)], then=sum_up)
    job_id = group.then_id or 0
    async with running_node(horae):
        for _ in range(2):
            await until_state(horae, job_id, "failed")
            job_id = (await horae.aio.jobs.retry(job_id)).id
        assert await horae.aio.jobs.wait(job_id, timeout="30s") == 30


async def test_then_sees_the_results_in_the_order_of_the_members(horae: Horae, types: Any) -> None:
    for then in (types.combine, types.combine_async):
        group = await horae.aio.jobs.start_group(
            [(types.square, {"n": n}) for n in range(5)], then=then
        )
        assert (group.total, group.state, group.progress_percentage) == (5, GroupState.OPEN, 0)
        assert group.then_id is not None
        async with running_node(horae):
            assert await horae.aio.jobs.wait(group.then_id, timeout="30s") == [0, 1, 4, 9, 16]
        ended = await horae.aio.jobs.wait_for_group(group.id, timeout="30s")
        assert (ended.state, ended.finished, ended.progress_percentage) == (
            GroupState.ENDED,
            5,
            100,
        )
        assert [result async for result in horae.aio.jobs.results_of_group(group.id)] == [
            0,
            1,
            4,
            9,
            16,
        ]


async def test_a_group_continues_after_a_failed_member(horae: Horae, types: Any) -> None:
    group = horae.jobs.start_group([(types.square, {"n": 3}), types.fail], then=types.combine)
    async with running_node(horae):
        assert await horae.aio.jobs.wait(group.then_id or 0, timeout="30s") == [9]
    assert horae.jobs.get_group(group.id).failed == 1


async def test_a_failed_member_cancels_the_group(horae: Horae, types: Any) -> None:
    begun = threading.Event()

    @horae.job
    def goes_on(job: JobContext) -> None:
        begun.set()
        while True:
            job.check()

    @horae.job
    def fails_later() -> None:
        begun.wait(30)
        raise Discard("no use")

    later = StartOptions(priority=-1)
    group = horae.jobs.start_group(
        [goes_on, fails_later, (types.square, {"n": 1}, later)],
        then=types.combine,
        on_failure="cancel",
    )
    async with running_node(horae, concurrency=2):
        ended = await horae.aio.jobs.wait_for_group(group.id, timeout="30s")
        assert (ended.state, ended.failed) == (GroupState.CANCELLED, 1)
        assert ended.cancelled + ended.finished == 2
        with pytest.raises(JobWasCancelled):
            await horae.aio.jobs.wait(group.then_id or 0)


async def test_cancelling_a_group_stops_its_bodies(horae: Horae, types: Any) -> None:
    begun = threading.Event()

    @horae.job
    def goes_on(job: JobContext) -> None:
        begun.set()
        while True:
            job.check()

    group = horae.jobs.start_group([goes_on, goes_on], then=types.combine, owner="alice")
    with pytest.raises(GroupDoesNotExist):
        horae.jobs.cancel_group(group.id, owner="bob")
    async with running_node(horae):
        await until_set(begun)
        cancelled = await horae.aio.jobs.cancel_group(group.id, by="alice")
        assert (cancelled.state, cancelled.cancelled, cancelled.unfinished) == (
            GroupState.CANCELLED,
            2,
            0,
        )
        assert horae.jobs.cancel_group(group.id).state is GroupState.CANCELLED, "twice is no error"
        await until(lambda: not any(job.occupied for job in horae.jobs.members(group.id)))
    assert horae.jobs.get(group.then_id or 0).cancelled_by == "alice"


def test_the_job_after_a_group_that_ends_just_before_its_cancel_is_cancelled(
    horae: Horae, types: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = horae.jobs.start_group([], then=types.combine)
    stale, read = [replace(group, ended_at=None)], vars(JobReads)["_read_group"]
    monkeypatch.setattr(
        JobReads, "_read_group", lambda *given: stale.pop() if stale else read(*given)
    )
    horae.jobs.cancel_group(group.id, by="alice")
    assert horae.jobs.get(group.then_id or 0).cancelled_by == "alice"


async def test_a_group_whose_jobs_have_ended_cannot_be_cancelled(horae: Horae, types: Any) -> None:
    group = horae.jobs.start_group([], then=types.combine)
    assert horae.jobs.cancel_group(group.id).then_id == group.then_id
    assert horae.jobs.get(group.then_id or 0).state == "cancelled"
    with pytest.raises(GroupNotCancellable):
        horae.jobs.cancel_group(group.id)


async def test_then_of_an_empty_group_runs_at_once(horae: Horae, types: Any) -> None:
    group = horae.jobs.start_group([], then=types.combine)
    async with running_node(horae):
        assert await horae.aio.jobs.wait(group.then_id or 0, timeout="30s") == []


@pytest.mark.parametrize("transaction", [None, "read committed"])
async def test_members_add_members(horae: Horae, types: Any, transaction: Any) -> None:
    @horae.job(transaction=transaction)
    def divide(job: JobContext, n: int) -> int:
        if n:
            assert len(job.group.add([(divide, {"n": n - 1}), (types.square, {"n": n})])) == 2
        return 0

    @horae.job(transaction=transaction)
    async def divide_async(job: JobContext, n: int) -> int:
        if n:
            await job.async_group.add([(divide_async, {"n": n - 1}), (types.square, {"n": n})])
        return 0

    for adding in (divide, divide_async):
        group = horae.jobs.start_group([(adding, {"n": 3})], then=types.combine)
        async with running_node(horae):
            result = await horae.aio.jobs.wait(group.then_id or 0, timeout="30s")
        assert sorted(result) == [0, 0, 0, 0, 1, 4, 9]
        assert horae.jobs.get_group(group.id).total == 7


async def test_members_added_by_a_failed_transaction_do_not_exist(horae: Horae, types: Any) -> None:
    @horae.job(transaction="read committed")
    def adds_and_fails(job: JobContext) -> None:
        job.group.add([(types.square, {"n": 1})])
        raise ValueError("no")

    group = horae.jobs.start_group([adds_and_fails], then=types.combine)
    async with running_node(horae):
        assert await horae.aio.jobs.wait(group.then_id or 0, timeout="30s") == []
    assert horae.jobs.get_group(group.id).total == 1


async def test_then_and_jobs_without_a_group_cannot_add_members(horae: Horae, types: Any) -> None:
    @horae.job
    def adds(job: JobContext) -> None:
        job.group.add([types.fail])

    group = horae.jobs.start_group([], then=adds)
    alone = horae.jobs.start(adds)
    async with running_node(horae):
        assert "GroupNotOpen" in (
            (await until_state(horae, group.then_id or 0, "failed")).error or ""
        )
        assert "no group" in ((await until_state(horae, alone.id, "failed")).error or "")
    with pytest.raises(GroupNotOpen):
        horae.jobs.add_to_group(group.id, [types.fail])


def test_a_body_that_lost_its_lease_adds_nothing(horae: Horae, types: Any) -> None:
    group = horae.jobs.start_group([types.fail, types.fail])
    claim = claim_as_another_node(horae, 1)[0]
    with pytest.raises(GroupNotOpen, match="another node"):
        horae.jobs.add_to_group(group.id, [types.fail], held=(claim.id, claim.lease + 1))
    assert len(horae.jobs.add_to_group(group.id, [types.fail], held=(claim.id, claim.lease))) == 1


async def test_a_retried_member_counts_when_it_has_ended(horae: Horae, types: Any) -> None:
    @horae.job(max_attempts=3)
    def stubborn(job: JobContext) -> int:
        if job.attempt < 3:
            raise Retry(after="0s")
        return 7

    group = horae.jobs.start_group([stubborn], then=types.combine)
    async with running_node(horae):
        assert await horae.aio.jobs.wait(group.then_id or 0, timeout="30s") == [7]


def test_inline_jobs_count(horae: Horae, types: Any) -> None:
    first = horae.jobs.start(types.square, n=2)
    after = horae.jobs.start(types.square, n=3, after=[first], on_dependency_failure="run")
    horae.jobs.cancel(first.id)
    assert horae.jobs.get(after.id).waits_for is None


async def test_a_job_runs_after_others(horae: Horae, types: Any) -> None:
    first, second = horae.jobs.start(types.square, n=1), horae.jobs.start(types.square, n=2)
    last = horae.jobs.start(types.square, n=3, after=[first, second.id])
    assert last.waits_for == "jobs"
    async with running_node(horae):
        assert await horae.aio.jobs.wait(last.id, timeout="30s") == 9
    ends = [horae.jobs.get(each.id).finished_at for each in (first, second)]
    begun = horae.jobs.get(last.id).started_at
    assert begun is not None
    assert all(end is not None and end <= begun for end in ends)


@pytest.mark.parametrize(
    ("on_failure", "state"), [(None, "cancelled"), ("fail", "failed"), ("run", "finished")]
)
async def test_a_job_after_one_that_fails(
    horae: Horae, types: Any, on_failure: Any, state: str
) -> None:
    first = horae.jobs.start(types.fail)
    last = horae.jobs.start(types.square, n=3, after=[first], on_dependency_failure=on_failure)
    async with running_node(horae):
        await until_state(horae, last.id, state)


def test_a_job_after_one_that_has_failed_already(horae: Horae, types: Any) -> None:
    first = horae.jobs.start(types.fail)
    horae.jobs.cancel(first.id)
    assert horae.jobs.start(types.square, n=3, after=[first]).state == "cancelled"


def test_a_dependency_of_another_owner_looks_missing(horae: Horae, types: Any) -> None:
    of_bob = horae.jobs.start(types.square, n=1, owner="bob")
    with pytest.raises(JobDoesNotExist):
        horae.jobs.start(types.square, n=2, owner="alice", after=[of_bob])
    with pytest.raises(JobDoesNotExist):
        horae.jobs.start(types.square, n=2, after=[10**18])
    assert horae.jobs.start(types.square, n=2, owner="bob", after=[of_bob]).waits_for == "jobs"


@pytest.mark.parametrize("on_failure", ["cancel", "run"])
def test_a_batch_waits_for_other_jobs(horae: Horae, types: Any, on_failure: Any) -> None:
    first = horae.jobs.start(types.fail)
    options = StartOptions(after=[first], on_dependency_failure=on_failure)
    ids = horae.jobs.start_many(types.square, [{"n": n} for n in range(3)], options=options)
    assert {horae.jobs.get(job_id).waits_for for job_id in ids} == {"jobs"}
    horae.jobs.cancel(first.id)
    found = [horae.jobs.get(job_id) for job_id in ids]
    expected = ("cancelled", None) if on_failure == "cancel" else ("pending", None)
    assert {(job.state, job.waits_for) for job in found} == {expected}
    late = horae.jobs.start_many(types.square, [{"n": 1}], options=options)
    assert horae.jobs.get(late[0]).state == expected[0], "the job has ended already"


def test_a_batch_after_an_unknown_job_leaves_nothing(horae: Horae, types: Any) -> None:
    with pytest.raises(JobDoesNotExist):
        horae.jobs.start_many(types.square, [{"n": 1}, {"n": 2}], options=StartOptions(after=[7]))
    assert rows(horae, "SELECT id FROM horae_jobs") == []


def test_the_end_of_a_job_that_runs_inline_releases_those_after_it(
    horae: Horae, types: Any
) -> None:
    started: list[int] = []

    @horae.job
    def first(job: JobContext) -> None:
        started.append(horae.jobs.start(types.square, n=3, after=[job.id]).id)
        started.append(
            horae.jobs.start_group([(types.square, {"n": 1})], then=(types.combine)).then_id or 0
        )

    assert horae.jobs.start(first, sync=True).state == "finished"
    assert [horae.jobs.get(job_id).waits_for for job_id in started] == [None, "jobs"]


async def test_members_run_in_child_processes(horae: Horae, types: Any) -> None:
    horae.registry.add(process_bodies.add.job_type)
    given = [("add", {"left": n, "right": 1}) for n in range(2)]
    group = await horae.aio.jobs.start_group(given, then=types.combine)
    assert group.then_id is not None
    async with running_node(horae):
        await horae.aio.jobs.wait_for_group(group.id, timeout="60s")
    results = [result async for result in horae.aio.jobs.results_of_group(group.id)]
    assert horae.jobs.get(group.then_id).result == results
    assert [result["sum"] for result in results] == [1, 2]
    assert os.getpid() not in {result["pid"] for result in results}


async def test_a_member_and_then_may_have_the_same_type_and_parameters(
    horae: Horae, types: Any
) -> None:
    group = horae.jobs.start_group([types.combine], then=types.combine)
    (member,) = horae.jobs.members(group.id)
    assert member.id != group.then_id
    async with running_node(horae):
        ended = await horae.aio.jobs.wait_for_group(group.id, timeout="60s")
    assert ended.then_id is not None
    first, then = horae.jobs.get(member.id), horae.jobs.get(ended.then_id)
    assert first.finished_at is not None
    assert then.started_at is not None
    assert then.started_at >= first.finished_at


WRONG: list[tuple[str, Callable[[Horae, Any], object]]] = [
    ("on_failure", lambda horae, types: horae.jobs.start_group([types.fail], on_failure="stop")),  # type: ignore[arg-type]
    ("members is a str", lambda horae, _: horae.jobs.start_group("fail")),
    ("expected a mapping", lambda horae, types: horae.jobs.start_group([(types.square, 3)])),  # type: ignore[list-item]
    ("tuple of 4", lambda horae, types: horae.jobs.start_group([(types.square, {}, 1, 2)])),  # type: ignore[list-item]
    (
        "unique_key",
        lambda horae, types: horae.jobs.start_group(
            [types.fail], options=StartOptions(unique_key="a")
        ),
    ),
    (
        "debounce is not",
        lambda horae, types: horae.jobs.start_group(
            [(types.fail, {}, StartOptions(debounce="1s"))]
        ),
    ),
    ("exclude each", lambda horae, types: horae.jobs.start(types.fail, after=[1], debounce="1s")),
    (
        "after is not",
        lambda horae, types: horae.jobs.start_group([types.fail], options=StartOptions(after=[1])),
    ),
    (
        "owner",
        lambda horae, types: horae.jobs.start_group(
            [types.fail], options=StartOptions(owner="a"), owner="b"
        ),
    ),
    ("after 'x'", lambda horae, types: horae.jobs.start(types.fail, after="x")),
    (
        "on_dependency_failure",
        lambda horae, types: horae.jobs.start(types.fail, on_dependency_failure="run"),
    ),
    ("expected 'cancel'", lambda _, __: StartOptions(after=[], on_dependency_failure="no")),  # type: ignore[arg-type]
    (
        "wait for other jobs",
        lambda horae, types: horae.jobs.start(types.fail, after=[1], sync=True),
    ),
]


@pytest.mark.one_database
@pytest.mark.parametrize(("text", "call"), WRONG, ids=[text for text, _ in WRONG])
def test_wrong_calls_are_refused(
    horae: Horae, types: Any, text: str, call: Callable[[Horae, Any], object]
) -> None:
    with pytest.raises(InvalidRequest, match=text):
        call(horae, types)
    assert rows(horae, "SELECT id FROM horae_jobs") == []


def test_the_same_type_with_other_parameters_may_be_then(horae: Horae, types: Any) -> None:
    assert (
        horae.jobs.start_group([(types.square, {"n": 1})], then=(types.square, {"n": 2})).total == 1
    )


def test_bad_parameters_of_a_member_leave_nothing(horae: Horae, types: Any) -> None:
    with pytest.raises(InvalidParameters):
        horae.jobs.start_group(
            [(types.square, {"n": 1}), (types.square, {"n": "x"})], then=types.combine
        )
    assert rows(horae, "SELECT id FROM horae_jobs") == []
    assert rows(horae, "SELECT id FROM horae_groups") == []


def test_a_group_within_the_caller_s_transaction(horae: Horae, types: Any) -> None:
    with own_engine(horae.components.database) as engine:
        with engine.connect() as connection:
            horae.jobs.start_group([types.fail], then=types.combine, session=connection)
            connection.rollback()
        assert rows(horae, "SELECT id FROM horae_jobs") == []
        with engine.begin() as connection:
            group = horae.jobs.start_group([types.fail], then=types.combine, session=connection)
    assert horae.jobs.get_group(group.id).total == 1


class TestLargeGroups:
    """Groups that are inserted in several transactions."""

    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(job_starts, "ATOMIC", 4)
        monkeypatch.setattr(job_starts, "INSERTED_AT_ONCE", 2)
        monkeypatch.setattr(members, "INSERTED_AT_ONCE", 2)

    def test_are_inserted_in_batches(self, horae: Horae, types: Any) -> None:
        open_when_half_inserted: list[bool] = []

        def given() -> Iterator[Any]:
            for n in range(9):
                if n == 7:
                    ids = rows(horae, "SELECT count(*) FROM horae_jobs")[0][0]
                    open_when_half_inserted.append(ids > 1)
                yield types.square, {"n": n}

        group = horae.jobs.start_group(given(), then=types.combine)
        assert open_when_half_inserted == [True]
        assert (group.total, group.inserting_at) == (9, None)
        assert [job.params["n"] for job in horae.jobs.members(group.id)] == list(range(9))

    def test_are_cancelled_if_their_creation_fails(self, horae: Horae, types: Any) -> None:
        given = [(types.square, {"n": n if n < 7 else "x"}) for n in range(9)]
        with pytest.raises(InvalidParameters):
            horae.jobs.start_group(given, then=types.combine)
        states = {row.state for row in rows(horae, "SELECT state FROM horae_jobs")}
        assert states == {"cancelled"}

    async def test_a_group_whose_creator_died_is_cancelled(
        self, horae: Horae, types: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def die(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(job_starts.JobStarts, "_insert_rest", die)
        with pytest.raises(KeyboardInterrupt):
            horae.jobs.start_group([(types.square, {"n": n}) for n in range(9)], then=types.combine)
        [row] = rows(horae, "SELECT id, then_id FROM horae_groups")
        assert horae.jobs.waiting_reason(row.then_id) == (
            f"It waits for the members of group {row.id} to end, of which more are being created."
        )
        monkeypatch.setattr("horae.runtime.liveness.group_sweeper.INSERTING_FOR", 0.0)
        async with running_node(horae):
            group = await horae.aio.jobs.wait_for_group(row.id, timeout="60s")
        assert group.state is GroupState.CANCELLED


def test_waiting_for_a_group_times_out(horae: Horae, types: Any) -> None:
    group = horae.jobs.start_group([types.fail])
    with pytest.raises(WaitTimeout, match=f"group {group.id}"):
        horae.jobs.wait_for_group(group.id, timeout="10ms")
    with pytest.raises(GroupDoesNotExist):
        horae.jobs.get_group(group.id + 1)


async def test_the_progress_of_a_group_is_the_mean_of_its_members(horae: Horae, types: Any) -> None:
    half, go_on = threading.Event(), threading.Event()

    @horae.job
    def at_half(job: JobContext) -> None:
        job.progress.set(50)
        half.set()
        go_on.wait(30)

    group = horae.jobs.start_group([(types.square, {"n": 1}), at_half])
    async with running_node(horae):
        await until_set(half)
        await until(lambda: horae.jobs.get_group(group.id).progress_percentage == 75)
        go_on.set()
        assert (
            await horae.aio.jobs.wait_for_group(group.id, timeout="30s")
        ).progress_percentage == 100


def test_a_context_of_no_application_knows_no_group(horae: Horae) -> None:
    @horae.job
    def body(job: JobContext) -> int:
        return job.group.id

    job = horae.jobs.start(body, sync=True)
    assert "no group" in (job.error or "")


def test_doctor_names_jobs_that_others_wait_for_and_that_no_node_runs(
    horae: Horae, types: Any
) -> None:
    group = horae.jobs.start_group([types.fail, types.fail], then=types.combine)
    horae.jobs.start(types.fail)
    [work] = horae.components.database.autocommit(doctor.due_work)
    assert (work.count, work.awaited) == (3, 2)
    [found] = work_findings([work], [], [], known=[])
    assert "for the end of 2 of which groups or other jobs wait" in found.message
    horae.jobs.cancel_group(group.id)


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("start", "place"),
    [
        (lambda jobs: jobs.start_many("add", [{"a": 1}, {"a": "x"}]), "values[1]"),
        (lambda jobs: jobs.start_many("once", [{"a": 1}, {"a": "x"}]), "values[1]"),
        (lambda jobs: jobs.start_group([("add", {"a": 1}), ("add", {"a": "x"})]), "members[1]"),
        (lambda jobs: jobs.chain([("add", {"a": 1}), ("add", {"a": "x"})]), "chain[1]"),
    ],
)
def test_an_error_of_parameters_says_of_which_of_many(
    horae: Horae, start: Callable[[Jobs], object], place: str
) -> None:
    @horae.job
    def add(a: int) -> None: ...

    @horae.job(name="once", unique=Unique(by=("a",)))
    def once(a: int) -> None: ...

    with pytest.raises(InvalidParameters) as refused:
        start(horae.jobs)
    assert [where for where, _ in refused.value.problems] == [f"{place}.a"]
    assert not horae.jobs.list().jobs
