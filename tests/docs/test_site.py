"""The site: its navigation, the parts written from the code, the tutorial, and what people search for."""

import importlib.util
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

import horae
from horae.settings import Settings
from tests.api.openapi import GOLDEN
from tests.docs.blocks import blocks_of
from tests.docs.transcripts import ROOT, commands_of, is_as_shown, run

DOCS: Final = ROOT / "docs"
NAVIGATION: Final = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
TUTORIAL: Final = "docs/tutorial/index.md"
SEARCHES: Final = {
    "sentry": "guides/sentry.md",
    "pytest": "guides/testing.md",
    "webhook": "guides/alerts.md",
    "slack": "guides/alerts.md",
    "django": "guides/django.md",
    "flask": "guides/flask.md",
    "windows": "guides/windows-and-macos.md",
    "macos": "guides/windows-and-macos.md",
    "approval": "guides/workflows.md",
    "workflow": "guides/workflows.md",
    "encrypt": "guides/secrets.md",
    "tenant": "guides/tenants.md",
    "i18n": "guides/i18n.md",
    "backup": "guides/backup.md",
    "leave celery": "moving/celery.md",
    "one job per customer": "guides/one-per-customer.md",
    "timezone": "guides/schedules.md",
    "cron": "guides/schedules.md",
    "schedule": "guides/schedules.md",
    "cancel": "guides/jobs.md",
    "retry": "guides/jobs.md",
    "progress": "guides/jobs.md",
    "delay": "guides/jobs.md",
    "priority": "guides/jobs.md",
    "queue": "guides/jobs.md",
    "timeout": "guides/jobs.md",
    "transaction": "guides/jobs.md",
    "async": "guides/jobs.md",
    "result": "guides/jobs.md",
    "rate limit": "guides/limits.md",
    "concurrency": "guides/limits.md",
    "exactly once": "concepts/guarantees.md",
    "authentication": "guides/security.md",
    "permission": "guides/security.md",
    "migration": "guides/migrations.md",
    "health check": "guides/http.md",
    "monitoring": "guides/operations.md",
    "kubernetes": "guides/fleets.md",
    "postgres": "guides/fleets.md",
    "sqlite": "concepts/sqlite.md",
    "mock": "guides/testing.md",
    "install": "index.md",
}
"""What people search for, and the page that answers it at its beginning or below a heading."""


@pytest.fixture(scope="module")
def site_pages() -> ModuleType:
    """The hook of MkDocs, which is no part of the package."""
    path = ROOT / "scripts/site_pages.py"
    spec = importlib.util.spec_from_file_location("site_pages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_but_the_decisions_is_in_the_navigation() -> None:
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    listed = set(re.findall(r"[\w./-]+\.md", NAVIGATION))
    assert {page for page in pages - listed if not page.startswith("adr/0")} == set()


@pytest.mark.parametrize("words", SEARCHES)
def test_a_search_finds_an_answer(site_pages: ModuleType, words: str) -> None:
    page = (DOCS / SEARCHES[words]).read_text(encoding="utf-8").lower()
    headings = re.findall(r"^#.*", page, re.MULTILINE)
    tags = site_pages.ASKED_FOR.get(SEARCHES[words], ())
    read = " ".join([page[:1000], *headings, *tags])
    assert [word for word in words.split() if word not in read] == []


def test_every_guide_is_listed_on_the_page_of_guides() -> None:
    index = (DOCS / "guides/index.md").read_text(encoding="utf-8")
    guides = {page.name for page in (DOCS / "guides").glob("*.md")} - {"index.md"}
    assert {name for name in guides if f"({name})" not in index} - {"first-application.md"} == set()


def test_settings_errors_and_names_come_from_the_code(site_pages: ModuleType) -> None:
    settings = site_pages.part("settings")
    assert [
        name for name in Settings.model_fields if f"`HORAE_{name.upper()}`" not in settings
    ] == []
    written = site_pages.part("errors") + site_pages.part("python horae")
    assert [name for name in horae.__all__ if not re.search(rf"\b{name}\b", written)] == []
    [missing] = re.findall(r".*`JobDoesNotExist`.*", site_pages.part("errors"))
    assert missing.endswith("| 404 `ERROR_JOB_DOES_NOT_EXIST` |")


def test_log_messages_come_from_the_code(site_pages: ModuleType) -> None:
    rows = site_pages.part("log messages").splitlines()
    assert len(rows) > 50
    assert any(row.startswith("| warning | `") for row in rows)


def test_the_http_reference_is_the_openapi_document(site_pages: ModuleType) -> None:
    page = site_pages.on_page_markdown((DOCS / "reference/api.md").read_text(encoding="utf-8"))
    document = json.loads(GOLDEN.read_text(encoding="utf-8"))
    for path, operations in document["paths"].items():
        for method in operations:
            named = f"`{method.upper()} {path}`" in page
            assert named or "/types/" in path, f"{method} {path}"
    for name in re.findall(r"\]\(#(\w+)\)", page):
        assert re.search(rf"^#+ {name}$", page, re.MULTILINE | re.IGNORECASE), name
    assert re.search(r"`POST /api/queues/\{queue\}/pause/` .* `staff` \|", page)
    assert re.search(r"`GET /api/overview/` .* `staff`, `read_only` \|", page)
    assert re.search(r"`POST /api/jobs/\{job_id\}/cancel/` .* `owner`, `staff` \|", page)
    assert re.search(r"`GET /healthz` .* everybody \|", page)
    assert "| `horae_jobs_total` | counter | `type`, `outcome` | jobs that ended |" in page


def test_the_values_in_pages_are_those_of_the_code(site_pages: ModuleType) -> None:
    known = site_pages.values()
    pages = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md")]
    found = [value for page in pages for value in site_pages.VALUE.findall(page)]
    assert len(found) > 10
    assert found == [(name, known[name]) for name, _ in found]


def test_every_value_and_part_that_a_page_asks_for_is_known(site_pages: ModuleType) -> None:
    for page in DOCS.rglob("*.md"):
        written = site_pages.on_page_markdown(page.read_text(encoding="utf-8"))
        assert not site_pages.VALUE.search(written), page
        assert not site_pages.ASKED.search(written), page


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Path]:
    """The folder of the tutorial, with its files and a node that runs."""
    for block in blocks_of(ROOT / TUTORIAL):
        assert block.title is not None
        (tmp_path / block.title).write_text(block.code)
    [people] = [each for each in commands_of(TUTORIAL) if "people.csv" in each.typed][:1]
    run(people, tmp_path, {})
    command = [sys.executable, "-m", "horae", "run", "shop:horae", "--no-api"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as node:
        try:
            assert node.stdout is not None
            assert "is ready" in node.stdout.readline()
            yield tmp_path
        finally:
            node.terminate()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_tutorial_works_as_written(shop: Path) -> None:
    environment = {"HORAE_APP": "shop:horae"}
    typed = [
        each
        for each in commands_of(TUTORIAL)
        if re.match(r"horae (?!run)|python -m pytest|printf 'Ada\\n'", each.typed)
    ]
    assert len(typed) == 9
    for command in typed:
        printed = run(command, shop, environment)
        assert is_as_shown(command, printed), (command.typed, printed)
    with closing(sqlite3.connect(shop / "shop.db")) as database:
        of_the_test = database.execute("SELECT id FROM horae_jobs WHERE params LIKE '%two.csv%'")
        assert of_the_test.fetchall() == []
