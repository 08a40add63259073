"""Creating jobs: checked at the caller, all or nothing."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import text

from horae import (
    Backoff,
    DuplicateJob,
    Horae,
    InvalidParameters,
    InvalidRequest,
    JobState,
    StartOptions,
    UnknownJobType,
)
from horae.client.jobs.jobs import Jobs
from tests.harness.applications import (
    ReceivedHints,
    claim_as_another_node,
    counted_statements,
    rows,
)

SAVED = "SELECT count(*) FROM horae_jobs"

# SQLite reads its clock once for each column.
CLOCK_STEP = timedelta(milliseconds=100)


def saved(horae: Horae) -> int:
    return int(rows(horae, SAVED)[0][0])


@pytest.fixture
def counting(horae: Horae) -> Horae:
    @horae.job(max_count=None)
    def count(start: int, step: int = 1) -> int:
        return start + step

    return horae


def test_a_started_job_is_pending_with_the_parameters_that_were_given(counting: Horae) -> None:
    started = counting.jobs.start("count", start="3", owner="alice", meta={"trace": "00-1"})
    stored = counting.jobs.get(started.id)
    assert stored == started
    assert (stored.state, stored.params, stored.owner) == (
        JobState.PENDING,
        {"start": "3", "step": 1},
        "alice",
    )
    assert (stored.attempt, stored.lease, stored.progress_percentage, stored.meta) == (
        0,
        0,
        0,
        {"trace": "00-1"},
    )
    assert stored.created_at - stored.run_at < CLOCK_STEP


async def test_starting_sends_a_hint(counting: Horae) -> None:
    received = ReceivedHints(counting)
    await counting.aio.jobs.start("count", start=1)
    await received.hints.until(lambda: "work" in received.kinds())


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(lambda jobs: jobs.start("count", start=1), id="start"),
        pytest.param(
            lambda jobs: jobs.start("count", start=1, unique_key="one"),
            id="start with a unique key",
        ),
        pytest.param(lambda jobs: jobs.start_many("count", [{"start": 1}]), id="start_many"),
        pytest.param(lambda jobs: jobs.start_group([("count", {"start": 1})]), id="start_group"),
    ],
)
def test_nodes_are_notified_of_what_is_committed(
    counting: Horae, monkeypatch: pytest.MonkeyPatch, start: Callable[[Jobs], object]
) -> None:
    """Whoever claims upon the hint would otherwise find nothing, and look again only after seconds."""
    committed: list[int] = []
    monkeypatch.setattr(
        counting.components.wakeup, "send", lambda _, **__: committed.append(saved(counting))
    )
    start(counting.jobs)
    assert committed == [1]


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({}, "start"),
        ({"start": "many"}, "start"),
        ({"start": 1, "stop": 2}, "stop"),
        ({"start": 1, "step": None}, "step"),
    ],
)
def test_a_bad_call_fails_at_the_caller_and_leaves_nothing(
    counting: Horae, values: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidParameters) as caught:
        counting.jobs.start("count", **values)
    assert [where for where, _ in caught.value.problems] == [problem]
    assert saved(counting) == 0


@pytest.mark.one_database
def test_a_text_that_no_database_stores_is_refused(horae: Horae) -> None:
    @horae.job
    def shout(words: str) -> None: ...

    with pytest.raises(InvalidParameters, match="NUL"):
        horae.jobs.start(shout, words="a\x00b")
    kept = horae.jobs.start(shout, words=r"not a NUL: \u0000")
    assert horae.jobs.get(kept.id).params == {"words": r"not a NUL: \u0000"}


@pytest.mark.one_database
def test_an_unknown_type_is_named_with_those_that_are_known(counting: Horae) -> None:
    with pytest.raises(UnknownJobType, match=r"'cuont' .*known: count"):
        counting.jobs.start("cuont")


@pytest.mark.one_database
@pytest.mark.parametrize(
    "options",
    [
        {"run_at": datetime(2030, 1, 1)},  # noqa: DTZ001 - that it has no zone is the point
        {"run_at": datetime(2030, 1, 1, tzinfo=UTC), "delay": timedelta(1)},
        {"max_attempts": 0},
        {"owner": ""},
        {"unique_key": "x" * 201},
        {"meta": {"object": object()}},
        {"meta": {"text": "a\x00b"}},
        {"meta": {"text": "\ud800"}},
        {"owner": "a\x00b"},
        {"queue": "\ud800"},
        {"on_duplicate": "skip"},
        {"priority": 1.5},
        {"max_attempts": "3"},
        {"owner": 7},
        {"backoff": 5},
        {"meta": [1]},
        {"delay": 5},
        {"delay": timedelta.max},
        {"run_at": "2030-01-01"},
        {"run_at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))},
    ],
)
def test_invalid_options_are_refused(counting: Horae, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        counting.jobs.start("count", start=1, **options)
    assert saved(counting) == 0


def test_a_delayed_job_waits_for_its_time(counting: Horae) -> None:
    later = datetime(2060, 1, 1, 12, 30, 15, 123456, tzinfo=UTC)
    at = counting.jobs.start("count", start=1, run_at=later)
    delayed = counting.jobs.start("count", start=2, delay=timedelta(hours=1))
    due = counting.jobs.start("count", start=3, run_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert counting.jobs.get(at.id).run_at == later
    assert abs(delayed.run_at - delayed.created_at - timedelta(hours=1)) < CLOCK_STEP
    assert [claim.id for claim in claim_as_another_node(counting)] == [due.id]


def test_a_moment_of_another_zone_is_the_same_moment(counting: Horae) -> None:
    local = datetime(2060, 7, 1, 12, tzinfo=ZoneInfo("Asia/Kolkata"))
    assert counting.jobs.start("count", start=1, run_at=local).run_at == local


def test_higher_priorities_go_first_and_equals_in_their_order(counting: Horae) -> None:
    low = counting.jobs.start("count", start=1, priority=-5)
    first = counting.jobs.start("count", start=2)
    second = counting.jobs.start("count", start=3)
    urgent = counting.jobs.start("count", start=4, priority=10)
    taken = [claim.id for claim in claim_as_another_node(counting, 3)]
    assert taken == [urgent.id, first.id, second.id]
    assert [claim.id for claim in claim_as_another_node(counting)] == [low.id]


def test_a_queue_is_claimed_by_the_nodes_that_serve_it(counting: Horae) -> None:
    ordinary = counting.jobs.start("count", start=1)
    export = counting.jobs.start("count", start=2, queue="export")
    assert [claim.id for claim in claim_as_another_node(counting, queues=["export"])] == [export.id]
    assert [claim.id for claim in claim_as_another_node(counting)] == [ordinary.id]


def test_attempts_and_back_off_of_one_job_go_before_those_of_its_type(counting: Horae) -> None:
    backoff = Backoff(base=timedelta(seconds=7), jitter=0)
    job = counting.jobs.start("count", start=1, max_attempts=4, backoff=backoff)
    [claim] = claim_as_another_node(counting)
    assert (job.max_attempts, claim.max_attempts) == (4, 4)
    assert claim.backoff is not None
    assert '"base": 7.0' in claim.backoff


class TestUniqueKeys:
    def test_an_active_key_refuses_and_names_its_job(self, counting: Horae) -> None:
        first = counting.jobs.start("count", start=1, unique_key="nightly")
        with pytest.raises(DuplicateJob) as caught:
            counting.jobs.start("count", start=2, unique_key="nightly")
        assert (caught.value.job_id, caught.value.unique_key) == (first.id, "nightly")
        assert saved(counting) == 1

    def test_it_can_return_the_active_job_instead(self, counting: Horae) -> None:
        first = counting.jobs.start("count", start=1, unique_key="nightly")
        again = counting.jobs.start("count", start=2, unique_key="nightly", on_duplicate="return")
        assert (again.id, again.params) == (first.id, {"start": 1, "step": 1})
        claim_as_another_node(counting)
        running = counting.jobs.start("count", start=2, unique_key="nightly", on_duplicate="return")
        assert (running.id, running.state) == (first.id, JobState.STARTED)

    def test_it_is_free_again_once_the_job_has_ended(self, counting: Horae) -> None:
        first = counting.jobs.start("count", start=1, unique_key="nightly")
        counting.jobs.cancel(first.id)
        assert counting.jobs.start("count", start=2, unique_key="nightly").id != first.id

    def test_another_type_may_use_it_too(self, counting: Horae) -> None:
        @counting.job
        def other() -> None: ...

        counting.jobs.start("count", start=1, unique_key="nightly")
        counting.jobs.start(other, unique_key="nightly")
        assert saved(counting) == 2


class TestMany:
    def test_ids_come_in_the_order_of_the_parameters(self, counting: Horae) -> None:
        ids = counting.jobs.start_many("count", [{"start": number} for number in range(1000)])
        found = {job.id: job.params["start"] for job in counting.jobs.list(ids=ids).jobs}
        assert [found[job_id] for job_id in ids] == list(range(1000))

    def test_one_bad_mapping_leaves_nothing(self, counting: Horae) -> None:
        with pytest.raises(InvalidParameters):
            counting.jobs.start_many("count", [{"start": 1}, {"start": "x"}])
        assert saved(counting) == 0

    def test_an_empty_batch_starts_nothing(self, counting: Horae) -> None:
        assert counting.jobs.start_many("count", []) == []

    def test_a_batch_may_have_one_owner(self, counting: Horae) -> None:
        ids = counting.jobs.start_many("count", [{"start": 1}, {"start": 2}], owner="ada")
        assert [counting.jobs.get(job_id, owner="ada").owner for job_id in ids] == ["ada", "ada"]
        with pytest.raises(InvalidRequest, match="name it once"):
            counting.jobs.start_many(
                "count", [{"start": 1}], owner="ada", options=StartOptions(owner="bob")
            )

    def test_options_hold_for_all(self, counting: Horae) -> None:
        options = StartOptions(queue="bulk", priority=-1, delay=timedelta(hours=1), owner="alice")
        ids = counting.jobs.start_many("count", [{"start": 1}, {"start": 2}], options=options)
        found = counting.jobs.list(ids=ids).jobs
        assert {(job.queue, job.priority, job.owner) for job in found} == {("bulk", -1, "alice")}
        assert all(
            abs(job.run_at - job.created_at - timedelta(hours=1)) < CLOCK_STEP for job in found
        )

    @pytest.mark.one_database
    def test_a_unique_key_cannot_name_many(self, counting: Horae) -> None:
        with pytest.raises(InvalidRequest, match="unique_key"):
            counting.jobs.start_many("count", [{"start": 1}], options=StartOptions(unique_key="x"))

    def test_a_type_without_parameters_is_started_many_times(self, horae: Horae) -> None:
        @horae.job
        def tick() -> None: ...

        assert len(set(horae.jobs.start_many(tick, [{}, {}, {}]))) == 3
        assert len(claim_as_another_node(horae)) == 3


def test_a_function_is_called_as_ever(horae: Horae) -> None:
    @horae.job
    def double(number: int) -> int:
        return 2 * number

    assert double(21) == 42


def test_a_row_without_known_columns_stays_readable(counting: Horae) -> None:
    """Another program may have written the row: its parameters are shown as they are."""
    job = counting.jobs.start("count", start=1)
    with counting.components.database.engine.begin() as connection:
        connection.execute(
            text("UPDATE horae_jobs SET type = 'of_another_program' WHERE id = :id"), {"id": job.id}
        )
    assert counting.jobs.get(job.id).type == "of_another_program"
    assert claim_as_another_node(counting) == []


def test_a_plain_job_is_inserted_without_the_columns_of_others(counting: Horae) -> None:
    with counted_statements(counting) as statements:
        counting.jobs.start("count", start=1)
    (insert,) = [each for each in statements if "INSERT INTO horae_jobs " in each]
    columns = insert[: insert.index(")")]
    assert not [name for name in ("key_is_shared", "expires_at") if name in columns]
