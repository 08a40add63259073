"""The changelog is made from the news fragments: unreleased ones stay, and those of a release move into its section."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.transcripts import ROOT

PARTS = ("CHANGELOG.md", "pyproject.toml", "scripts/write-changelog", "src/horae/__init__.py")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for part in PARTS:
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / part, tmp_path / part)
    (tmp_path / "changelog.d").mkdir()
    return tmp_path


def write(checkout: Path, *version: str) -> str:
    command = [sys.executable, str(checkout / "scripts/write-changelog"), *version]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return (checkout / "CHANGELOG.md").read_text(encoding="utf-8")


def test_fragments_are_unreleased_until_a_release(checkout: Path) -> None:
    fragment = checkout / "changelog.d/+limits.change.md"
    fragment.write_text("A queue can have a limit.\n")
    unreleased = write(checkout)
    assert "## Unreleased\n\n### Changes\n\n- A queue can have a limit.\n" in unreleased
    assert write(checkout) == unreleased
    assert fragment.exists()

    released = write(checkout, "7.8.9")
    assert "## Unreleased\n\nNo significant changes.\n" in released
    assert released.count("- A queue can have a limit.\n") == 1
    assert (
        released.index("No significant changes.")
        < released.index("## 7.8.9 (")
        < released.index("- A queue can")
    )
    assert not fragment.exists()


def test_the_changelog_of_the_checkout_has_no_section_for_what_is_not_released() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.count("## Unreleased") == 1
    assert text.index("## Unreleased") < text.index("<!-- towncrier release notes start -->")
