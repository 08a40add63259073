"""Changes of many jobs: which ones they change, how they go on after a crash, and what they refuse."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from typing_extensions import override

from horae import (
    Horae,
    InvalidJobType,
    InvalidRequest,
    Job,
    JobCancelled,
    JobContext,
    JobState,
    JobType,
    LeaseLost,
    MaxJobCountExceeded,
)
from horae.client.jobs import Jobs, bulk_job
from horae.client.jobs.bulk_job import BulkJob, BulkParameters
from horae.domain.jobs.bulk import while_pending
from horae.domain.jobs.job import Claim, JobId, NodeId
from horae.domain.jobs.query import parse_query
from horae.storage.jobs import claims
from horae.storage.jobs.search import bulk
from horae.types.attempt import Attempt
from tests.harness.applications import attempt_of, execute, rows

NODE = NodeId("n1")
NEXT_YEAR = datetime(2031, 1, 1, tzinfo=UTC)
removed: list[int] = []


class Keep(JobType[Any]):
    type = "keep"

    @override
    def run(self, job: JobContext[Any]) -> None: ...

    @override
    def before_delete(self, job: Job) -> None:
        if job.id % 2 == 0:
            raise ValueError("its file is in use")
        removed.append(job.id)


@pytest.fixture
def shop(horae: Horae, monkeypatch: pytest.MonkeyPatch) -> Horae:
    """Jobs 1 to 12: six of alice, six of bob; batches are small."""
    monkeypatch.setattr(bulk_job, "BATCH", 3)

    @horae.job
    def work(number: int) -> None: ...

    horae.register(Keep)
    removed.clear()
    for number in range(12):
        horae.jobs.start(
            work,
            number=number,
            owner="alice" if number < 6 else "bob",
            tags=["even"] if number % 2 == 0 else None,
        )
    return horae


def fail(horae: Horae, *ids: int) -> None:
    for job_id in ids:
        execute(
            horae,
            f"UPDATE horae_jobs SET state = 'failed', finished_at = created_at, error = 'Timeout {job_id}' WHERE id = {job_id}",
        )


def context_of(horae: Horae, job: Job) -> JobContext[BulkParameters]:
    """The job, claimed by a node."""
    claim = horae.components.database.transact(claims.claim_one, job.id, NODE)
    assert claim is not None
    return again(claim, 0)


def again(claim: Claim, leases: int) -> JobContext[BulkParameters]:
    """A later attempt at the job."""
    order = BulkParameters.model_validate_json(claim.params or "")
    attempt = Attempt(
        claim._replace(lease=claim.lease + leases), None, lambda _percent, _label: None
    )
    attempt.params = order
    return JobContext(attempt)


def kind_of(horae: Horae) -> BulkJob:
    found = horae.registry.get("horae.bulk")
    assert isinstance(found, BulkJob)
    return found


def run(horae: Horae, job: Job) -> dict[str, Any]:
    return kind_of(horae).run(context_of(horae, job))


def states(horae: Horae) -> dict[int, str]:
    return dict(
        rows(horae, "SELECT id, state FROM horae_jobs WHERE type <> 'horae.bulk' ORDER BY id")
    )


class TestActions:
    def test_cancel(self, shop: Horae) -> None:
        fail(shop, 2)
        job = shop.jobs.cancel_many(query="tag:even", owner="alice", by="root")
        late = shop.jobs.start("work", number=0, owner="alice", tags=["even"])
        result = run(shop, job)
        assert {
            key: result[key] for key in ("total", "changed", "skipped", "failed", "errors")
        } == {
            "total": 3,
            "changed": 3,
            "skipped": 0,
            "failed": 0,
            "errors": [],
        }
        cancelled = [job_id for job_id, state in states(shop).items() if state == "cancelled"]
        assert cancelled == [1, 3, 5]
        assert {shop.jobs.get(job_id).cancelled_by for job_id in cancelled} == {"root"}
        assert shop.jobs.get(late.id).state is JobState.PENDING  # created after the order

    def test_retry_leaves_out_what_was_retried(self, shop: Horae) -> None:
        fail(shop, 1, 2, 3, 8)
        shop.jobs.retry(2)
        job = shop.jobs.retry_many(query="error:timeout", types=["work"])
        assert run(shop, job)["changed"] == 3
        retries = rows(
            shop, "SELECT retry_of FROM horae_jobs WHERE retry_of IS NOT NULL ORDER BY retry_of"
        )
        assert [each.retry_of for each in retries] == [1, 2, 3, 8]
        again_ = shop.jobs.retry_many(query="error:timeout", types=["work"])
        assert run(shop, again_)["total"] == 0

    def test_delete_calls_the_hook_of_each(self, shop: Horae) -> None:
        kept = [shop.jobs.start(Keep).id for _ in range(4)]
        fail(shop, 1, *kept)
        result = run(shop, shop.jobs.delete_many(states=["failed"]))
        assert (result["changed"], result["failed"]) == (3, 2)
        assert sorted(removed) == [job_id for job_id in kept if job_id % 2]
        assert len(result["errors"]) == 2
        assert "its file is in use" in result["errors"][0]
        assert set(kept) & states(shop).keys() == {job_id for job_id in kept if job_id % 2 == 0}

    def test_delete_leaves_unknown_types_to_programs_that_know_them(self, shop: Horae) -> None:
        fail(shop, 1, 2)
        execute(shop, "UPDATE horae_jobs SET type = 'elsewhere' WHERE id = 1")
        assert run(shop, shop.jobs.delete_many(states=["failed"]))["changed"] == 2
        assert 2 not in states(shop)
        (owed,) = rows(shop, "SELECT hook_owed FROM horae_jobs WHERE id = 1")
        assert owed.hook_owed == "before_delete"
        assert shop.jobs.delete_many(states=["failed"], preview=True).count == 0

    def test_reschedule(self, shop: Horae) -> None:
        fail(shop, 7)
        assert run(shop, shop.jobs.reschedule_many(owner="bob", run_at=NEXT_YEAR))["changed"] == 5
        moved = rows(shop, "SELECT id FROM horae_jobs WHERE run_at > created_at ORDER BY id")
        assert [each.id for each in moved] == [8, 9, 10, 11, 12]
        assert run(shop, shop.jobs.reschedule_many(owner="bob", delay="1h"))["changed"] == 5
        later = shop.jobs.get(8)
        assert timedelta(minutes=59) < later.run_at - later.created_at < timedelta(minutes=61)

    def test_a_job_that_cannot_be_retried_does_not_stop_the_others(self, shop: Horae) -> None:
        fail(shop, 1, 2)
        execute(shop, "UPDATE horae_jobs SET type = 'elsewhere' WHERE id = 2")
        result = run(shop, shop.jobs.retry_many(states=["failed"]))
        assert (result["changed"], result["failed"]) == (1, 1)
        assert "elsewhere" in result["errors"][0]
        (sentence,) = result["sentences"]  # for a page in another language
        assert (sentence["job"], sentence["code"]) == (2, "value_job_type")


class Killed(BaseException):
    """The end of the process."""


class TestCrashes:
    @pytest.mark.parametrize("after", [0, 1, 4, 6])
    def test_another_attempt_continues_and_repeats_nothing(
        self, shop: Horae, monkeypatch: pytest.MonkeyPatch, after: int
    ) -> None:
        fail(shop, *range(1, 8))
        claim = context_of(shop, shop.jobs.retry_many(states=["failed"])).claim
        calls = 0
        retry = Jobs.retry

        def dying(client: Jobs, job_id: int, **options: Any) -> Job:
            nonlocal calls
            calls += 1
            if calls > after:
                raise Killed
            return retry(client, job_id, **options)

        monkeypatch.setattr(Jobs, "retry", dying)
        with pytest.raises(Killed):
            kind_of(shop).run(again(claim, 0))
        monkeypatch.setattr(Jobs, "retry", retry)
        result = kind_of(shop).run(again(claim, 1))
        assert (result["total"], result["changed"], result["skipped"]) == (7, 7, 0)
        assert len(rows(shop, "SELECT id FROM horae_jobs WHERE retry_of IS NOT NULL")) == 7

    def test_a_cancelled_one_stops_and_keeps_what_it_has_changed(
        self, shop: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        context = context_of(shop, shop.jobs.cancel_many(types=["work"]))
        cancel = Jobs.cancel

        def stopped_after_the_first(client: Jobs, job_id: int, **options: Any) -> Job:
            attempt_of(context).take_order(JobCancelled())
            return cancel(client, job_id, **options)

        monkeypatch.setattr(Jobs, "cancel", stopped_after_the_first)
        with pytest.raises(JobCancelled):
            kind_of(shop).run(context)
        assert [job_id for job_id, state in states(shop).items() if state == "cancelled"] == [12]

    def test_an_attempt_that_was_replaced_changes_nothing(self, shop: Horae) -> None:
        claim = context_of(shop, shop.jobs.cancel_many(types=["work"])).claim
        database = shop.components.database
        database.transact(bulk.begin, claim.id, claim.lease + 1, None)
        with pytest.raises(LeaseLost):
            kind_of(shop).run(again(claim, 0))
        assert set(states(shop).values()) == {"pending"}

        stale = again(claim, 2)
        execution = bulk_job._Execution(database, shop.registry, shop.jobs, stale)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        database.transact(bulk.begin, claim.id, claim.lease + 3, None)
        with pytest.raises(LeaseLost):
            execution._change_one(JobId(1))  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        assert set(states(shop).values()) == {"pending"}

    def test_a_node_runs_it_and_shows_its_end(self, shop: Horae) -> None:
        job = shop.jobs.cancel_many(owner="alice", by="root")
        assert (job.type, job.owner) == ("horae.bulk", "alice")
        with shop.node(concurrency=1, queues=("default",)).running():
            result = shop.jobs.wait(job.id, timeout="30s")
        assert result["changed"] + result["skipped"] <= 6
        ended = shop.jobs.get(job.id)
        assert (ended.state, ended.progress_percentage) == (JobState.FINISHED, 100)
        shop.jobs.delete(job.id)
        assert rows(shop, "SELECT job_id FROM horae_bulk_runs") == []


class TestOrders:
    def test_it_begins_before_the_jobs_that_it_changes_whichever_queues_are_served(
        self, shop: Horae
    ) -> None:
        shop.jobs.start("work", number=12, priority=1_000_000)
        shop.jobs.start("work", number=13, queue="served", priority=1_000_000)
        shop.queues.pause("default")
        job = shop.jobs.cancel_many(types=["work"])
        with shop.node(concurrency=1, queues=("served",)).running():
            result = shop.jobs.wait(job.id, timeout="30s")
        assert (result["changed"], result["begun"]) == (14, 0)

    def test_it_says_how_many_jobs_began_before_it_reached_them(self, shop: Horae) -> None:
        database = shop.components.database
        assert database.transact(claims.claim_one, JobId(12), NODE)
        job = shop.jobs.cancel_many(types=["work"], query="-state:failed tag:even")
        moved = shop.jobs.reschedule_many(types=["work"], states=["pending"], delay="1h")
        of_running = shop.jobs.cancel_many(states=["started"])
        for job_id in (1, 2, 3):
            assert database.transact(claims.claim_one, JobId(job_id), NODE)
        end = "UPDATE horae_jobs SET state = 'finished', node_id = NULL, finished_at = started_at WHERE id < 3"
        execute(shop, end)
        late = run(shop, moved)
        assert (late["changed"], late["begun"]) == (8, 3)
        late = run(
            shop, job
        )  # of 1, 3, 5, 7, 9 and 11 the first has ended, and 3 is cancelled while it runs
        assert (late["changed"], late["begun"]) == (5, 2)
        assert run(shop, of_running)["begun"] == 0

    def test_an_order_that_was_only_inserted_changes_nothing(self, shop: Horae) -> None:
        job = shop.jobs.cancel_many(types=["work"])
        execute(shop, "DELETE FROM horae_bulk_runs")
        with pytest.raises(InvalidRequest, match="no row in horae_bulk_runs"):
            run(shop, job)
        execute(
            shop,
            f"UPDATE horae_jobs SET state = 'failed', finished_at = created_at, node_id = NULL WHERE id = {job.id}",
        )
        again_ = shop.jobs.retry(job.id)
        with pytest.raises(InvalidRequest, match="no row in horae_bulk_runs"):
            run(shop, again_)
        assert set(states(shop).values()) == {"pending"}

    def test_a_retry_of_an_order_changes_what_is_left(self, shop: Horae) -> None:
        job = shop.jobs.cancel_many(types=["work"], owner="bob")
        shop.jobs.cancel(job.id)
        assert run(shop, shop.jobs.retry(job.id))["changed"] == 6

    def test_an_owner_has_few_open_orders(self, shop: Horae) -> None:
        for _ in range(BulkJob.max_count or 0):
            shop.jobs.cancel_many(owner="alice")
        with pytest.raises(MaxJobCountExceeded):
            shop.jobs.cancel_many(owner="alice")
        assert shop.jobs.cancel_many(types=["work"]).queue == "horae.bulk"


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("tag:a state:pending", "tag:a"),
        ("-state:finished -error:x -duration:>1s tag:a", "tag:a"),
        ("-state:pending", None),
        ("state:started", None),
        ("error:timeout", None),
        ("finished:>1h", None),
    ],
)
def test_what_a_query_asks_of_a_pending_job(query: str, left: str | None) -> None:
    assert while_pending(parse_query(query)) == (None if left is None else parse_query(left))


class TestPreview:
    def test_it_counts_and_changes_nothing(self, shop: Horae) -> None:
        fail(shop, 3)
        preview = shop.jobs.cancel_many(owner="alice", preview=True)
        assert (preview.count, preview.complete) == (5, True)
        assert [job.id for job in preview.newest] == [6, 5, 4, 2, 1]
        assert shop.jobs.retry_many(all=True, preview=True).count == 1
        assert shop.jobs.delete_many(query="params.number:2", preview=True).count == 1
        assert shop.jobs.reschedule_many(all=True, run_at=NEXT_YEAR, preview=True).count == 11
        assert set(states(shop).values()) == {"pending", "failed"}

    async def test_coroutines(self, shop: Horae) -> None:
        assert (await shop.aio.jobs.cancel_many(query="tag:even", preview=True)).count == 6
        assert (await shop.aio.jobs.delete_many(all=True)).type == "horae.bulk"


@pytest.mark.one_database
class TestRefusals:
    def test_a_filter_that_excludes_nothing_needs_all(self, shop: Horae) -> None:
        for call in (shop.jobs.cancel_many, shop.jobs.retry_many, shop.jobs.delete_many):
            with pytest.raises(InvalidRequest, match="pass a filter, or all=True"):
                call()
        with pytest.raises(InvalidRequest, match="pass a filter, or all=True"):
            shop.jobs.reschedule_many(run_at=NEXT_YEAR)
        assert shop.jobs.cancel_many(all=True).type == "horae.bulk"

    @pytest.mark.parametrize(
        ("which", "reason"),
        [
            ({"query": "foo-x:1"}, "there is no field 'foo-x'"),
            ({"query": "params.missing:1"}, "no job type that this program declares"),
            ({"states": ["done"]}, "allowed are pending"),
            ({"types": "work"}, "expected a list of texts"),
            ({"colour": "red"}, "there is no filter 'colour'"),
            ({"owner": "", "by": "x"}, "owner"),
            ({"all": True, "by": "\n"}, "by"),
        ],
    )
    def test_bad_filters(self, shop: Horae, which: Any, reason: str) -> None:
        with pytest.raises(InvalidRequest, match=reason):
            shop.jobs.cancel_many(**which)
        assert 13 not in states(shop)

    def test_one_new_time(self, shop: Horae) -> None:
        for when in ({}, {"run_at": NEXT_YEAR, "delay": "1h"}):
            with pytest.raises(InvalidRequest, match="either run_at or delay"):
                shop.jobs.reschedule_many(all=True, **when)  # type: ignore[call-overload]

    def test_its_name_is_reserved(self, horae: Horae) -> None:
        with pytest.raises(InvalidJobType, match="reserved"):
            horae.job(name="horae.bulk")(lambda: None)


def test_the_audit_log_has_the_order_and_each_change(shop: Horae) -> None:
    run(shop, shop.jobs.cancel_many(query="tag:even", owner="bob", by="root"))
    entries = rows(shop, "SELECT actor, action, target FROM horae_audit ORDER BY id")
    assert [(each.actor, each.action, each.target) for each in entries] == [
        ("root", "jobs.cancel_many", "jobs"),
        *[("root", "job.cancel", str(job_id)) for job_id in (11, 9, 7)],
    ]
