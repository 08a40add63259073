"""The long-running work of the application, each piece a job, and its schedules.

Every body runs in one transaction (`transaction="read committed"`), so its rows are there exactly if it finishes: not
if it is cancelled, not if it fails, and not if the machine dies in the middle.
"""

import csv
import io
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import PurePath
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from examples.tables.tables import (
    COLUMNS,
    DATABASE,
    City,
    Export,
    Table,
    TableMissing,
    Upload,
    cities_of,
    engine,
    now,
    table_of,
)
from horae import Horae, Job, JobContext, JobType

BATCH: Final = 200
"""Rows that are inserted together."""
LOOK_UP: Final = 0.1
"""Seconds for each batch of an import, which a real application would need to look its cities up
elsewhere; here they leave time to watch the progress of a small file, to reload and to cancel."""
KEEP: Final = timedelta(days=7)
"""How long exports and uploads are kept."""
COUNTRIES: Final = ("Chile", "Ghana", "Laos", "Malta", "Peru")
Name = Annotated[str, Field(min_length=1, max_length=80)]
Size = Annotated[int, Field(ge=1, le=100_000)]

horae = Horae(DATABASE)


class WrongFile(ValueError):
    """The file contains an invalid row; the text describes where and why."""


# --- the short form: a function whose arguments are the parameters ---


@horae.job(public=True, transaction="read committed")
def create_table(job: JobContext, name: Name, size: Size = 1_000) -> int:
    """Make a table of sample rows; public, so the page starts it without an endpoint of ours."""
    table = new_table(job, name)
    for first in job.progress.track(range(0, size, BATCH), label=f"writing {name}"):
        job.session.add_all(
            sample(table, number) for number in range(first, min(first + BATCH, size))
        )
        job.session.flush()
    return table.id


@horae.job(
    max_count=1,
    transaction="read committed",
    exceptions_map={
        WrongFile: "The file cannot be imported: {e}",
        UnicodeDecodeError: "The file cannot be imported: it is no text in UTF-8.",
    },
)
def import_table(job: JobContext, upload_id: int) -> int:
    """Make a table of an uploaded CSV. Not public: `app.py` starts it together with the upload."""
    with Session(engine) as session:
        upload = session.get_one(Upload, upload_id)
    rows: list[dict[str, Any]] = []
    lines = read(upload.content)
    # All lines are checked before the first row is written: on SQLite the job's transaction holds the
    # only write lock from its first write on, and in the meantime others could upload nothing.
    for first in job.progress.track(
        range(0, len(lines), BATCH), represents=95, label=f"importing {upload.name}"
    ):
        rows += rows_of(lines[first : first + BATCH], first)
        time.sleep(LOOK_UP)
    table = new_table(job, PurePath(upload.name).stem)
    job.session.execute(insert(City), [{"table_id": table.id, **row} for row in rows])
    job.session.execute(delete(Upload).where(Upload.id == upload_id))
    return table.id


@horae.job(
    public=True, max_count=3, transaction="read committed", exceptions_map={TableMissing: "{e}"}
)
def export_table(job: JobContext, table_id: int) -> int:
    """Write a table as CSV, to be downloaded later. A function has no hooks, so the body checks the owner."""
    table = table_of(job.session, job.owner, table_id)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for city in job.progress.track(
        cities_of(job.session, table), represents=99, label=f"exporting {table.name}"
    ):
        writer.writerow([city.city, city.country, city.inhabitants])
    export = Export(owner=table.owner, name=f"{table.name}.csv", content=text.getvalue())
    job.session.add(export)
    job.session.flush()
    return export.id


# --- the full form: a class, for what needs hooks ---


class DuplicateRequest(BaseModel):
    """The parameters that the page sends."""

    table_id: int


class DuplicateParameters(DuplicateRequest):
    """The stored parameters: `prepare_values` has added the name of the copy."""

    copy_name: str


class DuplicateAnswer(BaseModel):
    """The fields of these jobs in HTTP responses, beside the common ones."""

    copy_name: str


@horae.register
class DuplicateTable(JobType[DuplicateParameters]):
    """Copy a table."""

    type = "duplicate_table"
    public = True
    request_model = DuplicateRequest
    params = DuplicateParameters
    response_model = DuplicateAnswer
    exceptions_map = {TableMissing: "{e}"}  # noqa: RUF012 - read only
    api_exceptions_map = {TableMissing: ("ERROR_TABLE_DOES_NOT_EXIST", 404, "{e}")}  # noqa: RUF012 - read only

    def prepare_values(self, values: dict[str, Any], owner: str | None) -> dict[str, Any]:
        """Check the table when the job is created, so that the call fails and not the job."""
        with Session(engine) as session:
            return {
                **values,
                "copy_name": f"{table_of(session, owner, values['table_id']).name} (copy)",
            }

    def transaction(self, job: JobContext[DuplicateParameters]) -> Literal["read committed"]:  # noqa: ARG002 - a hook
        """Return the same isolation for each job; it may depend on the job, or be a context manager of your own."""
        return "read committed"

    def run(self, job: JobContext[DuplicateParameters]) -> int:
        """Copy the rows, and return the id of the new table."""
        source = table_of(job.session, job.owner, job.params.table_id)
        cities = cities_of(job.session, source)
        copy = new_table(job, job.params.copy_name)
        for first in job.progress.track(
            range(0, len(cities), BATCH), label=f"copying {source.name}"
        ):
            job.session.add_all(copied(copy, city) for city in cities[first : first + BATCH])
            job.session.flush()
        return copy.id

    def describe(self, job: Job) -> dict[str, Any]:
        """Return the fields to show with the job: the name of the copy."""
        return {"copy_name": job.params["copy_name"]}


# --- the schedules ---


@horae.cron("0 3 * * *", timezone="Europe/Berlin", transaction="read committed")
def purge_exports(job: JobContext) -> None:
    """Each night: delete exports and the uploads of failed imports that are a week old."""
    for kind in (Export, Upload):
        job.session.execute(delete(kind).where(kind.made_at < now() - KEEP))


@horae.every("30s", transaction="read committed")
def recount(job: JobContext) -> None:
    """Half a minute after each finish: count the inhabitants of the cities of each table."""
    total = select(func.sum(City.inhabitants)).where(City.table_id == Table.id).scalar_subquery()
    job.session.execute(update(Table).values(inhabitants=total, counted_at=now()))


# --- the work itself, which does not depend on jobs ---


def new_table(job: JobContext[Any], name: str) -> Table:
    """Create an empty table of the owner of the job."""
    table = Table(owner=job.owner or "", name=name)
    job.session.add(table)
    job.session.flush()
    return table


def sample(table: Table, number: int) -> City:
    """Return the row of this number in every sample table."""
    country = COUNTRIES[number % len(COUNTRIES)]
    return City(
        table_id=table.id,
        city=f"City {number + 1}",
        country=country,
        inhabitants=1_000 * (number + 1),
    )


def copied(table: Table, city: City) -> City:
    """Return a copy of the row for another table."""
    return City(
        table_id=table.id, city=city.city, country=city.country, inhabitants=city.inhabitants
    )


def read(content: bytes) -> list[dict[str, str]]:
    """Read the lines of a CSV; raises `WrongFile` if a column is missing, `UnicodeDecodeError` if it is no text."""
    reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig")))
    missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
    if missing:
        raise WrongFile(f"it has no column {missing[0]!r}.")
    return list(reader)


def rows_of(lines: Sequence[dict[str, str]], before: int) -> Iterator[dict[str, Any]]:
    """Convert lines to rows; raises `WrongFile` at the first invalid line. The header is line 1."""
    for number, line in enumerate(lines, before + 2):
        try:
            inhabitants = int(line["inhabitants"])
        except (TypeError, ValueError):
            raise WrongFile(
                f"line {number}: {line['inhabitants']!r} is no number of inhabitants."
            ) from None
        yield {"city": line["city"], "country": line["country"], "inhabitants": inhabitants}
