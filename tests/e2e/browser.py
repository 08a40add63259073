"""A real browser: Debian's Chromium, driven by Playwright; and what goes wrong on its pages."""

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response, sync_playwright

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
QUIET: Final = (  # it would call home, and where there is no network it says so on its pages' consoles
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-dev-shm-usage",
    "--disable-gpu",
)
GIVEN_UP: Final = "net::ERR_ABORTED"
"""The page itself gave a request up: it was left, or its tab was hidden."""


def find_browser() -> str:
    """The path of the browser; raises `RuntimeError` where there is none."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise RuntimeError(
        f"no browser: none of {', '.join(NAMES)} is installed (scripts/install-system-packages chromium)"
    )


@contextmanager
def launched() -> Generator[Browser]:
    """A browser without a window. Nothing asynchronous runs in this thread meanwhile: the driver has a loop there."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=list(QUIET), chromium_sandbox=os.geteuid() != 0
        )
        try:
            yield browser
        finally:
            browser.close()


class Faults:
    """What no page may do: complain, fail to get what it asks for, ask somebody else."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        """Listen to all pages of the context, those of tomorrow too."""
        self.seen: list[str] = []
        self._origin = origin
        context.on("page", self._watch)

    def forgive(self) -> None:
        """Forget what the test itself has brought about."""
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
