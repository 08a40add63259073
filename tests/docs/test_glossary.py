"""The glossary: its terms are in alphabetical order, and each is defined where it says."""

import re

from tests.docs.transcripts import ROOT

PAGE = (ROOT / "docs" / "concepts" / "nouns.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \*\*([^*]+)\*\* \| (.+) \| `([^`]+)` \|$", PAGE, re.MULTILINE)


def test_the_terms_are_in_alphabetical_order() -> None:
    terms = [term for term, _, _ in ROWS]
    assert len(terms) > 15
    assert terms == sorted(set(terms))


def test_each_term_is_defined_where_the_glossary_says() -> None:
    missing = [
        f"{term}: {place}"
        for term, _, place in ROWS
        if not (ROOT / "src" / "horae" / place).exists()
    ]
    assert missing == []


def test_each_term_is_used_where_it_is_defined() -> None:
    """A renamed concept leaves its old word in the glossary: this notices it."""
    unused = [f"{term}: {place}" for term, _, place in ROWS if not is_used(term, place)]
    assert unused == []


def is_used(term: str, place: str) -> bool:
    path = ROOT / "src" / "horae" / place
    files = [path] if path.is_file() else sorted(path.rglob("*.py"))
    word = re.compile(re.escape(term).replace(r"\ ", "[ _]"), re.IGNORECASE)
    return any(word.search(file.read_text(encoding="utf-8")) for file in files)
