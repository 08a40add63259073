"""A real browser: Debian's Chromium, driven by Playwright, and the errors on its pages."""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    Response,
    sync_playwright,
)

NAMES: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first has no windows: a test costs two thirds of the processor time that it costs with the others."""
QUIET: Final = (  # else it contacts its vendor, and without a network it logs errors on the consoles of pages
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-dev-shm-usage",
    "--disable-gpu",
)
GIVEN_UP: Final = "net::ERR_ABORTED"
"""The error of a request that the page itself aborted, because it was left or its tab was hidden."""


def find_browser() -> str:
    """Return the path of the browser; raises `RuntimeError` if there is none."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise RuntimeError(
        f"no browser: none of {', '.join(NAMES)} is installed (scripts/install-system-packages chromium-headless-shell)"
    )


@contextmanager
def launched() -> Generator[Browser]:
    """Run a browser without a window. The thread must not run another event loop meanwhile: the driver has one."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=list(QUIET), chromium_sandbox=os.geteuid() != 0
        )
        try:
            yield browser
        finally:
            browser.close()


class Faults:
    """Collects what no page may do: log errors, fail requests, contact other hosts."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        """Listen to all pages of the context, including later ones."""
        self.seen: list[str] = []
        self._origin = origin
        context.on("page", self._watch)

    def forgive(self) -> None:
        """Forget the errors that the test itself has caused."""
        self.seen.clear()

    def _watch(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.seen.append(f"uncaught: {error}"))
        page.on("requestfailed", self._on_failure)
        page.on("request", self._on_request)
        page.on("response", self._on_response)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.seen.append(f"console: {message.text}")

    def _on_failure(self, request: Request) -> None:
        if request.failure != GIVEN_UP:
            self.seen.append(f"failed: {request.method} {request.url}: {request.failure}")

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith((self._origin, "blob:", "data:")):
            self.seen.append(f"asks a stranger: {request.url}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400:
            self.seen.append(f"status {response.status}: {response.request.method} {response.url}")
