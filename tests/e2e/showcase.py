"""The application of the screenshots: a shop on a busy afternoon."""

import time

from horae import Horae, JobContext

horae = Horae(module="shop")

LONG_NAME = "import_customers_and_their_orders_of_the_last_financial_year_from_the_old_warehouse"


class CardDeclined(Exception):
    """The bank has declined the payment."""


class NoSuchTable(Exception):
    """The requested object has been deleted."""


def work(job: JobContext, percent: int, label: str) -> None:
    """Report this much progress at once, and continue slowly while the screenshots are taken."""
    job.progress.set(percent, label)
    for further in range(percent, 100):
        for _ in range(100):
            job.check()
            time.sleep(0.05)
        job.progress.set(further, label)


@horae.job(
    public=True,
    max_count=None,
    queue="export",
    exceptions_map={NoSuchTable: "The table “{e}” is not there any more."},
)
def export_table(
    job: JobContext, table: str, file_format: str = "csv", percent: int = 100
) -> dict[str, object]:
    """Write a table to a file."""
    if table == "wishes":
        raise NoSuchTable(table)
    work(job, percent, "writing-rows")
    return {"file": f"{table}.{file_format}", "rows": 48_210, "bytes": 5_811_734}


@horae.job(public=True, max_count=None)
def import_orders(job: JobContext, file: str, percent: int = 100) -> int:
    """Read orders from a file, in one transaction."""
    work(job, percent, "reading-orders")
    return 1_204


@horae.job(public=True, max_count=None)
def rebuild_search_index(job: JobContext, percent: int = 100) -> None:
    """Read all products again."""
    work(job, percent, "indexing-products")


@horae.job(public=True, max_count=None, queue="mail", priority=5)
def send_newsletter(issue: int) -> int:
    """Send an issue to all subscribers."""
    return issue


@horae.job(
    public=True,
    max_count=None,
    max_attempts=3,
    exceptions_map={
        CardDeclined: "The bank has declined the card of order {e}; ask the customer for another one."
    },
)
def charge_card(order: int) -> None:
    """Charge a card."""
    raise CardDeclined(order)


@horae.job(name=LONG_NAME, public=True, max_count=None, queue=f"{LONG_NAME}_queue")
def import_customers() -> None:
    """A job with a long name in a queue with one."""


@horae.cron("0 3 * * *", timezone="Europe/Berlin")
def back_up_database() -> None:
    """Copy all data to another place."""


@horae.cron("30 6 * * 1-5", timezone="Europe/Berlin", queue="mail")
def send_daily_figures() -> None:
    """Report yesterday's sales."""


@horae.every("10m", retry_period="30s", max_retries=5)
def refresh_exchange_rates() -> None:
    """Fetch exchange rates."""


@horae.cron("*/15 * * * *", overlap="skip")
def reconcile_payments() -> None:
    """Compare the bank's payments with the shop's."""


@horae.every("1h", max_runtime="5m")
def purge_sessions() -> None:
    """Delete sessions of customers who have not returned."""
