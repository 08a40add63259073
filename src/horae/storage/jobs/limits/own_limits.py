"""The limits that a job was created under, and its weight, as they are stored with it.

A database role that may only start jobs writes them as well, and one statement puts the jobs of all
programs into lanes. So each value is checked here, and an invalid limit limits nothing.
"""

import json
from typing import Any, Final

from sqlalchemy import Connection

from horae.domain.jobs import JobId
from horae.domain.names import LONGEST_NAME
from horae.domain.storable import LARGEST_NUMBER, is_storable
from horae.storage.jobs import reading

ENTRY: Final = 3
"""Number of values in a stored limit: its name, its key and its numbers."""


def weight_of(connection: Connection, job_id: JobId) -> int:
    """Return how much the job counts under its limits: 1 unless another weight was given."""
    return own_limits(reading.limits(connection, job_id))[0]


def own_limits(stored: str | None) -> tuple[int, list[tuple[str, str, Any]]]:
    """Return the weight of a job, and the names, keys and numbers of its own limits."""
    given = object_in(stored)
    weight, entries = given.get("weight", 1), given.get("limits", [])
    if (
        not isinstance(weight, int)
        or not 0 < weight <= LARGEST_NUMBER
        or not isinstance(entries, list)
    ):
        return 1, []
    return weight, [(name, key, numbers) for name, key, numbers in filter(_is_entry, entries)]


def _is_entry(stored: Any) -> bool:
    """Return whether this has the form of a limit; its numbers are checked where they are used."""
    if (
        not isinstance(stored, list)
        or len(stored) != ENTRY
        or not all(isinstance(text, str) for text in stored[:2])
    ):
        return False
    name, key, _ = stored
    return (
        0 < len(name) <= LONGEST_NAME
        and name.isprintable()
        and len(key) <= LONGEST_NAME
        and is_storable(key)
    )


def object_in(text: str | None) -> dict[str, Any]:
    """Return a JSON object, or an empty one for anything else."""
    try:
        value = json.loads(text or "{}")
    except (RecursionError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
