"""How soon the dashboard shows something over many jobs: `make first-view`.

A million jobs on PostgreSQL, 20,000 on SQLite, in 60 queues, with 25 schedules and 30 days of history. A browser without
a cache opens each view at a node on the same machine. The figures are the times from the start of the navigation, by the
browser's own clock, until it has painted any content and until what the view is about stands on the page.
"""

import argparse
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from playwright.sync_api import Browser

from benchmarks.reads import fill
from horae import Horae
from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.e2e.browser import launched
from tests.e2e.serving import Served
from tests.harness.postgres import PostgresServer

ROUNDS: Final = 11
"""Visits of each view, of which the median counts."""
PAINT_BUDGET: Final = 300.0
"""Milliseconds until the first content is painted."""
DATA_BUDGET: Final = 1000.0
"""Milliseconds until the data stand on the page."""
VIEWS: Final = {
    "now": ("", ".tile"),
    "jobs": ("jobs", "[data-testid=jobs] tbody tr"),
    "errors": ("errors", "article.group"),
    "schedules": ("schedules", "main tbody tr"),
    "queues": ("queues", "main tbody tr"),
}
WATCH: Final = """
    window.seenAfter = null
    const look = () => {
      if (window.seenAfter === null && document.querySelector(SELECTOR)) {
        requestAnimationFrame(() => setTimeout(() => (window.seenAfter ??= performance.now())))
      }
    }
    new MutationObserver(look).observe(document, { childList: true, subtree: true })
"""


class Visit(NamedTuple):
    """The milliseconds until the first content is painted, and until the data stand on the page."""

    paint: float
    data: float


def main() -> int:
    """Print the figures. Return 1 if the median of a view exceeds a budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--jobs", type=int, default=1_000_000, help="on PostgreSQL")
    given = parser.parse_args()
    slow = False
    with launched() as browser, databases() as urls:
        for kind, url, folder in urls:
            count = given.jobs if kind == "PostgreSQL" else 20_000
            with closing(Horae(url)) as horae, closing(Database(url)) as database:
                upgrade(database)
                fill(horae, database, url, count)
            node = Served("tests.e2e.showcase:horae", url, folder)
            node.start()
            for view, (path, selector) in VIEWS.items():
                visits = [visit(browser, node.url, path, selector) for _ in range(given.rounds)]
                paint = median(each.paint for each in visits)
                data = median(each.data for each in visits)
                late = paint > PAINT_BUDGET or data > DATA_BUDGET
                slow = slow or late
                print(
                    f"{kind:<11} {view:<10} paint {paint:4.0f} ms, data {data:4.0f} ms, at most"
                    f" {max(each.data for each in visits):4.0f} ms{'  !' if late else ''}",
                    flush=True,
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


def visit(browser: Browser, url: str, path: str, selector: str) -> Visit:
    """Open a view in a browser with an empty cache."""
    with browser.new_context(base_url=url) as context:
        context.add_init_script(WATCH.replace("SELECTOR", repr(selector)))
        page = context.new_page()
        page.goto(path)
        page.locator(selector).first.wait_for()
        while (seen := page.evaluate("window.seenAfter")) is None:
            pass
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        return Visit(float(paint), float(seen))


if __name__ == "__main__":
    sys.exit(main())
