"""Parameters of jobs: a Pydantic model by default, or a row in a table of the application."""

import math
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from pydantic import BaseModel, Field
from sqlalchemy import BigInteger, ForeignKey, Integer, String, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncAttrs
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship
from typing_extensions import override

from horae import (
    Horae,
    InvalidJobType,
    InvalidParameters,
    Job,
    JobContext,
    JobState,
    JobType,
    jobs_table,
)
from tests.harness.applications import claim_as_another_node, rows
from tests.harness.nodes import running_node

pytestmark = pytest.mark.one_database


class Base(AsyncAttrs, DeclarativeBase):
    """The application's own models."""


class Customer(Base):
    __tablename__ = "customers"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(String(50))


class ExportJob(Base):
    """What an export is to do, beside its job."""

    __tablename__ = "export_jobs"
    job_id: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer(), "sqlite"),
        ForeignKey(jobs_table.c.id, ondelete="CASCADE"),
        primary_key=True,
    )
    customer_id: Mapped[int] = mapped_column(ForeignKey("customers.id"))
    customer: Mapped[Customer] = relationship()
    format: Mapped[str] = mapped_column(String(10), default="csv")
    day: Mapped[date | None] = mapped_column("the_day", default=None)


class Range(BaseModel):
    first: int
    last: int = Field(default=10, ge=1)
    days: list[date] = []


class Counting(JobType[Range]):
    type = "counting"
    params = Range

    def run(self, job: JobContext[Range]) -> list[int]:
        return list(range(job.params.first, job.params.last + 1))


class Weight(BaseModel):
    kilograms: float


class Weighing(JobType[Weight]):
    type = "weighing"
    params = Weight

    def run(self, job: JobContext[Weight]) -> float:
        return job.params.kilograms


class Exporting(JobType[ExportJob]):
    type = "exporting"
    params = ExportJob
    max_count = 1

    def run(self, job: JobContext[ExportJob]) -> str:
        return f"{job.params.customer_id} as {job.params.format}"

    def before_delete(self, job: Job) -> None:
        deleted.append(job.params)

    def describe(self, job: Job) -> Mapping[str, Any]:
        return {"format": job.params.format}


deleted: list[ExportJob] = []


@pytest.fixture
def selling(horae: Horae) -> Horae:
    """An application with tables of its own in Horae's database, and the customer 7."""
    engine = horae.components.database.engine
    Base.metadata.create_all(
        engine, tables=[Base.metadata.tables["customers"], Base.metadata.tables["export_jobs"]]
    )
    with Session(engine) as session:
        session.add(Customer(id=7, name="Ada"))
        session.commit()
    deleted.clear()
    horae.register(Exporting)
    return horae


def count(horae: Horae, table: str) -> int:
    return int(rows(horae, f"SELECT count(*) FROM {table}")[0][0])


class TestModels:
    async def test_a_body_reads_the_checked_model(self, horae: Horae) -> None:
        horae.register(Counting)
        async with running_node(horae):
            job = await horae.aio.jobs.start(Counting, first="3", last=5)
            assert await horae.aio.jobs.wait(job.id, timeout="20s") == [3, 4, 5]
        assert job.params == {"first": "3", "last": 5, "days": []}

    def test_the_model_decides_what_is_accepted(self, horae: Horae) -> None:
        horae.register(Counting)
        with pytest.raises(InvalidParameters) as caught:
            horae.jobs.start(Counting, first="x", last=0)
        assert [where for where, _ in caught.value.problems] == ["first", "last"]

    @pytest.mark.parametrize("value", [math.nan, math.inf])
    def test_a_number_that_json_does_not_have_is_refused(self, horae: Horae, value: float) -> None:
        horae.register(Weighing)
        with pytest.raises(
            InvalidParameters, match=f"kilograms: {value} is no number that JSON has"
        ):
            horae.jobs.start(Weighing, kilograms=value)
        assert horae.jobs.list().jobs == []

    @pytest.mark.parametrize("text", ["nan", "inf"])
    def test_a_text_that_stands_for_such_a_number_is_stored_as_a_text(
        self, horae: Horae, text: str
    ) -> None:
        horae.register(Weighing)
        started = horae.jobs.start(Weighing, kilograms=text)
        assert horae.jobs.get(started.id).params == {"kilograms": text}

    def test_a_number_too_long_to_be_read_again_is_refused(self, horae: Horae) -> None:
        """One such row would keep every list of jobs from being read."""

        @horae.job
        def count_up(number: int) -> None:
            del number

        with pytest.raises(InvalidParameters, match="cannot be read again"):
            horae.jobs.start(count_up, number=10**5000)
        assert horae.jobs.list().jobs == []

    async def test_a_stored_call_that_no_longer_fits_fails_its_job_alone(
        self, horae: Horae
    ) -> None:
        """Between two versions of a program the declaration may have changed."""

        @horae.job
        def narrow(number: int) -> int:
            return number

        fine = await horae.aio.jobs.start(narrow, number=1)
        old = await horae.aio.jobs.start(narrow, number=2)
        with horae.components.database.engine.begin() as connection:
            connection.execute(
                jobs_table.update()
                .where(jobs_table.c.id == old.id)
                .values(params='{"number": "two"}')
            )
        async with running_node(horae):
            assert await horae.aio.jobs.wait(fine.id, timeout="20s") == 1
            with pytest.raises(Exception, match="went wrong"):
                await horae.aio.jobs.wait(old.id, timeout="20s")
        assert "ValidationError" in ((await horae.aio.jobs.get(old.id)).error or "")


class TestMappedClasses:
    async def test_a_body_reads_its_row(self, selling: Horae) -> None:
        async with running_node(selling):
            job = await selling.aio.jobs.start(Exporting, customer_id=7, owner="alice")
            assert await selling.aio.jobs.wait(job.id, timeout="20s") == "7 as csv"

    @pytest.mark.parametrize("transaction", [None, "read committed"])
    async def test_a_body_follows_its_relationships(self, selling: Horae, transaction: Any) -> None:
        class Greeting(Exporting):
            type = "greeting"

            @override
            def transaction(self, job: JobContext[ExportJob]) -> Any:
                return transaction

            @override
            def run(self, job: JobContext[ExportJob]) -> str:
                job.params.format = "xml"
                return f"for {job.params.customer.name}"

        selling.register(Greeting)
        async with running_node(selling):
            job = await selling.aio.jobs.start(Greeting, customer_id=7)
            assert await selling.aio.jobs.wait(job.id, timeout="20s") == "for Ada"
        kept = "csv" if transaction is None else "xml"
        assert rows(selling, "SELECT format FROM export_jobs") == [(kept,)]

    async def test_a_coroutine_follows_them_in_its_transaction(self, selling: Horae) -> None:
        class Greeting(Exporting):
            type = "greeting_later"

            @override
            def transaction(self, job: JobContext[ExportJob]) -> Any:
                return "read committed"

            async def run(self, job: JobContext[ExportJob]) -> str:  # type: ignore[override]
                customer: Customer = await job.params.awaitable_attrs.customer
                return f"for {customer.name}"

        selling.register(Greeting)
        async with running_node(selling):
            job = await selling.aio.jobs.start(Greeting, customer_id=7)
            assert await selling.aio.jobs.wait(job.id, timeout="20s") == "for Ada"

    def test_values_are_checked_like_any_others(self, selling: Horae) -> None:
        unfit: list[dict[str, Any]] = [
            {},
            {"customer_id": "x"},
            {"customer_id": 7, "job_id": 1},
            {"customer_id": 7, "colour": 1},
        ]
        for values in unfit:
            with pytest.raises(InvalidParameters):
                selling.jobs.start(Exporting, **values)
        assert (count(selling, "horae_jobs"), count(selling, "export_jobs")) == (0, 0)

    def test_a_foreign_key_that_leads_nowhere_leaves_nothing(self, selling: Horae) -> None:
        with pytest.raises(IntegrityError):
            selling.jobs.start(Exporting, customer_id=8)
        with pytest.raises(IntegrityError):
            selling.jobs.start_many(Exporting, [{"customer_id": 7}, {"customer_id": 8}])
        assert (count(selling, "horae_jobs"), count(selling, "export_jobs")) == (0, 0)

    def test_a_batch_has_its_rows(self, selling: Horae) -> None:
        days = [date(2026, 1, day) for day in range(1, 20)]
        ids = selling.jobs.start_many(Exporting, [{"customer_id": 7, "day": day} for day in days])
        with Session(selling.components.database.engine) as session:
            found = {row.job_id: row.day for row in session.scalars(select(ExportJob))}
        assert [found[job_id] for job_id in ids] == days

    def test_the_application_may_join_it_to_the_job(self, selling: Horae) -> None:
        selling.jobs.start(Exporting, customer_id=7, sync=True)
        done = (
            select(func.count())
            .select_from(ExportJob)
            .join(jobs_table)
            .where(jobs_table.c.state == "finished")
        )
        with Session(selling.components.database.engine) as session:
            assert session.scalar(done) == 1

    def test_a_retry_copies_the_row(self, selling: Horae) -> None:
        job = selling.jobs.start(Exporting, customer_id=7, format="pdf", day=date(2026, 1, 2))
        selling.jobs.cancel(job.id)
        again = selling.jobs.retry(job.id)
        with Session(selling.components.database.engine) as session:
            row = session.get_one(ExportJob, again.id)
            assert (row.customer_id, row.format, row.day) == (7, "pdf", date(2026, 1, 2))

    def test_the_row_goes_with_its_job_after_before_delete_saw_it(self, selling: Horae) -> None:
        job = selling.jobs.start(Exporting, customer_id=7, sync=True)
        assert job.state is JobState.FINISHED
        selling.jobs.delete(job.id)
        assert [row.format for row in deleted] == ["csv"]
        assert (count(selling, "horae_jobs"), count(selling, "export_jobs")) == (0, 0)

    def test_in_the_caller_s_transaction_both_rows_or_none(self, selling: Horae) -> None:
        with Session(selling.components.database.engine) as session:
            session.add(Customer(id=8, name="Grace"))
            session.flush()
            selling.jobs.start(Exporting, customer_id=8, session=session)
            session.rollback()
        assert (
            count(selling, "horae_jobs"),
            count(selling, "export_jobs"),
            count(selling, "customers"),
        ) == (0, 0, 1)

    async def test_a_job_fails_if_its_row_was_deleted(self, selling: Horae) -> None:
        job = await selling.aio.jobs.start(Exporting, customer_id=7)
        with selling.components.database.engine.begin() as connection:
            connection.execute(Base.metadata.tables["export_jobs"].delete())
        async with running_node(selling):
            with pytest.raises(Exception, match="went wrong"):
                await selling.aio.jobs.wait(job.id, timeout="20s")

    def test_a_class_without_a_key_to_the_jobs_is_refused(self, horae: Horae) -> None:
        class Wrong(JobType[Any]):
            type = "wrong"
            params = Customer

            def run(self, job: JobContext[Any]) -> None: ...

        with pytest.raises(InvalidJobType, match="foreign key to Horae's jobs"):
            horae.register(Wrong)

    def test_a_claim_does_not_need_the_row(self, selling: Horae) -> None:
        selling.jobs.start(Exporting, customer_id=7)
        assert [claim.params for claim in claim_as_another_node(selling)] == [None]
