"""How soon the dashboard shows something over 10,000 jobs: `make first-view`. The budget is one second.

A browser without a cache opens the page at a node on the same machine; the figure is the time from the start of the
navigation until what the view is about stands on the page, by the browser's own clock.
"""

import argparse
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from playwright.sync_api import Browser
from sqlalchemy import Connection, insert

from horae.storage.engine.database import Database
from horae.storage.jobs.tables import jobs
from horae.storage.migrations.runner import upgrade
from tests.e2e.browser import launched
from tests.e2e.serving import Served
from tests.harness.postgres import PostgresServer

JOBS: Final = 10_000
"""Ended jobs in the database."""
ROUNDS: Final = 11
"""Visits of each view, of which the median counts."""
BUDGET: Final = 1000.0
"""Milliseconds."""
VIEWS: Final = {"overview": ("", ".tile"), "jobs": ("jobs", "[data-testid=jobs] tbody tr")}
WATCH: Final = """
    window.seenAfter = null
    const look = () => {
      if (window.seenAfter === null && document.querySelector(SELECTOR)) {
        requestAnimationFrame(() => setTimeout(() => (window.seenAfter ??= performance.now())))
      }
    }
    new MutationObserver(look).observe(document, { childList: true, subtree: true })
"""


def main() -> int:
    """Print the figures. Return 1 if the median of a view exceeds the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds: int = parser.parse_args().rounds
    slow = False
    with launched() as browser, databases() as urls:
        for kind, url, folder in urls:
            node = Served("tests.e2e.showcase:horae", url, folder)
            with closing(Database(url)) as database:
                upgrade(database)
                database.transact(fill, datetime.now(UTC))
            node.start()
            for view, (path, selector) in VIEWS.items():
                figures = [first_view(browser, node.url, path, selector) for _ in range(rounds)]
                slow = slow or median(figures) > BUDGET
                print(
                    f"{kind:<11} {view:<9} {median(figures):4.0f} ms ({min(figures):.0f}-{max(figures):.0f})"
                )
            node.stop()
    return int(slow)


@contextmanager
def databases() -> Generator[list[tuple[str, str, Path]]]:
    """Yield a new database of each kind: its name, its URL, and a folder for logs."""
    with TemporaryDirectory(prefix="horae-first-view-") as place, PostgresServer() as server:
        folder = Path(place)
        yield [
            ("SQLite", f"sqlite:///{folder / 'horae.db'}", folder),
            ("PostgreSQL", server.create_database(), folder),
        ]


def fill(connection: Connection, now: datetime) -> None:
    """Insert jobs that have ended, half of them in the last hour."""
    random = Random(7)
    connection.execute(insert(jobs), [ended_job(number, now, random) for number in range(JOBS)])


def ended_job(number: int, now: datetime, random: Random) -> dict[str, object]:
    """Return a row; every fortieth job has failed."""
    ended = now - timedelta(seconds=random.random() * (3600 if number % 2 else 86_400))
    started = ended - timedelta(seconds=random.random() * 30)
    failed = number % 40 == 0
    return {
        "type": ("export_table", "import_orders", "send_newsletter")[number % 3],
        "queue": ("default", "export", "mail")[number % 3],
        "owner": f"user {number % 100}",
        "state": "failed" if failed else "finished",
        "error": "OSError: disk full" if failed else None,
        "human_readable_error": "The disk is full." if failed else None,
        "params": '{"table": "customers"}',
        "priority": 0,
        "progress_percentage": 60 if failed else 100,
        **dict.fromkeys(("attempt", "lease"), 1),
        **dict.fromkeys(("run_at", "created_at", "started_at"), started),
        **dict.fromkeys(("updated_at", "finished_at"), ended),
    }


def first_view(browser: Browser, url: str, path: str, selector: str) -> float:
    """Return the milliseconds until a browser with an empty cache shows the view."""
    with browser.new_context(base_url=url) as context:
        context.add_init_script(WATCH.replace("SELECTOR", repr(selector)))
        page = context.new_page()
        page.goto(path)
        page.locator(selector).first.wait_for()
        while (seen := page.evaluate("window.seenAfter")) is None:
            pass
        return float(seen)


if __name__ == "__main__":
    sys.exit(main())
