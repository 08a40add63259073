"""The application of the browser tests: an import in one transaction, failing reports, and a backup schedule."""

import logging
import time
from datetime import timedelta
from pathlib import Path

from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from horae import Backoff, Horae, JobContext, Limit

horae = Horae()
log = logging.getLogger("letters")


class Base(DeclarativeBase):
    """The base class of the application's own table, in the database of the jobs."""


class Person(Base):
    """A person who has been imported."""

    __tablename__ = "people"
    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int]
    name: Mapped[str]


class NoPrinter(Exception):
    """The printer does not answer."""


@horae.job(public=True, max_count=None, transaction="read committed")
def import_people(job: JobContext, rows: int = 100, pace: float = 0.0) -> int:
    """Insert `rows` people, with a pause of `pace` seconds after each."""
    for number in job.progress.track(range(rows)):
        job.progress.increment(0, label="reading-people")
        job.session.add(Person(job_id=job.id, name=f"person {number}"))
        job.session.flush()
        time.sleep(pace)
    return rows


@horae.job(
    public=True,
    max_count=None,
    exceptions_map={NoPrinter: "The printer {e} does not answer; try another one."},
)
def print_report(printer: str = "on the second floor") -> None:
    """Fail at once."""
    raise NoPrinter(printer)


@horae.job(
    public=True,
    max_count=None,
    max_attempts=5,
    backoff=Backoff(base=timedelta(hours=1), cap=timedelta(hours=1)),
)
def call_supplier() -> None:
    """Fail, and try again much later."""
    raise NoPrinter("at the supplier's")


calls: list[int] = []


@horae.job(public=True, max_count=None)
def call_bank(job: JobContext) -> None:
    """Fail at the first call, and reach the bank at the second."""
    calls.append(job.id)
    if len(calls) == 1:
        raise ConnectionError("the line is dead")


@horae.job(public=True, max_count=None)
def wait_for_file(job: JobContext, file: str) -> str:
    """Wait at 50 percent until the file exists."""
    job.progress.set(50, "waiting-for-file")
    while not Path(file).exists():
        job.progress.increment(0)
        time.sleep(0.02)
    return file


@horae.job(
    public=True,
    max_count=None,
    tags=["letters"],
    limits=[Limit(name="letters", concurrency=5, key="{customer}")],
)
def send_letter(customer: int, greeting: str = "") -> None:
    """Log a line."""
    log.info("a letter to customer %d%s", customer, greeting)


@horae.job(public=True, max_count=None)
def send_letters(customers: int) -> int:
    """Start a group of letters, and return its id."""
    return horae.jobs.start_group(
        [(send_letter, {"customer": number}) for number in range(customers)]
    ).id


LONG_NAME = "import_customers_and_their_orders_of_the_last_financial_year_from_the_old_warehouse_in_amsterdam"
"""A name of 96 letters, as generated names may have."""


@horae.job(name=LONG_NAME, public=True, max_count=None, queue=f"{LONG_NAME}_queue")
def keep(rows: dict[str, list[int]] | None = None) -> None:
    """A job with a long name and any number of parameters."""


@horae.cron("0 3 1 1 *", timezone="Europe/Berlin")
def back_up() -> None:
    """Once a year, so that it runs in no test by itself."""


@horae.cron("0 4 1 1 *", timezone="Europe/Berlin")
def watch_gate(job: JobContext) -> None:
    """Run until it is stopped."""
    while True:
        job.check()
        time.sleep(0.02)


@horae.every("1h", overlap="skip")
async def refresh_rates() -> None:
    """An interval schedule, whose first run is when a node first loads it."""
