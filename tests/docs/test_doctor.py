"""The guide to operations explains every check of `horae doctor`."""

import re
from typing import Final

from tests.docs.transcripts import ROOT

FOUND: Final = re.compile(
    r"\b(?:ok|warning|problem)\(\s*\"([^\"]+)\"|^CHECK: Final = \"([^\"]+)\"", re.MULTILINE
)


def test_every_check_is_in_the_table() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "src/horae/client/doctor").glob("*.py")
    )
    checks = {name or constant for name, constant in FOUND.findall(sources)}
    table = re.findall(
        r"(?m)^\| ([a-zA-Z, ]+) \|",
        (ROOT / "docs/guides/operations.md").read_text(encoding="utf-8"),
    )
    listed = {name for cell in table for name in cell.split(", ")}
    assert len(checks) > 15
    assert checks - listed == set()
