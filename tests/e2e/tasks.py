"""What tests of an operator's tasks have in common: clicks that are counted, and jobs that end meanwhile."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Page

from tests.e2e.serving import Served

MOST_CLICKS: Final = 5
"""Maximum number of clicks that a task may need."""
COUNT_CLICKS: Final = """
addEventListener('click', (event) => {
  if (event.detail > 0) sessionStorage.setItem('clicks', Number(sessionStorage.getItem('clicks')) + 1)
}, true)
"""
"""A key that presses a button makes a click, too, but one without a detail."""
PAUSE: Final = 0.25
"""Seconds between two starts of jobs."""


def clicks(page: Page) -> int:
    """Return how often the page and those before it in its tab were clicked."""
    return int(page.evaluate("sessionStorage.getItem('clicks')") or 0)


@contextmanager
def jobs_that_end(node: Served) -> Generator[None]:
    """Start short jobs until the end of the block, so that pages change all the time."""
    stopped = threading.Event()

    def start() -> None:
        while not stopped.wait(PAUSE):
            node.begin("send_letter", customer=1)

    thread = threading.Thread(target=start)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
