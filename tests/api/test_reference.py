"""The reference names every code of an error; its other tables are written from the code (`tests/docs/test_site.py`)."""

import re
from pathlib import Path
from typing import Final

from horae.api import problems

ROOT: Final = Path(__file__).parents[2]
REFERENCE: Final = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
SOURCES: Final = Path(problems.__file__).parent


def sources() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))


def test_every_error_is_in_the_reference() -> None:
    codes = set(re.findall(r'"(ERROR_[A-Z_]+)"', sources()))
    assert len(codes) > 15
    assert {code for code in codes if f"`{code}`" not in REFERENCE} == set()
