"""The built site in a browser: its search, whose ranking is the theme's, and what its buttons copy."""

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser

from tests.docs.test_site import SEARCHES
from tests.docs.transcripts import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Build the site, serve it, and return its address."""
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=True,
        capture_output=True,
    )
    handler = partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_first_answer_of_a_search_is_the_page_that_fits(browser: Browser, site: str) -> None:
    page = browser.new_page()
    found: dict[str, str] = {}
    for words in SEARCHES:
        page.goto(f"{site}?q={quote(words)}")
        first = page.locator("a.md-search-result__link").first
        first.wait_for(state="attached")
        address = str(first.get_attribute("href"))
        found[words] = address.removeprefix(site).partition("?")[0].partition("#")[0]
    page.close()
    answers = {words: answer.removesuffix(".md") + "/" for words, answer in SEARCHES.items()}
    assert found == {words: answer.removeprefix("index/") for words, answer in answers.items()}


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_commands_are_copied_without_prompts_and_output(browser: Browser, site: str) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{site}tutorial/")
    block = page.locator(".highlight", has_text="horae jobs logs 1")
    block.locator("[data-md-type=copy]").click()
    page.locator(".md-dialog--active").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    context.close()
    assert copied.split("\n")[-1] == "horae jobs logs 1"
    assert not any(line.startswith("$") for line in copied.splitlines())
