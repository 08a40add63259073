"""Parameters in a table of the application: inserted with the job, read as the mapped class, deleted with the job."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import (
    JSON,
    Connection,
    ForeignKey,
    String,
    delete,
    event,
    func,
    insert,
    select,
    text,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column
from sqlalchemy.types import UserDefinedType
from typing_extensions import override

from horae.api.views.jobs import JobViews
from horae.client.jobs.creating import creation as handler
from horae.client.jobs.creating.new_job import NewJob, NewJobs, new_job
from horae.domain.jobs.job import Job, JobId
from horae.errors import InvalidJobType, InvalidParameters, JobDoesNotExist
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import Instant
from horae.storage.jobs.search import parameters
from horae.storage.jobs.tables import jobs
from horae.storage.outcomes import cancelling, deletion
from horae.types.context import JobContext
from horae.types.hooks.hooks import Hooks
from horae.types.job_type import JobType
from horae.types.options.start_options import StartOptions
from horae.types.registry import Registry
from tests.storage.arrange import count, job


class Base(DeclarativeBase):
    pass


class Folder(Base):
    __tablename__ = "shop_folders"
    id: Mapped[int] = mapped_column(primary_key=True)


class ImportParameters(Base):
    __tablename__ = "shop_import_jobs"
    job_id: Mapped[int] = mapped_column(ForeignKey(jobs.c.id, ondelete="CASCADE"), primary_key=True)
    folder_id: Mapped[int] = mapped_column(ForeignKey(Folder.id, ondelete="CASCADE"))
    path: Mapped[str] = mapped_column("file_path", String(20))
    note: Mapped[str | None]
    rows: Mapped[int] = mapped_column(default=lambda: 7)
    kind: Mapped[str] = mapped_column(server_default=text("'csv'"))
    options: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    token: Mapped[uuid.UUID | None]
    price: Mapped[Decimal | None]
    since: Mapped[datetime | None] = mapped_column(Instant())


class Stubborn(Base):
    """Its rows hold on to their jobs."""

    __tablename__ = "shop_stubborn_jobs"
    job_id: Mapped[int] = mapped_column(ForeignKey(jobs.c.id), primary_key=True)


class Point(UserDefinedType[str]):
    """A type that does not say what it is in Python."""

    cache_ok = True

    @override
    def get_col_spec(self, **_: Any) -> str:
        return "VARCHAR(20)"


class Odd(Base):
    __tablename__ = "shop_odd_jobs"
    job_id: Mapped[int] = mapped_column(ForeignKey(jobs.c.id, ondelete="CASCADE"), primary_key=True)
    point: Mapped[Any] = mapped_column(Point())


class AsDataclass(MappedAsDataclass, Base):
    __tablename__ = "shop_dataclass_jobs"
    id: Mapped[int] = mapped_column(
        ForeignKey(jobs.c.id, ondelete="CASCADE"), primary_key=True, init=False
    )
    path: Mapped[str]


class Import(JobType[ImportParameters]):
    type = "import"
    max_count = None
    params: Any = ImportParameters

    @override
    def run(self, job: JobContext[ImportParameters]) -> None:
        del job


class Holding(Import):
    type = "holding"
    params: Any = Stubborn


class AtPoint(Import):
    type = "point"
    params: Any = Odd


class OfDataclass(Import):
    type = "dataclass"
    params: Any = AsDataclass


@pytest.fixture
def shop(database: Database) -> Database:
    """A database in which the application has its own tables and one folder."""
    with database.engine.begin() as connection:
        Base.metadata.create_all(connection)
        connection.execute(insert(Folder), {"id": 1})
    return database


def start(database: Database, job_type: JobType[Any] | None = None, **values: Any) -> Job:
    wanted = new_job(job_type or Import(), StartOptions(), values)
    return database.transact(handler.create, wanted)[0]


def start_many(database: Database, *values: dict[str, Any]) -> list[JobId]:
    batch = NewJobs(Import(), StartOptions())
    batch.extend(values, "values")
    return database.transact(handler.create_many, batch)


def load(database: Database, job_id: JobId) -> ImportParameters:
    return database.autocommit(parameters.load, ImportParameters, job_id)


def rows(database: Database, mapped: type[Base] = ImportParameters) -> int:
    with database.engine.begin() as connection:
        return connection.execute(select(func.count()).select_from(mapped)).scalar_one()


def test_the_row_is_inserted_with_the_job_and_read_as_the_mapped_class(shop: Database) -> None:
    token, since = uuid.uuid4(), datetime(2026, 3, 29, 1, 30, 0, 17, tzinfo=UTC)
    created = start(
        shop,
        folder_id=1,
        path="ä.csv",
        note="now",
        rows=3,
        kind="xml",
        options={"a": [1]},
        token=token,
        price=Decimal("1.50"),
        since=since,
    )
    found = load(shop, created.id)
    assert isinstance(found, ImportParameters)
    assert (found.job_id, found.folder_id, found.path, found.note) == (
        created.id,
        1,
        "ä.csv",
        "now",
    )
    assert (found.rows, found.kind, found.options) == (3, "xml", {"a": [1]})
    assert (found.token, found.price, found.since) == (token, Decimal("1.50"), since)
    assert job(shop, created.id).params is None


def test_an_omitted_value_gets_the_default_of_the_table(shop: Database) -> None:
    found = load(shop, start(shop, folder_id=1, path="a").id)
    assert (found.note, found.rows, found.kind, found.options) == (None, 7, "csv", {})


def test_a_batch_may_leave_out_different_things(shop: Database) -> None:
    ids = start_many(
        shop,
        {"folder_id": 1, "path": "a"},
        {"folder_id": 1, "path": "b", "note": "second", "rows": 9},
        {"path": "c", "kind": "xml", "folder_id": 1},
        {"folder_id": 1, "path": "d", "note": "fourth", "rows": 1},
    )
    found = [load(shop, job_id) for job_id in ids]
    assert [(row.path, row.note, row.rows, row.kind) for row in found] == [
        ("a", None, 7, "csv"),
        ("b", "second", 9, "csv"),
        ("c", None, 7, "xml"),
        ("d", "fourth", 1, "csv"),
    ]


@pytest.mark.parametrize(
    ("values", "where"),
    [
        ({"folder_id": "one", "path": "a"}, "folder_id"),
        ({"folder_id": 1}, "path"),
        ({"folder_id": 1, "path": "a", "file_path": "b"}, "file_path"),
        ({"folder_id": 1, "path": "a", "job_id": 7}, "job_id"),
        ({"folder_id": 1, "path": "a", "rows": None}, "rows"),
        ({"folder_id": 1, "path": "a", "kind": None}, "kind"),
    ],
)
def test_a_bad_call_fails_at_the_caller(values: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidParameters) as caught:
        new_job(Import(), StartOptions(), values)
    assert [name for name, _ in caught.value.problems] == [where]


def test_a_missing_folder_leaves_no_job(shop: Database) -> None:
    with pytest.raises(IntegrityError):
        start(shop, folder_id=2, path="a")
    assert (count(shop), rows(shop)) == ((0, 0), 0)


def test_the_row_goes_with_its_job(shop: Database) -> None:
    first, second = start(shop, folder_id=1, path="a"), start(shop, folder_id=1, path="b")
    shop.transact(cancelling.cancel, first.id, None)
    assert shop.transact(deletion.delete_jobs, [first.id]) == {first.id}
    assert rows(shop) == 1
    assert load(shop, second.id).path == "b"
    with pytest.raises(JobDoesNotExist):
        load(shop, first.id)


def test_a_new_job_replaces_the_row_of_an_old_one(shop: Database) -> None:
    old = load(shop, start(shop, folder_id=1, path="a", note="again", rows=2).id)
    restored = Import().parameters.restore(old)
    wanted = new_job(Import(), StartOptions(), {"folder_id": 1, "path": "?"})
    created = shop.transact(handler.create, NewJob(wanted.job_type, wanted.row, {}, restored))[0]
    new = load(shop, created.id)
    assert new.job_id != old.job_id
    assert (new.path, new.note, new.rows, new.kind) == ("a", "again", 2, "csv")


def test_a_dataclass_is_mapped_too(shop: Database) -> None:
    created = start(shop, OfDataclass(), path="a")
    assert shop.autocommit(parameters.load, AsDataclass, created.id).path == "a"


def test_a_column_of_an_unknown_type_is_left_to_the_database(shop: Database) -> None:
    created = start(shop, AtPoint(), point="1,2")
    assert shop.autocommit(parameters.load, Odd, created.id).point == "1,2"


def test_one_row_that_cannot_be_deleted_does_not_stop_the_rest(shop: Database) -> None:
    registry = Registry()
    registry.add(Import())
    registry.add(Holding())
    first = start(shop, folder_id=1, path="a")
    held = start(shop, Holding())
    last = start(shop, folder_id=1, path="b")
    for created in (first, held, last):
        shop.transact(cancelling.cancel, created.id, None, owed=False)
    assert Hooks(shop, registry).clean_up(-1.0) == 2
    assert count(shop) == (1, 0)
    assert rows(shop, Stubborn) == 1


class Unjoined(Base):
    __tablename__ = "shop_unjoined"
    id: Mapped[int] = mapped_column(primary_key=True)


class HalfJoined(Base):
    __tablename__ = "shop_half_joined"
    job_id: Mapped[int] = mapped_column(ForeignKey(jobs.c.id), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)


@pytest.mark.parametrize("mapped", [Unjoined, HalfJoined])
def test_a_table_that_no_job_leads_to_is_refused(mapped: type[Base]) -> None:
    class Wrong(Import):
        type = "wrong"
        params: Any = mapped

    with pytest.raises(
        InvalidJobType, match="its primary key must be a foreign key to Horae's jobs"
    ):
        Wrong()


class Described(Import):
    type = "described"

    @override
    def describe(self, job: Job) -> Mapping[str, Any]:
        return {"path": job.params.path, "job": job.params.job_id}


def test_a_list_of_many_reads_their_rows_with_one_statement(shop: Database) -> None:
    registry = Registry()
    registry.add(Described())
    created = [start(shop, Described(), folder_id=1, path=f"{number}.csv") for number in range(60)]
    with shop.engine.begin() as connection:
        connection.execute(delete(ImportParameters).where(ImportParameters.job_id == created[7].id))
    statements: list[str] = []
    event.listen(
        shop.autocommit_engine, "before_cursor_execute", lambda *given: statements.append(given[2])
    )
    views = JobViews(shop, registry).views(created)
    assert len(statements) == 1
    described = {view.id: (view.model_extra or {}).get("path") for view in views}
    expected = {job.id: f"{number}.csv" for number, job in enumerate(created)}
    assert described == {**expected, created[7].id: None}


def test_an_unreadable_row_hides_no_other_row(
    shop: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = Registry()
    registry.add(Described())
    created = [start(shop, Described(), folder_id=1, path=f"{number}.csv") for number in range(5)]
    load_many = parameters.load_many

    def load_unless_bad(
        connection: Connection, joined: Any, job_ids: Sequence[JobId]
    ) -> dict[JobId, Any]:
        if created[3].id in job_ids:
            raise ValueError("a value that no type reads")
        return load_many(connection, joined, job_ids)

    monkeypatch.setattr(parameters, "load_many", load_unless_bad)
    views = JobViews(shop, registry).views(created)
    found = [(view.model_extra or {}).get("path") for view in views]
    assert found == ["0.csv", "1.csv", "2.csv", None, "4.csv"]
