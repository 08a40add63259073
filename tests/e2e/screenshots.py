"""Take a screenshot of every view of the dashboard: `make screenshots`, into docs/images/.

Each view is taken in both themes, on a small laptop and on a telephone. The shop has sixty queues, a queue and a
job type with long names, and for one picture its database is lost.
"""

import argparse
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final, Literal

import httpx
from playwright.sync_api import Browser, Page, Route, ViewportSize, expect

from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.e2e.browser import launched
from tests.e2e.history import write_history
from tests.e2e.serving import ROOT, Served
from tests.e2e.showcase import LONG_NAME
from tests.harness.node_processes import wait_until

IMAGES: Final = ROOT / "docs" / "images"
APPLICATION: Final = "tests.e2e.showcase:horae"
LOST: Final = "now-lost"
"""The picture for which the database is lost."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What a picture is taken on; its name is part of the name of the picture."""

    name: str
    theme: Literal["light", "dark"]
    size: ViewportSize


SCREENS: Final = (
    Screen("light", "light", {"width": 1440, "height": 900}),
    Screen("dark", "dark", {"width": 1440, "height": 900}),
    Screen("laptop", "light", {"width": 1024, "height": 768}),
    Screen("phone", "dark", {"width": 390, "height": 844}),
)


def main() -> None:
    """Serve the showcase application, and take the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=IMAGES, help="the folder of the pictures")
    parser.add_argument("--only", nargs="+", help="only these views, such as `jobs`")
    arguments = parser.parse_args()
    folder: Path = arguments.into
    folder.mkdir(parents=True, exist_ok=True)
    with shop() as node, launched() as browser:
        for name, path in busy(node).items():
            for screen in SCREENS:
                if arguments.only is None or name in arguments.only:
                    file = folder / f"{name}-{screen.name}.png"
                    photograph(browser, node, path, file, screen, lost=name == LOST)
                    print(f"{file.stat().st_size / 1000:6.0f} kB  {file}")


@contextmanager
def shop() -> Generator[Served]:
    """Two nodes on a new SQLite file with a history."""
    with tempfile.TemporaryDirectory(prefix="horae-pictures-") as place, ExitStack() as stack:
        folder = Path(place)
        url = f"sqlite:///{folder / 'shop.db'}"
        database = stack.enter_context(closing(Database(url)))
        upgrade(database)
        nodes = [Served(APPLICATION, url, folder, "--name", name) for name in ("shop-1", "shop-2")]
        for node in nodes:
            stack.callback(node.stop)
            node.start()
        wait_until(lambda: len(nodes[0].read("schedules/")["schedules"]) == 5)
        database.transact(write_history, datetime.now(UTC), Random(4))
        yield nodes[0]


def busy(node: Served) -> dict[str, str]:
    """Start some work. Return the address of each view by the name of its screenshot."""
    schedules = {each["name"]: each["id"] for each in node.read("schedules/")["schedules"]}
    change(
        node,
        f"schedules/{schedules['back_up_database']}/pause/",
        note="The disk is being exchanged until Friday",
    )
    httpx.patch(
        f"{node.url}api/schedules/{schedules['send_daily_figures']}/",
        json={"cron": "0 7 * * 1-5", "priority": 5},
        timeout=30,
    ).raise_for_status()
    change(node, "queues/mail/pause/", note="The mail provider is down")
    change(node, "queues/export/limit/", concurrency_limit=2)
    for issue in range(14, 44):
        node.begin("send_newsletter", issue=issue)
    failed = node.begin("export_table", table="wishes")
    node.begin("charge_card", order=8121)
    node.begin(LONG_NAME)
    begun = [
        node.begin("rebuild_search_index", percent=12),
        node.begin("export_table", table="customers", percent=81),
        node.begin("import_orders", file="orders.csv", percent=46),
    ]
    wait_until(lambda: all(node.read(f"jobs/{job}/")["progress_percentage"] > 0 for job in begun))
    wait_until(lambda: node.read(f"jobs/{failed}/")["state"] == "failed")
    views = ("jobs", "errors", "schedules", "queues", "types", "fleet", "journal", "limits")
    return {
        "now": "",
        **{name: name for name in views},
        "job": f"jobs/{begun[-1]}",
        "job-failed": f"jobs/{failed}",
        "schedule": f"schedules/{schedules['reconcile_payments']}",
        "queue": "queues/mail",
        "type": "types/export_table",
        LOST: "",
    }


def change(node: Served, path: str, **body: Any) -> None:
    httpx.post(f"{node.url}api/{path}", json=body, timeout=30).raise_for_status()


def photograph(
    browser: Browser, node: Served, path: str, file: Path, screen: Screen, *, lost: bool
) -> None:
    """Take a screenshot of one view on one screen."""
    with browser.new_context(
        base_url=node.url,
        viewport=screen.size,
        color_scheme=screen.theme,
        locale="en-GB",
        reduced_motion="reduce",
    ) as context:
        page = context.new_page()
        page.goto(path)
        settle(page)
        if lost:
            lose_database(page)
        page.screenshot(path=file, animations="disabled")


def lose_database(page: Page) -> None:
    """Let the server answer as it does without its database, until the page says so."""
    answer = {"error": "ERROR_UNAVAILABLE", "detail": "the database does not answer"}

    def refuse(route: Route) -> None:
        route.fulfill(status=503, json=answer)

    page.route("**/api/overview/", refuse)
    page.get_by_test_id("refresh-now").click()
    expect(page.get_by_test_id("lost")).to_be_visible()


def settle(page: Page) -> None:
    """Wait until the view, its data and the event stream are loaded."""
    expect(page.locator("main h1").first).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    expect(page.get_by_test_id("live")).to_have_text("Live")
    page.wait_for_timeout(700)  # lanes and charts are drawn after what they stand beside


if __name__ == "__main__":
    main()
