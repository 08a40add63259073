"""The stream of events, read by clients that others have written: the browser's EventSource, and that of Node.js."""

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from playwright.sync_api import Page

from tests.e2e.serving import ON_SQLITE, ROOT, Served
from tests.harness.node_processes import wait_until

pytestmark = [pytest.mark.slow, ON_SQLITE]

LISTEN: Final = """
(url, show) => {
  const source = new EventSource(url)
  for (const name of ['hello', 'job']) {
    source.addEventListener(name, event => show({ name, id: event.lastEventId, data: JSON.parse(event.data) }))
  }
}
"""
IN_BROWSER: Final = f"""
url => {{ window.received = []; ({LISTEN})(url, message => window.received.push(message)) }}
"""
IN_NODE: Final = f"({LISTEN})(process.argv[1], message => console.log(JSON.stringify(message)))"


@contextmanager
def node_js(url: str) -> Generator[list[Any]]:
    """What the EventSource of Node.js receives from this address."""
    command = [
        str(ROOT / "scripts/with-node"),
        "node",
        "--no-warnings",
        "--experimental-eventsource",
        "-e",
        IN_NODE,
        url,
    ]
    received = list[Any]()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            received.append(json.loads(process.stdout.readline()))
            yield received
            while received[-1]["data"].get("change") != "ended":
                received.append(json.loads(process.stdout.readline()))
        finally:
            process.terminate()


def expect_the_life_of(job: int, received: list[Any]) -> None:
    hello, *events = received
    assert hello["name"] == "hello"
    assert [each["data"]["id"] for each in events] == [job] * len(events)
    changes = [each["data"]["change"] for each in events]
    assert changes[0] in ("created", "started", "ended"), "each change at most once"
    assert changes[-1] == "ended"
    ids = [each["id"] for each in received]
    assert all(ids), "each message has an id to resume after"
    assert len(set(ids[1:])) == len(ids) - 1


def test_two_foreign_clients_follow_a_job(page: Page, node: Served) -> None:
    page.goto(node.url)
    page.evaluate(IN_BROWSER, f"{node.url}api/events/")
    wait_until(lambda: page.evaluate("window.received.length > 0"))
    with node_js(f"{node.url}api/events/") as from_node:
        job = node.begin("import_people", rows=2)
    expect_the_life_of(job, from_node)
    wait_until(lambda: page.evaluate("window.received.some(each => each.data.change === 'ended')"))
    expect_the_life_of(job, page.evaluate("window.received"))
