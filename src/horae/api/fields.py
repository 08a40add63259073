"""Types of request values."""

from typing import Annotated, Final

from fastapi import Path
from pydantic import AfterValidator

from horae.domain.storable import is_storable

LARGEST_ID: Final = 2**63 - 1
STORABLE: Final = r"^[^\x00]*$"


def _storable(text: str) -> str:
    if not is_storable(text):
        raise ValueError("contains a character that cannot be stored")
    return text


Storable = Annotated[str, AfterValidator(_storable)]
JobIdInPath = Annotated[int, Path(ge=1, le=LARGEST_ID, description="ID of the job.")]
