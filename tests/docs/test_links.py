"""The links of the pages outside of docs/ lead to files that exist; `make docs` checks those inside."""

import re
from typing import Final

import pytest

from tests.docs.transcripts import ROOT

PAGES: Final = (
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "changelog.d/README.md",
)


@pytest.mark.parametrize("page", PAGES)
def test_each_link_leads_to_a_file(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", (ROOT / page).read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []
