"""What the browser is shown: people are imported in one transaction, reports fail, a backup has its hours."""

import time
from datetime import timedelta
from pathlib import Path

from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from horae import Backoff, Horae, JobContext

horae = Horae()


class Base(DeclarativeBase):
    """The application's own table, in the database of the jobs."""


class Person(Base):
    """Somebody who has been imported."""

    __tablename__ = "people"
    id: Mapped[int] = mapped_column(primary_key=True)
    job_id: Mapped[int]
    name: Mapped[str]


class NoPrinter(Exception):
    """There is nothing to print on."""


@horae.job(public=True, max_count=None, transaction="read committed")
def import_people(job: JobContext, rows: int = 100, pace: float = 0.0) -> int:
    """Write `rows` people, with a rest of `pace` seconds after each."""
    for number in job.progress.track(range(rows)):
        job.progress.increment(0, label="reading-people")
        job.session.add(Person(job_id=job.id, name=f"person {number}"))
        job.session.flush()
        time.sleep(pace)
    return rows


@horae.job(public=True, max_count=None, exceptions_map={NoPrinter: "The printer {e} does not answer; try another one."})
def print_report(printer: str = "on the second floor") -> None:
    """Fail, as printers do."""
    raise NoPrinter(printer)


@horae.job(
    public=True, max_count=None, max_attempts=5, backoff=Backoff(base=timedelta(hours=1), cap=timedelta(hours=1))
)
def call_supplier() -> None:
    """Fail, and try again much later."""
    raise NoPrinter("at the supplier's")


@horae.job(public=True, max_count=None)
def wait_for_file(job: JobContext, file: str) -> str:
    """Wait until there is such a file, at half of the way."""
    job.progress.set(50, "waiting-for-file")
    while not Path(file).exists():
        job.progress.increment(0)
        time.sleep(0.02)
    return file


LONG_NAME = "import_customers_and_their_orders_of_the_last_financial_year_from_the_old_warehouse_in_amsterdam"
"""Of 96 letters, as generated names may be."""


@horae.job(name=LONG_NAME, public=True, max_count=None, queue=f"{LONG_NAME}_queue")
def keep(rows: dict[str, list[int]] | None = None) -> None:
    """A job with a long name, and with as many parameters as somebody gives it."""


@horae.cron("0 3 1 1 *", timezone="Europe/Berlin")
def back_up() -> None:
    """Once a year, so that it runs in no test by itself."""


@horae.cron("0 4 1 1 *", timezone="Europe/Berlin")
def watch_gate(job: JobContext) -> None:
    """Go on until it is told to stop."""
    while True:
        job.check()
        time.sleep(0.02)


@horae.every("1h", overlap="skip")
async def refresh_rates() -> None:
    """An interval, whose first run is when a node first sees it."""
