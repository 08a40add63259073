"""The failures of a period in groups that have one cause, and what is new among them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from horae.client.jobs import BulkFilter
from horae.domain.jobs import FailureGroup, JobState, group_failures
from horae.domain.times import Duration, parse_duration
from horae.errors import InvalidRequest
from horae.storage.engine import Reads
from horae.storage.operations import RecentDeployment, failures

DEFAULT_PERIOD: Final = timedelta(hours=24)
LONGEST_PERIOD: Final = timedelta(days=90)
MOST_GROUPS: Final = 100
"""Maximum number of groups that are returned, the largest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenGroup(FailureGroup):
    """A group of failures; `new_since`: the deployment after which the first of them happened."""

    new_since: RecentDeployment | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReport:
    """The groups of failures since a moment, the largest first.

    `complete`: no failed job and no group was left out.
    """

    since: datetime
    complete: bool
    groups: Sequence[SeenGroup]


def failures_since(
    reads: Reads, period: Duration = DEFAULT_PERIOD, job_type: str | None = None
) -> FailureReport:
    """Return the failures of the last `period`, of one job type or of all.

    A job that failed counts with each failed attempt, and so does a job that was retried, as long
    as it is among the newest few thousand. Raises `InvalidRequest` for a period that is not
    positive or longer than 90 days.
    """
    length = parse_duration("since", period)
    if not timedelta() < length <= LONGEST_PERIOD:
        raise InvalidRequest(f"since: expected more than zero and at most {LONGEST_PERIOD.days} d")
    seconds = length.total_seconds()
    read = reads.autocommit(failures.read, seconds)
    groups = group_failures(
        each for each in read.found if job_type is None or each.type == job_type
    )
    deployed = reads.autocommit(failures.deployed, seconds)
    return FailureReport(
        since=read.since,
        complete=read.complete and len(groups) <= MOST_GROUPS,
        groups=list(_with_news(groups[:MOST_GROUPS], deployed, complete=read.complete)),
    )


def failures_to_change(group: FailureGroup) -> BulkFilter:
    """Return the filter of a bulk change for the jobs of a group that have failed for good."""
    return BulkFilter(ids=group.failed_jobs, types=[group.type], states=[JobState.FAILED])


def _with_news(
    groups: Sequence[FailureGroup], deployed: Sequence[RecentDeployment], *, complete: bool
) -> Iterator[SeenGroup]:
    """Add the last deployment before the first failure, if what came before it is known."""
    for group in groups:
        before = (each for each in deployed if each.at <= group.first_at) if complete else iter(())
        yield SeenGroup(
            **{name: getattr(group, name) for name in FailureGroup.__dataclass_fields__},
            new_since=next(before, None),
        )
