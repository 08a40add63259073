"""Failures that have one cause in common, grouped by job type, class of the exception, and place.

The place is the last frame of the traceback that belongs to the application: frames of Horae, of
the standard library and of installed packages are where an error surfaces, not where it is fixed.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final

from horae.domain.jobs.job import JobId

_FRAME: Final = re.compile(
    r'^[ |]*File "(?P<path>[^"\n]+)", line (?P<line>\d+), in (?P<function>.+)$', re.MULTILINE
)
_OF_OTHERS: Final = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]"
    r"|[/\\]lib(?:64)?[/\\]python\d[^/\\]*[/\\]"
    r"|[/\\]horae[/\\](?:app\.py|(?:client|contrib|runtime|storage|types)[/\\])"
    r"|^<",
    re.IGNORECASE,
)
_CLASS: Final = re.compile(r"[A-Za-z_][\w.]*(?=:|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A failed attempt, or the end of a job that failed without one.

    `has_failed`: its job has failed for good, so it can be deleted or, once, retried;
    `was_retried`: it has been. `outcome`: that of the attempt; None without one. `traceback`: its
    end.
    """

    job_id: JobId
    type: str
    at: datetime
    has_failed: bool
    was_retried: bool
    outcome: str | None
    error: str | None
    traceback: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureGroup:
    """Failures of one job type with one exception class at one place."""

    key: str
    """A short name that stays the same as long as the three do."""
    type: str
    error_class: str | None
    place: str | None
    """The line of the latest failure, such as `shop/mail.py:41 in send`."""
    count: int
    """The number of failed attempts."""
    failed_jobs: Sequence[JobId]
    """The jobs whose last failure is here and that have failed for good, the newest first; so each
    failed job is in one group.
    """
    retryable: int
    """How many of these have not been retried."""
    first_at: datetime
    last_at: datetime
    sample: Failure
    """The latest failure."""


def group_failures(failures: Iterable[Failure]) -> list[FailureGroup]:
    """Return the groups, the largest first; of two equal ones the one that failed last."""
    found: defaultdict[str, list[Failure]] = defaultdict(list)
    last: dict[JobId, Failure] = {}
    for each in sorted(failures, key=lambda failure: failure.at):
        # Without the line: it moves with every change of the file.
        path, _, function = place_of(each.traceback) or ("", 0, "")
        kind = class_of(each.error) or each.outcome or ""
        named = f"{each.type}\0{kind}\0{path}\0{function}"
        found[sha256(named.encode()).hexdigest()[:12]].append(each)
        last[each.job_id] = each
    groups: list[FailureGroup] = []
    for key, group in found.items():
        sample = group[-1]
        place = place_of(sample.traceback)
        failed = [each for each in reversed(group) if each.has_failed and each is last[each.job_id]]
        groups.append(
            FailureGroup(
                key=key,
                type=sample.type,
                error_class=class_of(sample.error),
                place=None if place is None else f"{place[0]}:{place[1]} in {place[2]}",
                count=len(group),
                failed_jobs=[each.job_id for each in failed],
                retryable=sum(not each.was_retried for each in failed),
                first_at=group[0].at,
                last_at=sample.at,
                sample=sample,
            )
        )
    return sorted(groups, key=lambda each: (each.count, each.last_at), reverse=True)


def class_of(error: str | None) -> str | None:
    """Return the class that the text of an error begins with; None for other texts."""
    found = _CLASS.match(error or "")
    return None if found is None else found[0]


def place_of(traceback: str | None) -> tuple[str, int, str] | None:
    """Return file, line and function of the last frame of the application.

    Without one the last frame of all; None without any. Only the last of several tracebacks counts,
    which is that of the exception that ended the attempt.
    """
    *_, last = (traceback or "").rpartition("Traceback (most recent call last):")
    frames = list(_FRAME.finditer(last))
    if not frames:
        return None
    own = [frame for frame in frames if _OF_OTHERS.search(frame["path"]) is None]
    frame = (own or frames)[-1]
    parts = re.split(r"[/\\]", frame["path"])
    # Each deployment may have a folder of its own.
    return "/".join(parts[-2:]), int(frame["line"]), frame["function"].strip()
