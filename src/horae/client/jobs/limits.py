"""The limits of calls of `Jobs`, which protect the memory and the time of the caller."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLimits:
    """When a call is cut short or refused."""

    listed_bytes: int = 16 * 1024 * 1024
    """Bytes of JSON in one list of jobs; longer values are left out of it."""
    uncounted_jobs: int = 100_000
    """Jobs of one call that gets an iterator, which may have no end."""
    contention: timedelta = timedelta(seconds=3)
    """How long a call is tried again before `DatabaseBusy`; most transactions take milliseconds."""


USUAL: Final = JobLimits()
