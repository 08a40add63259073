"""The limits by key and the turns of the jobs of a schedule, as a forecast needs them."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from horae.client.forecast.known import by_key_of
from horae.domain.forecast.limits import ForecastLimit
from horae.domain.forecast.scenario import ForecastQueue
from horae.domain.limits.limit import OWNER, key_of
from horae.domain.limits.numbers import LimitNumbers
from horae.types.rules.queues import DeclaredQueue


def own_limits(stored: str | None) -> Iterator[ForecastLimit]:
    """Yield the limits that the jobs of a schedule have by their type, from the form in which they
    are stored.
    """
    for name, key, numbers in json.loads(stored or '{"limits": []}')["limits"]:
        yield ForecastLimit(name, key, LimitNumbers.from_json(numbers))


def queue_limits(queue: ForecastQueue, params: Mapping[str, Any]) -> Iterator[ForecastLimit]:
    """Yield the limits by key that a queue has for jobs with these parameters."""
    for name, key, numbers in queue.by_key:
        yield ForecastLimit(name, key_of(key, None, params, None) or "", numbers)


def turn_of(queue: ForecastQueue, params: Mapping[str, Any]) -> str | None:
    """Return who takes turns in a fair queue for a job with these parameters; the runs of schedules
    have no owner.
    """
    if queue.fair_by is None:
        return None
    return (
        "" if queue.fair_by == OWNER else key_of(f"{{{queue.fair_by}}}", None, params, None) or ""
    )


def declared_queue(queue: DeclaredQueue) -> ForecastQueue:
    """Return the rules that code declares for a queue."""
    return ForecastQueue(
        limit=queue.concurrency_limit, by_key=by_key_of(queue.limits or {}), fair_by=queue.fair_by
    )
