"""Each promise names the tests that verify it, and those tests exist."""

import ast
import re
from typing import Final

import pytest

from tests.docs.transcripts import ROOT

PAGE: Final = (ROOT / "docs/concepts/promises.md").read_text(encoding="utf-8")
NAMED: Final = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)
ROWS: Final = [line for line in PAGE.splitlines() if line.startswith("| ") and not line.startswith("| Promise |")]


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_named_test_exists(file: str, name: str) -> None:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_each_promise_names_a_test() -> None:
    assert len(ROWS) > 10
    assert [row for row in ROWS if "::" not in row] == []
