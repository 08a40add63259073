"""What an open page of the dashboard costs its browser while jobs run: `python -m benchmarks.open_page`.

A node on SQLite has 10,000 jobs in 60 queues and 25 schedules, and programs start some jobs a second. Each view is open for a while; the figures
are the browser's own: milliseconds of layout, style, script and everything on its main thread, in a minute.
"""

import argparse
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from playwright.sync_api import Browser, CDPSession
from sqlalchemy import create_engine

from benchmarks.reads import fill
from horae import Horae
from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.e2e.application import Base
from tests.e2e.browser import launched
from tests.e2e.serving import Served

SECONDS: Final = 30.0
"""How long each view is open."""
PAUSE: Final = 0.1
"""Seconds between two starts of jobs."""
BUDGET: Final = 3000.0
"""Milliseconds of layout and style in a minute, at most."""
VIEWS: Final = ("", "jobs", "queues", "schedules")
METRICS: Final = {
    "layout": "LayoutDuration",
    "style": "RecalcStyleDuration",
    "script": "ScriptDuration",
    "all": "TaskDuration",
}


def main() -> int:
    """Print the figures. Return 1 if a view needs more layout and style than the budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    seconds: float = parser.parse_args().seconds
    heavy = False
    with busy_node() as node, launched() as browser:
        for view in VIEWS:
            spent = time_spent(browser, node.url, view, seconds)
            heavy = heavy or spent["layout"] + spent["style"] > BUDGET
            figures = "  ".join(f"{name} {value:6.0f} ms" for name, value in spent.items())
            print(f"/{view:<10} a minute: {figures}")
    return int(heavy)


@contextmanager
def busy_node() -> Generator[Served]:
    """Run a node with many jobs, and start others until the end."""
    with TemporaryDirectory(prefix="horae-open-page-") as place:
        url = f"sqlite:///{place}/horae.db"
        with closing(Horae(url)) as horae, closing(Database(url)) as database:
            upgrade(database)
            fill(horae, database, url, 10_000)
        Base.metadata.create_all(create_engine(url))
        node = Served("tests.e2e.application:horae", url, Path(place))
        node.start()
        stopped = threading.Event()
        load = threading.Thread(target=start_jobs, args=(node, stopped))
        load.start()
        try:
            yield node
        finally:
            stopped.set()
            load.join()
            node.stop()


def start_jobs(node: Served, stopped: threading.Event) -> None:
    """Start short jobs, some that fail, and now and then one that reports progress for seconds."""
    number = 0
    while not stopped.wait(PAUSE):
        number += 1
        if number % 20 == 0:
            node.begin("wait_for_file", file=__file__)
        elif number % 7 == 0:
            node.begin("print_report")
        else:
            node.begin("import_people", rows=20, pace=0.01)


def time_spent(browser: Browser, url: str, view: str, seconds: float) -> Mapping[str, float]:
    """Return the milliseconds in a minute that an open view takes, by what for."""
    with browser.new_context(base_url=url, viewport={"width": 1440, "height": 900}) as context:
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Performance.enable")
        page.goto(view)
        page.get_by_test_id("live").filter(has_text="Live").wait_for()
        before = measured(session)
        began = time.monotonic()
        page.wait_for_timeout(seconds * 1000)
        passed = time.monotonic() - began
        after = measured(session)
    return {
        name: (after[metric] - before[metric]) * 1000 / passed * 60
        for name, metric in METRICS.items()
    }


def measured(session: CDPSession) -> dict[str, float]:
    """Return the browser's counters."""
    return {
        each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]
    }


if __name__ == "__main__":
    sys.exit(main())
