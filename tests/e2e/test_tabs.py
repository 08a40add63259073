"""Many tabs of one browser: a server of HTTP/1.1 has six connections for all of them, and they share one stream."""

import pytest
from playwright.sync_api import BrowserContext, Page, Request, expect

from horae.storage.engine.database import Database
from tests.e2e.browser import Faults
from tests.e2e.serving import Served
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.slow

TABS = 10
"""More than the connections that a browser opens to one server of HTTP/1.1."""
SHOWN = """shown => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => !shown })
    document.dispatchEvent(new Event('visibilitychange'))
}"""


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


class Streams:
    """The event streams that are open in all tabs, by tab."""

    def __init__(self, context: BrowserContext) -> None:
        self._open: dict[Request, Page] = {}
        context.on("request", self._begin)
        context.on("requestfinished", self._end)
        context.on("requestfailed", self._end)

    @property
    def holders(self) -> list[Page]:
        """Return the open tabs with a stream; the driver does not report the end of a closed tab's requests."""
        return [page for page in self._open.values() if not page.is_closed()]

    def _begin(self, request: Request) -> None:
        if "/api/events/" in request.url:
            self._open[request] = request.frame.page

    def _end(self, request: Request) -> None:
        self._open.pop(request, None)


@pytest.fixture
def tabs(context: BrowserContext, streams: Streams, faults: Faults) -> list[Page]:
    """So many tabs with the list of jobs that separate streams would exhaust the connections of HTTP/1.1."""
    pages = [context.new_page() for _ in range(TABS)]
    for page in pages:
        page.goto("jobs")
    for page in pages:
        expect(page.get_by_test_id("live")).to_have_text("Live")
    return pages


@pytest.fixture
def streams(context: BrowserContext) -> Streams:
    return Streams(context)


def only(streams: Streams, tabs: list[Page]) -> Page:
    """Wait until there is one stream. Return its tab."""
    wait_until(lambda: tabs[-1].evaluate("1") and len(streams.holders) == 1)
    return streams.holders[0]


def test_many_tabs_share_one_stream(tabs: list[Page], streams: Streams, node: Served) -> None:
    only(streams, tabs)
    job = node.begin("import_people", rows=1)
    for page in tabs:
        expect(page.get_by_test_id(f"job-{job}").locator(".badge--finished")).to_be_visible()
    assert len(streams.holders) == 1


def test_another_tab_takes_over_when_the_one_with_the_stream_is_closed(
    tabs: list[Page], streams: Streams, node: Served
) -> None:
    holder = only(streams, tabs)
    tabs.remove(holder)
    holder.close()
    wait_until(lambda: only(streams, tabs) is not holder)
    for page in tabs:
        expect(page.get_by_test_id("live")).to_have_text("Live")
    job = node.begin("import_people", rows=1)
    for page in tabs:
        expect(page.get_by_test_id(f"job-{job}").locator(".badge--finished")).to_be_visible()


def test_there_is_no_stream_while_all_tabs_are_hidden(tabs: list[Page], streams: Streams) -> None:
    only(streams, tabs)
    for page in tabs:
        page.evaluate(SHOWN, arg=False)
    wait_until(lambda: tabs[0].evaluate("true") and not streams.holders)
    tabs[3].evaluate(SHOWN, arg=True)
    assert only(streams, tabs) is tabs[3]
    expect(tabs[3].get_by_test_id("live")).to_have_text("Live")
