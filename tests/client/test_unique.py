"""Job types of which one job of its kind may exist at a time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy.orm import Session

from horae import (
    DuplicateJob,
    Horae,
    InvalidJobType,
    InvalidRequest,
    JobState,
    JobWasCancelled,
    StartOptions,
    Unique,
)
from horae.storage.engine.database import Database
from tests.harness.applications import claim_as_another_node, execute, own_engine, rows

BY_CUSTOMER = Unique(by=("customer",))
postgres = pytest.mark.parametrize(
    "database", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)


def typed(horae: Horae, unique: Unique, **options: Any) -> Horae:
    @horae.job(unique=unique, **options)
    def bill(customer: int, amount: float = 0.0) -> float:
        return amount

    return horae


def created_long_ago(horae: Horae, job_id: int) -> None:
    is_sqlite = horae.components.database.dialect == "sqlite"
    before = "created_at - 7200 * 1000000" if is_sqlite else "created_at - interval '2 hours'"
    execute(horae, f"UPDATE horae_jobs SET created_at = {before} WHERE id = {job_id}")


class TestRefusal:
    def test_jobs_with_the_same_parameters_are_refused_while_one_is_active(
        self, horae: Horae
    ) -> None:
        typed(horae, BY_CUSTOMER)
        first = horae.jobs.start("bill", customer=1)
        with pytest.raises(
            DuplicateJob, match=f"job {first.id} of type 'bill' is active and has the same customer"
        ):
            horae.jobs.start("bill", customer=1, amount=2.0)
        horae.jobs.start("bill", customer=2)
        claim_as_another_node(horae)
        with pytest.raises(DuplicateJob) as caught:
            horae.jobs.start("bill", customer=1)
        assert caught.value.job_id == first.id
        horae.jobs.cancel(first.id)
        assert horae.jobs.start("bill", customer=1).id > first.id

    def test_without_names_all_parameters_count(self, horae: Horae) -> None:
        typed(horae, Unique())
        horae.jobs.start("bill", customer=1)
        horae.jobs.start("bill", customer=1, amount=1.0)
        with pytest.raises(DuplicateJob, match="has the same parameters"):
            horae.jobs.start("bill", customer=1, amount=0)

    def test_owners_do_not_block_each_other(self, horae: Horae) -> None:
        typed(horae, Unique(by=(), on_duplicate="return"))
        jobs = [
            horae.jobs.start("bill", customer=each, owner=owner)
            for owner in ("alice", "bob")
            for each in (1, 2)
        ]
        assert [job.owner for job in jobs] == ["alice", "alice", "bob", "bob"]
        assert jobs[0].id == jobs[1].id != jobs[2].id == jobs[3].id

    def test_concurrent_starts_create_one_job(self, horae: Horae) -> None:
        typed(horae, Unique(by=("customer",), within="1h"))
        line = threading.Barrier(6)

        def compete(number: int) -> int:
            made = 0
            for customer in range(5):
                line.wait()
                try:
                    horae.jobs.start("bill", customer=customer, amount=float(number))
                    made += 1
                except DuplicateJob:
                    pass
            return made

        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(compete, range(6))) == 5
        assert rows(horae, "SELECT count(*) FROM horae_jobs") == [(5,)]


class TestEndedJobs:
    def test_a_finished_job_blocks_for_some_time_after_its_creation(self, horae: Horae) -> None:
        typed(horae, Unique(by=("customer",), within="1h"))
        ended = horae.jobs.start("bill", customer=1, sync=True)
        with pytest.raises(
            DuplicateJob,
            match=f"job {ended.id} of type 'bill' is finished and has the same customer",
        ):
            horae.jobs.start("bill", customer=1)
        created_long_ago(horae, ended.id)
        assert horae.jobs.start("bill", customer=1).state is JobState.PENDING

    def test_an_active_job_blocks_however_old_it_is(self, horae: Horae) -> None:
        typed(horae, Unique(by=("customer",), within="1h"))
        old = horae.jobs.start("bill", customer=1)
        created_long_ago(horae, old.id)
        with pytest.raises(DuplicateJob):
            horae.jobs.start("bill", customer=1)

    def test_a_cancelled_job_blocks_only_if_its_state_is_named(self, horae: Horae) -> None:
        typed(horae, Unique(by=("customer",), within="1h"))
        horae.jobs.cancel(horae.jobs.start("bill", customer=1).id)
        strict = Unique(by=("customer",), within="1h", states=[*JobState])
        with pytest.raises(DuplicateJob, match="is cancelled"):
            horae.jobs.start("bill", customer=1, unique=strict)
        horae.jobs.start("bill", customer=1)

    def test_a_finished_job_is_returned_with_its_result(self, horae: Horae) -> None:
        typed(horae, Unique(within="1h", on_duplicate="return"))
        ended = horae.jobs.start("bill", customer=1, amount=2.5, sync=True)
        again = horae.jobs.start("bill", customer=1, amount=2.5, sync=True)
        assert (again.id, again.result) == (ended.id, 2.5)

    def test_one_may_wait_while_another_runs(self, horae: Horae) -> None:
        typed(horae, Unique(by=("customer",), states=["pending"]))
        running = horae.jobs.start("bill", customer=1)
        claim_as_another_node(horae)
        waiting = horae.jobs.start("bill", customer=1)
        assert waiting.id != running.id
        with pytest.raises(DuplicateJob) as caught:
            horae.jobs.start("bill", customer=1)
        assert caught.value.job_id == waiting.id


class TestReplacement:
    def test_a_pending_job_is_cancelled_for_the_new_one(self, horae: Horae) -> None:
        typed(horae, Unique(by=("customer",), on_duplicate="replace"))
        old = horae.jobs.start("bill", customer=1, amount=1.0, delay="1h")
        new = horae.jobs.start("bill", customer=1, amount=2.0)
        replaced = horae.jobs.get(old.id)
        assert (replaced.state, replaced.cancelled_by) == (
            JobState.CANCELLED,
            "a later start of the same job",
        )
        assert (new.state, new.params) == (JobState.PENDING, {"customer": 1, "amount": 2.0})
        with pytest.raises(JobWasCancelled):
            horae.jobs.wait(old.id, timeout="5s")

    def test_a_job_that_has_begun_is_never_replaced(self, horae: Horae) -> None:
        typed(horae, Unique(by=("customer",), on_duplicate="replace"))
        started = horae.jobs.start("bill", customer=1)
        claim_as_another_node(horae)
        with pytest.raises(DuplicateJob, match=f"job {started.id} of type 'bill' is started"):
            horae.jobs.start("bill", customer=1)
        assert horae.jobs.get(started.id).state is JobState.STARTED

    def test_a_replacement_counts_against_the_limit_of_an_owner_like_the_job_before(
        self, horae: Horae
    ) -> None:
        typed(horae, Unique(by=("customer",), on_duplicate="replace"), max_count=1)
        first = horae.jobs.start("bill", customer=1, owner="alice")
        assert horae.jobs.start("bill", customer=1, owner="alice").id > first.id

    def test_its_hook_is_called_by_a_node(self, horae: Horae) -> None:
        typed(horae, Unique(by=("customer",), on_duplicate="replace"))
        old = horae.jobs.start("bill", customer=1)
        horae.jobs.start("bill", customer=1)
        assert rows(horae, f"SELECT hook_owed FROM horae_jobs WHERE id = {old.id}") == [
            ("on_cancelled",)
        ]

    def test_a_key_of_the_caller_can_be_replaced_too(self, horae: Horae) -> None:
        @horae.job
        def plain() -> None: ...

        old = horae.jobs.start(plain, unique_key="nightly")
        new = horae.jobs.start(plain, unique_key="nightly", on_duplicate="replace")
        assert (horae.jobs.get(old.id).state, new.state) == (JobState.CANCELLED, JobState.PENDING)

    def test_concurrent_replacements_leave_one_pending_job(self, horae: Horae) -> None:
        typed(horae, Unique(by=("customer",), on_duplicate="replace"))
        line = threading.Barrier(4)

        def replace(number: int) -> None:
            for _ in range(5):
                line.wait()
                horae.jobs.start("bill", customer=1, amount=float(number))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(replace, range(4)))
        counts = dict(rows(horae, "SELECT state, count(*) FROM horae_jobs GROUP BY state"))
        assert counts == {"pending": 1, "cancelled": 19}


class TestOptions:
    def test_a_call_may_bring_its_own_rule(self, horae: Horae) -> None:
        @horae.job
        def send(to: str, text: str = "") -> None: ...

        first = horae.jobs.start(send, to="a", unique=Unique(by=("to",)))
        same = Unique(by=("to",), on_duplicate="return")
        assert horae.jobs.start(send, to="a", text="x", unique=same).id == first.id
        assert horae.jobs.start(send, to="a").unique_key is None

    def test_a_key_of_the_caller_stands_in_place_of_the_rule_of_the_type(
        self, horae: Horae
    ) -> None:
        typed(horae, BY_CUSTOMER)
        horae.jobs.start("bill", customer=1)
        assert horae.jobs.start("bill", customer=1, unique_key="other").unique_key == "other"

    def test_the_reaction_of_the_rule_can_be_chosen_at_the_call(self, horae: Horae) -> None:
        typed(horae, BY_CUSTOMER)
        first = horae.jobs.start("bill", customer=1)
        assert horae.jobs.start("bill", customer=1, on_duplicate="return").id == first.id

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("options", "error"),
        [
            (
                {"unique": Unique(by=("size",))},
                "by names 'size', which is no parameter .the parameters are: customer, amo",
            ),
            ({"unique": Unique(), "unique_key": "k"}, "unique and unique_key exclude each other"),
            ({"unique": "customer"}, "unique 'customer': expected a Unique"),
            (
                {"on_duplicate": "skip"},
                "on_duplicate 'skip': expected 'refuse', 'return' or 'replace'",
            ),
        ],
    )
    def test_a_wrong_option_is_refused(
        self, horae: Horae, options: dict[str, Any], error: str
    ) -> None:
        typed(horae, BY_CUSTOMER)
        with pytest.raises(InvalidRequest, match=error):
            horae.jobs.start("bill", customer=1, **options)

    def test_a_reaction_to_duplicates_needs_a_rule(self, horae: Horae) -> None:
        horae.job(name="any")(lambda: None)
        horae.job(name="late", debounce="1m")(lambda: None)
        for start in (
            horae.jobs.start,
            lambda name, **given: horae.jobs.start_many(name, [{}], **given),
        ):
            given: dict[str, Any] = {"on_duplicate": "return"}
            if start != horae.jobs.start:
                given = {"options": StartOptions(**given)}
            with pytest.raises(InvalidRequest, match="on_duplicate needs unique= or unique_key="):
                start("any", **given)
            with pytest.raises(
                InvalidRequest,
                match="job type 'late' has a debounce, which returns the pending job",
            ):
                start("late", **given)
        with pytest.raises(
            InvalidRequest, match="job type 'late' has a debounce, which returns the pending job"
        ):
            horae.jobs.start("late", unique_key="mine", on_duplicate="replace")

    @pytest.mark.one_database
    @pytest.mark.parametrize(
        ("options", "error"),
        [
            (
                {"unique": Unique(by=("size",))},
                "job type 'bill': by names 'size', which is no parameter",
            ),
            ({"unique": ("customer",)}, "job type 'bill': unique is .*, expected a Unique"),
            (
                {"unique": Unique(), "debounce": "1m"},
                "job type 'bill': unique and debounce exclude each other",
            ),
        ],
    )
    def test_a_wrong_declaration_is_refused(
        self, horae: Horae, options: dict[str, Any], error: str
    ) -> None:
        with pytest.raises(InvalidJobType, match=error):

            @horae.job(**options)
            def bill(customer: int) -> None: ...

    async def test_coroutines_follow_the_same_rules(self, horae: Horae) -> None:
        typed(horae, BY_CUSTOMER)
        first = await horae.aio.jobs.start("bill", customer=1)
        with pytest.raises(DuplicateJob):
            await horae.aio.jobs.start("bill", customer=1)
        assert (
            await horae.aio.jobs.start("bill", customer=1, on_duplicate="replace")
        ).id != first.id


class TestBatches:
    def test_each_job_is_compared_with_those_before_it(self, horae: Horae) -> None:
        typed(horae, Unique(by=("customer",), on_duplicate="return"))
        first, second, third = horae.jobs.start_many(
            "bill", [{"customer": each} for each in (1, 2, 1)]
        )
        assert first == third != second

    def test_one_duplicate_refuses_all(self, horae: Horae) -> None:
        typed(horae, BY_CUSTOMER)
        with pytest.raises(DuplicateJob):
            horae.jobs.start_many("bill", [{"customer": each} for each in (1, 2, 1)])
        assert horae.jobs.list().jobs == []

    def test_a_batch_that_cannot_be_compared_is_refused(self, horae: Horae) -> None:
        typed(horae, BY_CUSTOMER)
        with pytest.raises(InvalidRequest, match="1,001 jobs at once are too many for type 'bill'"):
            horae.jobs.start_many("bill", [{"customer": each} for each in range(1001)])
        with pytest.raises(InvalidRequest, match="unique concerns one job; start_many starts many"):
            horae.jobs.start_many("bill", [{"customer": 1}], options=StartOptions(unique=Unique()))

    def test_a_group_has_no_members_of_such_a_type(self, horae: Horae) -> None:
        typed(horae, BY_CUSTOMER)
        with pytest.raises(
            InvalidRequest,
            match="member 0: type 'bill' has unique, but each job of a group is a new one",
        ):
            horae.jobs.start_group([("bill", {"customer": 1})])


class TestRetries:
    def test_a_retry_has_the_key_and_is_blocked_by_active_jobs_only(self, horae: Horae) -> None:
        @horae.job(unique=Unique(by=("customer",), within="1h"))
        def fail(customer: int, *, well: bool = False) -> None:
            if not well:
                raise ValueError(customer)

        failed = horae.jobs.start(fail, customer=1, sync=True)
        horae.jobs.start(fail, customer=1, well=True, sync=True)
        again = horae.jobs.retry(failed.id)
        assert again.unique_key == failed.unique_key
        other = horae.jobs.start(fail, customer=2, sync=True)
        blocking = horae.jobs.start(fail, customer=2)
        with pytest.raises(
            DuplicateJob,
            match=f"job {blocking.id} of type 'fail' is active and has the same customer",
        ):
            horae.jobs.retry(other.id)


@postgres
def test_a_transaction_that_does_not_see_ended_jobs_is_refused(
    horae: Horae, database: Database
) -> None:
    typed(horae, Unique(by=("customer",), within="1h"))
    with own_engine(database) as engine:
        snapshot = Session(engine.execution_options(isolation_level="REPEATABLE READ"))
        with (
            snapshot as session,
            pytest.raises(InvalidRequest, match="are unique, and a repeatable read transaction"),
        ):
            horae.jobs.start("bill", customer=1, session=session)
        with Session(engine) as session:
            horae.jobs.start("bill", customer=1, session=session)
            session.rollback()
    assert horae.jobs.start("bill", customer=1).state is JobState.PENDING
