"""Take a screenshot of every view of the dashboard, light and dark: `make screenshots`, into docs/images/."""

import argparse
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, Final, Literal

import httpx
from playwright.sync_api import Browser, Page, expect

from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.e2e.browser import launched
from tests.e2e.history import write_history
from tests.e2e.serving import ROOT, Served
from tests.harness.node_processes import wait_until

IMAGES: Final = ROOT / "docs" / "images"
THEMES: Final[tuple[Literal["light", "dark"], ...]] = ("light", "dark")
WIDE: Final = {"width": 1280, "height": 800}
SMALL: Final = {"width": 375, "height": 740}
APPLICATION: Final = "tests.e2e.showcase:horae"


def main() -> None:
    """Serve the showcase application, and take the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=IMAGES, help="the folder of the pictures")
    folder: Path = parser.parse_args().into
    folder.mkdir(parents=True, exist_ok=True)
    with shop() as node, launched() as browser:
        views = busy(node)
        for theme in THEMES:
            for name, path in views.items():
                photograph(browser, node, path, folder / f"{name}-{theme}.png", theme, WIDE)
        for name in ("overview", "jobs", "schedule"):
            photograph(browser, node, views[name], folder / f"{name}-small.png", "light", SMALL)
    for picture in sorted(folder.glob("*.png")):
        print(f"{picture.stat().st_size / 1000:6.0f} kB  {picture}")


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
    change(node, "queues/mail/pause/", note="The mail provider is down")
    change(node, "queues/export/limit/", concurrency_limit=2)
    for issue in (41, 42, 43):
        node.begin("send_newsletter", issue=issue)
    failed = node.begin("export_table", table="wishes")
    node.begin("charge_card", order=8121)
    begun = [
        node.begin("rebuild_search_index", percent=12),
        node.begin("export_table", table="customers", percent=81),
        node.begin("import_orders", file="orders.csv", percent=46),
    ]
    wait_until(lambda: all(node.read(f"jobs/{job}/")["progress_percentage"] > 0 for job in begun))
    views = {name: name for name in ("jobs", "schedules", "queues", "fleet", "journal")}
    return {
        "overview": "",
        **views,
        "job": f"jobs/{begun[-1]}",
        "job-failed": f"jobs/{failed}",
        "schedule": f"schedules/{schedules['reconcile_payments']}",
    }


def change(node: Served, path: str, **body: Any) -> None:
    httpx.post(f"{node.url}api/{path}", json=body, timeout=30).raise_for_status()


def photograph(
    browser: Browser,
    node: Served,
    path: str,
    file: Path,
    theme: Literal["light", "dark"],
    size: Any,
) -> None:
    """Take a screenshot of one view in one theme."""
    with browser.new_context(
        base_url=node.url,
        viewport=size,
        color_scheme=theme,
        locale="en-GB",
        reduced_motion="reduce",
    ) as context:
        page = context.new_page()
        page.goto(path)
        settle(page)
        page.screenshot(path=file, animations="disabled")


def settle(page: Page) -> None:
    """Wait until the view, its data and the event stream are loaded."""
    expect(page.locator("main h1").first).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    expect(page.get_by_test_id("live")).to_have_text("Live")


if __name__ == "__main__":
    main()
