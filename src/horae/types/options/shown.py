"""Options of job types as `horae types show` and `--json` have them: durations in seconds."""

from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from operator import attrgetter
from typing import Any

from horae.domain.jobs import Debounce, Unique


def seconds_at(path: str) -> Callable[[Any], float | None]:
    """Return a function that shows a duration of a job type, at this path of attributes."""
    duration = attrgetter(path)

    def show(job_type: Any) -> float | None:
        length: timedelta | None = duration(job_type)
        return None if length is None else length.total_seconds()

    return show


def show_keep(job_type: Any) -> dict[str, float]:
    """Show for how long ended jobs are kept, by state."""
    return {state.value: seconds for state, seconds in sorted(job_type.retention.seconds.items())}


def rule_of(kind: type[Unique | Debounce]) -> Callable[[Any], dict[str, Any] | None]:
    """Return a function that shows the rule of uniqueness of a job type, if it is of this kind."""

    def show(job_type: Any) -> dict[str, Any] | None:
        rule = job_type.uniqueness
        if not isinstance(rule, kind):
            return None
        shown: dict[str, Any] = {}
        for each in fields(rule):
            value = getattr(rule, each.name)
            if isinstance(value, timedelta):
                value = value.total_seconds()
            elif isinstance(value, frozenset):
                value = sorted(str(item.value) for item in value)
            shown[each.name] = value
        return shown

    return show


def show_limits(job_type: Any) -> list[dict[str, Any]]:
    """Show the limits with their numbers in words, and the format or function of their keys."""
    return [
        {
            "name": each.name,
            "allows": each.limit.numbers.text,
            "key": getattr(each.limit.key, "__name__", "a function")
            if callable(each.limit.key)
            else each.limit.key,
        }
        for each in job_type.named_limits
    ]


def show_tags(job_type: Any) -> list[str]:
    """Show the tags in order."""
    return sorted(job_type.tags)
