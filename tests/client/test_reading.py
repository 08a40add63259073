"""Reading jobs: one, and pages of many."""

from typing import Any

import pytest
from sqlalchemy import select

from horae import (
    EVERYBODY,
    LEFT_OUT,
    DeploymentDoesNotExist,
    Horae,
    InvalidRequest,
    JobDoesNotExist,
    JobState,
    jobs_table,
)
from horae.errors import DatabaseUnavailable
from horae.live.store import LiveReport
from tests.harness.applications import claim_as_another_node, execute, limit_jobs


@pytest.fixture
def stocked(horae: Horae) -> Horae:
    """Ten jobs, the ids 1 to 10: two of each state, in turns."""

    @horae.job(max_count=None)
    def work(number: int) -> None: ...

    for number in range(1, 11):
        horae.jobs.start(
            work, number=number, owner="alice" if number % 2 else "bob", queue=f"queue {number % 3}"
        )
    for rest, state in enumerate(("pending", "started", "finished", "failed", "cancelled")):
        finished_at = "NULL" if state in ("pending", "started") else "created_at"
        node = "'elsewhere'" if state == "started" else "NULL"
        changes = f"state = '{state}', finished_at = {finished_at}, node_id = {node}, lease = 1"
        execute(horae, f"UPDATE horae_jobs SET {changes} WHERE id % 5 = {rest}")
    return horae


def ids(horae: Horae, **filters: Any) -> list[int]:
    return [job.id for job in horae.jobs.list(**filters).jobs]


@pytest.mark.parametrize("name", ["a\0b", "\ud800"])
def test_a_name_that_cannot_be_stored_matches_nothing(stocked: Horae, name: str) -> None:
    """The driver of PostgreSQL would refuse it with an error of its own."""
    assert ids(stocked, types=[name]) == ids(stocked, queues=[name]) == []
    assert len(ids(stocked, types=[name, "work"])) == 10
    assert stocked.jobs.clean_up(unknown=[name]) == 0
    assert list(stocked.schedules.list(module=name)) == []
    assert stocked.deployments.current(name) is None
    with pytest.raises(DeploymentDoesNotExist):
        stocked.deployments.end(name)


class TestStates:
    def test_none_is_no_filter_and_an_empty_filter_matches_nothing(self, stocked: Horae) -> None:
        assert ids(stocked) == list(range(10, 0, -1))
        assert ids(stocked, states=[]) == []

    def test_states_are_united(self, stocked: Horae) -> None:
        assert ids(stocked, states=["pending"]) == [10, 5]
        assert ids(stocked, states=["failed", "pending"]) == [10, 8, 5, 3]

    def test_an_exclamation_mark_excludes(self, stocked: Horae) -> None:
        assert ids(stocked, states=["!failed"]) == [10, 9, 7, 6, 5, 4, 2, 1]
        assert ids(stocked, states=["!failed", "!pending"]) == [9, 7, 6, 4, 2, 1]

    @pytest.mark.parametrize("order", [1, -1])
    def test_their_order_does_not_matter(self, stocked: Horae, order: int) -> None:
        assert ids(stocked, states=["pending", "failed", "!failed"][::order]) == [10, 5]
        assert ids(stocked, states=["!failed", "failed"][::order]) == []

    @pytest.mark.one_database
    def test_an_unknown_state_is_refused_with_those_that_are_known(self, stocked: Horae) -> None:
        with pytest.raises(InvalidRequest, match=r"'runing' .*started"):
            stocked.jobs.list(states=["!runing"])


class TestFilters:
    def test_types_queues_and_owners(self, stocked: Horae) -> None:
        assert ids(stocked, types=["work"], queues=["queue 0"], owner="bob") == [6]
        assert ids(stocked, types=["other"]) == []
        assert ids(stocked, types=[]) == []
        assert ids(stocked, queues=[]) == []

    def test_ids_are_never_cut_short(self, stocked: Horae) -> None:
        assert ids(stocked, ids=range(1, 11), limit=3) == list(range(10, 0, -1))
        assert stocked.jobs.list(ids=range(1, 11), limit=3).next is None
        assert ids(stocked, ids=[]) == []

    def test_ids_of_others_look_missing(self, stocked: Horae) -> None:
        assert ids(stocked, ids=[1, 2, 3, 99], owner="alice") == [3, 1]

    def test_many_ids_are_read_by_one_query(self, stocked: Horae) -> None:
        assert ids(stocked, ids=range(-50_000, 50_000)) == list(range(10, 0, -1))


class TestPages:
    def test_a_cursor_continues_where_the_page_ended_though_jobs_are_added(
        self, stocked: Horae
    ) -> None:
        seen: list[int] = []
        cursor: str | None = None
        while True:
            page = stocked.jobs.list(limit=3, cursor=cursor, owner="bob")
            seen += [job.id for job in page.jobs]
            stocked.jobs.start("work", number=0, owner="bob")
            cursor = page.next
            if cursor is None:
                break
        assert seen == [10, 8, 6, 4, 2]

    def test_the_last_page_has_no_cursor_even_if_it_is_full(self, stocked: Horae) -> None:
        assert stocked.jobs.list(limit=10).next is None
        assert stocked.jobs.list(limit=9).next is not None

    @pytest.mark.one_database
    @pytest.mark.parametrize("cursor", ["", "x", "-1", "1.5", "\uff11", "9" * 20])
    def test_a_cursor_of_one_s_own_making_is_refused(self, stocked: Horae, cursor: str) -> None:
        with pytest.raises(InvalidRequest, match="cursor"):
            stocked.jobs.list(cursor=cursor)

    def test_a_page_has_at_least_one_job(self, stocked: Horae) -> None:
        with pytest.raises(InvalidRequest, match="limit"):
            stocked.jobs.list(limit=0)


class TestOne:
    def test_a_job_of_another_owner_looks_missing(self, stocked: Horae) -> None:
        assert stocked.jobs.get(1, owner="alice").id == 1
        for job_id, owner in ((1, "bob"), (99, EVERYBODY), (99, "alice")):
            with pytest.raises(JobDoesNotExist):
                stocked.jobs.get(job_id, owner=owner)

    @pytest.mark.parametrize("job_id", [0, -1, 2**63, 10**30])
    def test_an_id_that_no_job_can_have_is_a_missing_job(self, stocked: Horae, job_id: int) -> None:
        for verb in (
            stocked.jobs.get,
            stocked.jobs.cancel,
            stocked.jobs.retry,
            stocked.jobs.delete,
        ):
            with pytest.raises(JobDoesNotExist):
                verb(job_id)
        assert ids(stocked, ids=[job_id, 3]) == [3]

    def test_counts(self, stocked: Horae) -> None:
        assert stocked.jobs.count() == dict.fromkeys(JobState, 2)

    def test_the_live_report_goes_before_the_row_while_its_lease_does(self, horae: Horae) -> None:
        @horae.job
        def work() -> None: ...

        job = horae.jobs.start(work)
        [claim] = claim_as_another_node(horae)
        horae.components.live.publish([LiveReport(claim.id, claim.lease, 40, "sorting")])
        shown = horae.jobs.get(job.id)
        assert (shown.progress_percentage, shown.label, shown.state) == (
            40,
            "sorting",
            JobState.STARTED,
        )
        assert [(one.progress_percentage, one.label) for one in horae.jobs.list().jobs] == [
            (40, "sorting")
        ]
        execute(horae, "UPDATE horae_jobs SET lease = lease + 1")
        stolen = horae.jobs.get(job.id)
        assert (stolen.progress_percentage, stolen.label) == (0, None)

    def test_jobs_are_read_without_their_reports_if_the_live_store_fails(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As beside a SQLite file whose disk is full."""

        @horae.job
        def work() -> None: ...

        def fail(*_: Any) -> Any:
            raise DatabaseUnavailable("live", "disk is full", answers=True)

        job = horae.jobs.start(work)
        claim_as_another_node(horae)
        monkeypatch.setattr(horae.components.live, "read", fail)
        shown = horae.jobs.get(job.id)
        assert (shown.state, shown.progress_percentage) == (JobState.STARTED, 0)
        assert horae.jobs.list().jobs == [shown]

    def test_a_row_that_has_ended_always_wins(self, horae: Horae) -> None:
        @horae.job
        def work() -> None: ...

        job = horae.jobs.start(work)
        [claim] = claim_as_another_node(horae)
        horae.jobs.cancel(job.id)
        horae.components.live.publish([LiveReport(claim.id, claim.lease, 40, "sorting")])
        shown = horae.jobs.get(job.id)
        assert (shown.progress_percentage, shown.label, shown.state) == (
            0,
            None,
            JobState.CANCELLED,
        )


def test_jobs_are_found_by_a_parameter_in_a_statement_of_ones_own(horae: Horae) -> None:
    @horae.job
    def mail(to: str, copies: int = 1, lines: list[str] | None = None) -> None: ...

    first = horae.jobs.start(mail, to="ada", copies=3, lines=["x", "y"])
    second = horae.jobs.start(mail, to="bob")
    params = jobs_table.c.params

    def found(condition: Any) -> list[int]:
        with horae.components.database.engine.begin() as connection:
            return list(connection.execute(select(jobs_table.c.id).where(condition)).scalars())

    assert found(params["to"] == "ada") == [first.id]
    assert found(params["to"].as_string().like("b%")) == [second.id]
    assert found(params["copies"].as_integer() > 2) == [first.id]
    assert found(params[("lines", 1)].as_string() == "y") == [first.id]
    with horae.components.database.engine.begin() as connection:
        chosen = select(params["to"], params["lines"], params).order_by(jobs_table.c.id)
        rows = [tuple(row) for row in connection.execute(chosen)]
    assert rows == [
        ("ada", ["x", "y"], {"to": "ada", "copies": 3, "lines": ["x", "y"]}),
        ("bob", None, {"to": "bob", "copies": 1, "lines": None}),
    ]


class TestLongValues:
    @pytest.fixture
    def long(self, horae: Horae) -> Horae:
        """Two short jobs, and one whose parameters, result and `meta` have 300 bytes each, in lists of some 90."""

        @horae.job
        def work(text: str) -> str:
            return text

        for length in (3, 300, 3):
            job = horae.jobs.start(work, text="x" * length, meta={"trace": "x" * length})
            execute(
                horae, f"UPDATE horae_jobs SET result = '\"{'y' * length}\"' WHERE id = {job.id}"
            )
        limit_jobs(horae, listed_bytes=3 * 3 * 90)
        return horae

    def test_a_list_leaves_them_out_and_get_does_not(self, long: Horae) -> None:
        third, second, first = long.jobs.list(ids=[1, 2, 3]).jobs
        values: list[Any] = [second.params, second.result, second.meta]
        assert values == [LEFT_OUT] * 3
        assert [third, first] == [long.jobs.get(3), long.jobs.get(1)]
        assert long.jobs.get(2).result == "y" * 300

    def test_each_has_an_equal_share_of_what_is_asked_for(self, long: Horae) -> None:
        assert [job.is_whole for job in long.jobs.list(limit=100).jobs] == [False, False, False]
        assert [job.is_whole for job in long.jobs.list(limit=2).jobs] == [True, False]
        assert [job.is_whole for job in long.jobs.list(ids=[2], limit=100).jobs] == [False]
        assert [job.is_whole for job in long.jobs.list(ids=[1], limit=100).jobs] == [True]

    def test_the_result_of_a_listed_job_is_read_again(self, long: Horae) -> None:
        execute(long, "UPDATE horae_jobs SET state = 'finished', finished_at = created_at")
        [listed] = long.jobs.list(ids=[2]).jobs
        assert long.jobs.result_of(listed) == "y" * 300

    def test_bytes_count_and_not_characters(self, horae: Horae) -> None:
        @horae.job
        def work(text: str) -> None: ...

        job = horae.jobs.start(work, text="\N{EURO SIGN}" * 40)
        limit_jobs(horae, listed_bytes=3 * 100)
        assert horae.jobs.list(ids=[job.id]).jobs[0].params is LEFT_OUT
