"""Writes the golden OpenAPI document anew: `python -m tests.api.openapi`."""

import json
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Final

from horae import Horae
from tests.api.clients import application_of
from tests.api.tables import add_types

GOLDEN: Final = Path(__file__).parent / "openapi.json"


def document() -> str:
    """The document as it is kept."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(add_types(Horae(f"sqlite:///{folder}/horae.db"))) as horae,
    ):
        return (
            json.dumps(
                application_of(horae).openapi(), indent=2, ensure_ascii=False, sort_keys=True
            )
            + "\n"
        )


if __name__ == "__main__":
    GOLDEN.write_text(document(), encoding="utf-8")
    print(GOLDEN)  # noqa: T201 - it is a program
