"""The transfer of a visit: all bytes that the browser receives until the page is complete."""

from functools import partial
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from horae.storage.engine.database import Database
from tests.e2e.serving import ROOT, Served
from tests.harness.node_processes import wait_until

pytestmark = pytest.mark.slow

FIRST_VISIT: Final = 120_000
"""Bytes, including response headers, of the first view, which is the largest: it has charts."""


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


class Transfers:
    """The responses to a page, by address, with their size on the network and their encoding."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._addresses: dict[str, str] = {}
        self.bytes: dict[str, int] = {}
        self.encodings: dict[str, str | None] = {}
        network = page.context.new_cdp_session(page)
        network.send("Network.enable")
        network.on("Network.responseReceived", self._on_response)
        network.on("Network.loadingFinished", self._on_end)

    def have(self, part: str) -> bool:
        """Return whether a response has arrived whose address contains this text."""
        self._page.evaluate("() => null")  # lets the driver deliver its events
        return any(part in address for address in self.bytes)

    def _on_response(self, event: dict[str, Any]) -> None:
        response = event["response"]
        headers = {name.lower(): value for name, value in response["headers"].items()}
        self._addresses[event["requestId"]] = response["url"]
        self.encodings[response["url"]] = headers.get("content-encoding")

    def _on_end(self, event: dict[str, Any]) -> None:
        address = self._addresses.get(event["requestId"])
        if address is not None:
            self.bytes[address] = self.bytes.get(address, 0) + int(event["encodedDataLength"])


def test_a_first_visit_is_small_and_everything_long_is_compressed(page: Page, node: Served) -> None:
    for _ in range(20):
        node.begin("import_people", rows=1)
    transfers = Transfers(page)
    page.goto("")
    expect(page.get_by_test_id("live")).to_have_text("Live")
    for part in ("/charts-", "/api/overview/"):
        wait_until(partial(transfers.have, part))
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    assert sum(transfers.bytes.values()) <= FIRST_VISIT
    readme = (ROOT / "web/packages/vue/README.md").read_text("utf-8")
    assert f"transfers at most {FIRST_VISIT:,} bytes" in readme
    page.get_by_test_id("nav-jobs").click()
    expect(page.get_by_test_id("jobs")).to_be_visible()
    wait_until(partial(transfers.have, "/api/jobs/?"))
    scripts = {address for address in transfers.bytes if address.endswith((".js", ".css"))}
    large = {address for address in scripts if transfers.bytes[address] > 2000}
    assert {transfers.encodings[address] for address in large} <= {"br", "gzip"}
    assert {
        transfers.encodings[address] for address in transfers.bytes if "/api/jobs/?" in address
    } == {"gzip"}
