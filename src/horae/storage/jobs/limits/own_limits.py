"""The limits that a job was created under, and its weight, as they are stored with it."""

import json
from typing import Any

from sqlalchemy import Connection

from horae.domain.jobs.job import JobId
from horae.storage.jobs import reading


def weight_of(connection: Connection, job_id: JobId) -> int:
    """Return how much the job counts under its limits: 1 unless it was started with another weight."""
    return own_limits(reading.limits(connection, job_id))[0]


def own_limits(stored: str | None) -> tuple[int, list[tuple[str, str, Any]]]:
    """Return the weight of a job, and the names, keys and numbers of its own limits."""
    given = object_in(stored)
    weight, entries = given.get("weight", 1), given.get("limits", [])
    try:
        return int(weight), [(str(name), str(key), numbers) for name, key, numbers in entries]
    except (TypeError, ValueError):
        return 1, []


def object_in(text: str | None) -> dict[str, Any]:
    """Return a JSON object; an empty one for what is none."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
