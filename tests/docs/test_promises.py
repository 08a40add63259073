"""Each promise names the tests that verify it; those tests exist, and so do the commands of the page."""

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from benchmarks.soak.rules import Bounds
from tests.docs.transcripts import ROOT

PAGES: Final = ("proof", "simulation", "faults")
TEXT: Final = "\n".join(
    (ROOT / f"docs/concepts/{page}.md").read_text(encoding="utf-8") for page in PAGES
)
NAMED: Final = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)))
COMMANDS: Final = sorted(set(re.findall(r"`make ([a-z-]+)", TEXT)))


def promises() -> Iterator[str]:
    """Yield the rows of the tables of promises."""
    within = False
    for line in TEXT.splitlines():
        within = line.startswith("| Promise |") or (within and line.startswith("|"))
        if within and line.startswith("| ") and not line.startswith("| Promise |"):
            yield line


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_named_test_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_each_promise_names_a_test() -> None:
    rows = list(promises())
    assert len(rows) > 10
    assert [row for row in rows if "::" not in row] == []


@pytest.mark.parametrize("target", COMMANDS)
def test_a_named_command_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("figure", Bounds().growth)
def test_the_bounds_of_the_soak_are_as_described(figure: str) -> None:
    allowance = Bounds().growth[figure]
    [bound] = re.findall(rf"^\| growth of {figure}\b[^|]*\| ([^|]*) \|$", TEXT, re.MULTILINE)
    assert bound.startswith(f"{allowance.absolute:g}")
    assert (f"{allowance.share * 100:g} %" in bound) == (allowance.share > 0)
