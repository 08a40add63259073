"""Fixtures of the browser tests: a browser, nodes, and pages that must not show errors."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from sqlalchemy import Engine, create_engine

from horae.storage.engine.database import Database
from tests.e2e.application import Base
from tests.e2e.browser import Faults, launched
from tests.e2e.serving import Served
from tests.e2e.tasks import COUNT_CLICKS, jobs_that_end
from tests.harness.applications import url_of

APPLICATION = "tests.e2e.application:horae"
PATIENCE = 20_000
"""Milliseconds after which a wait has failed: an upper bound, not a measurement."""

ServedBy = Callable[..., Served]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for each module, since its driver keeps a loop in this thread, where other tests have their own."""
    expect.set_options(timeout=PATIENCE)
    with launched() as browser:
        yield browser


@pytest.fixture
def served(tmp_path: Path) -> Iterator[ServedBy]:
    """Serve an application on a database: `served(app, database)`. Its log is printed if the test fails."""
    with ExitStack() as stack:

        def serve(app: str, database: Database, *arguments: str) -> Served:
            node = Served(app, url_of(database), tmp_path, *arguments)
            stack.callback(lambda: print(node.log))  # noqa: T201 - pytest shows it with a failure
            stack.callback(node.stop)
            node.start()
            return node

        yield serve


@pytest.fixture
def node(database: Database, engine: Engine, served: ServedBy) -> Served:
    """The application of these tests with its table; it is closed before its database."""
    Base.metadata.create_all(engine)
    return served(APPLICATION, database)


@pytest.fixture
def engine(database: Database) -> Iterator[Engine]:
    """The database, seen from another connection."""
    engine = create_engine(database.url)
    yield engine
    engine.dispose()


@pytest.fixture
def context(browser: Browser, node: Served) -> Iterator[BrowserContext]:
    """A browser with an empty profile, which resolves relative addresses against the node."""
    with browser.new_context(base_url=node.url, locale="en-GB") as context:
        context.set_default_timeout(PATIENCE)
        yield context


@pytest.fixture
def faults(context: BrowserContext, node: Served) -> Iterator[Faults]:
    """The errors on all pages; a test that leaves any fails."""
    faults = Faults(context, node.url)
    yield faults
    assert faults.seen == []


@pytest.fixture
def page(context: BrowserContext, faults: Faults) -> Page:
    """A page that must not show errors."""
    return context.new_page()


@pytest.fixture
def counted(context: BrowserContext, page: Page, node: Served) -> Iterator[Page]:
    """A page that counts the clicks of its user (`tasks.clicks`), while jobs end."""
    context.add_init_script(COUNT_CLICKS)
    with jobs_that_end(node):
        yield page
