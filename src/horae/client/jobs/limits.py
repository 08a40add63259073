"""The limits of calls of `Jobs`, which protect the memory and the time of the caller."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """When a call is cut short or refused."""

    listed_bytes: int = 16 * 1024 * 1024
    """Bytes of JSON in one list of jobs; values that would exceed it are left out."""
    uncounted_jobs: int = 100_000
    """Maximum number of jobs from an iterator in one call, because an iterator may have no end."""
    contention: timedelta = timedelta(seconds=3)
    """How long a call is repeated before `DatabaseBusy`; most transactions take milliseconds."""


USUAL: Final = JobLimits()
