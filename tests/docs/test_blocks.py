"""Each Python block of the pages runs when the page is pasted from the top, or says why it does not.

The reason stands in a comment above the block: `<!-- not run: … -->`.
"""

from pathlib import Path
from typing import Final

import pytest
from sentry_sdk import integrations

from tests.docs.blocks import blocks_of, run_page
from tests.docs.transcripts import ROOT

TESTED_ELSEWHERE: Final = {
    "docs/guides/django.md": "tests/docs/test_django.py",  # its blocks are files of a project
    "docs/guides/forecast.md": "tests/docs/test_forecast.py",
    "docs/guides/testing.md": "tests/testing/test_guide.py",  # its tests run under pytest
}
"""Pages that a test of their own runs."""
PAGES: Final = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if page.parent.name not in {"adr", "project"} and "```python" in page.read_text()
]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_blocks_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name_of(page) in TESTED_ELSEWHERE:
        return
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("HORAE_DATABASE", raising=False)
    # Sentry's integration of SQLAlchemy would listen for all statements of later tests.
    defaults = integrations.iter_default_integrations
    monkeypatch.setattr(integrations, "iter_default_integrations", lambda _auto: defaults(False))
    run_page(page)


@pytest.mark.parametrize("page", TESTED_ELSEWHERE)
def test_the_other_tests_exist(page: str) -> None:
    test = (ROOT / TESTED_ELSEWHERE[page]).read_text(encoding="utf-8")
    assert page.partition("docs/")[2] in test


def test_every_block_that_does_not_run_says_why() -> None:
    skipped = [block for page in PAGES for block in blocks_of(page) if block.reason is not None]
    assert [block for block in skipped if len(str(block.reason).split()) < 3] == []


def test_most_blocks_run() -> None:
    blocks = [block for page in PAGES for block in blocks_of(page)]
    assert sum(block.reason is None for block in blocks) > 0.7 * len(blocks)


def test_all_blocks_are_found() -> None:
    for page in PAGES:
        assert len(blocks_of(page)) == page.read_text().count("```python"), page
