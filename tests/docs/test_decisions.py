"""The index of decisions lists each page under its subject, with its title and its status."""

import subprocess
import sys

from tests.docs.transcripts import ROOT


def test_the_index_is_written_from_the_pages() -> None:
    script = ROOT / "scripts" / "list-decisions"
    checked = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_a_decision_has_at_most_sixty_lines() -> None:
    pages = (ROOT / "docs" / "adr").glob("[0-9]*.md")
    lengths = {page.name: len(page.read_text(encoding="utf-8").splitlines()) for page in pages}
    assert {page: lines for page, lines in lengths.items() if lines > 60} == {}
