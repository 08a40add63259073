"""The failures of a period in groups that have one cause, and what is new among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from horae.client.jobs import BulkFilter
from horae.domain.jobs import (
    FailureGroup,
    Field,
    JobState,
    group_failures,
    written_term,
)
from horae.domain.times import Duration, parse_duration
from horae.errors import InvalidRequest, NotFound
from horae.quoting import did_you_mean, quoted
from horae.sentences import SentenceCode
from horae.storage.engine import Reads, read_clock
from horae.storage.operations import RecentDeployment, failures

LONGEST_PERIOD: Final = timedelta(days=90)
LATEST_DEPLOYMENT: Final = "latest"
MOST_GROUPS: Final = 100
"""Maximum number of groups that are returned, the largest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenGroup(FailureGroup):
    """A group of failures.

    `new_since`: the deployment after which the first of them happened. `query`: the search for the
    jobs that failed for good with this class of exception.
    """

    new_since: RecentDeployment | None
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReport:
    """The groups of failures since a moment, the largest first.

    `complete`: no failure and no group was left out. `deployment`: the one since which failures
    are counted, if one was chosen. `deployments`: those of the last 90 days, the newest first.
    """

    since: datetime
    complete: bool
    groups: Sequence[SeenGroup]
    deployment: RecentDeployment | None
    deployments: Sequence[RecentDeployment]


def failures_since(
    reads: Reads,
    period: Duration,
    job_type: str | None,
    *,
    deployment: str | None,
    only_new: bool,
) -> FailureReport:
    """Return the failures of the last `period`, of one job type or of all.

    A job counts with each failed attempt, also if it was retried. With the key of a `deployment`,
    or `latest`, failures count since then, and those are new that did not happen in the `period`
    before it. `only_new` leaves out the groups that are not new. Raises `InvalidRequest` for a
    period that is not positive or longer than 90 days, and `NotFound` for an unknown deployment.
    """
    length = parse_duration("since", period)
    if not timedelta() < length <= LONGEST_PERIOD:
        raise InvalidRequest(
            f"since: expected more than zero and at most {LONGEST_PERIOD.days} d",
            SentenceCode.VALUE_LENGTH,
            days=LONGEST_PERIOD.days,
        )
    deployed = reads.autocommit(failures.deployed, LONGEST_PERIOD.total_seconds())
    chosen: RecentDeployment | None = None
    if deployment is not None:
        chosen = next(
            (each for each in deployed if deployment in (each.key, LATEST_DEPLOYMENT)), None
        )
        if chosen is None:
            raise NotFound(
                f"there is no deployment {quoted(deployment)} in the last {LONGEST_PERIOD.days}"
                f" days{did_you_mean(deployment, [each.key for each in deployed])};"
                " `horae deployments` lists them",
                SentenceCode.DEPLOYMENT_MISSING,
                deployment=deployment,
            )
        now = reads.autocommit(read_clock)
        length = min(now - chosen.at + length, LONGEST_PERIOD)
    read = reads.autocommit(failures.read, length.total_seconds())
    found = [each for each in read.found if job_type is None or each.type == job_type]
    since = read.since if chosen is None else max(chosen.at, read.since)
    groups = group_failures(each for each in found if each.at >= since)
    if chosen is None:
        recent = [each for each in deployed if each.at > read.since]
        news = {
            group.key: next((each for each in recent if each.at <= group.first_at), None)
            for group in groups
        }
    else:
        known = {group.key for group in group_failures(each for each in found if each.at < since)}
        news = {group.key: None if group.key in known else chosen for group in groups}
    seen = [
        SeenGroup(
            **{name: getattr(group, name) for name in FailureGroup.__dataclass_fields__},
            # Without all failures it is not known what came before the first of them.
            new_since=news[group.key] if read.complete else None,
            query=query_of(group, since),
        )
        for group in groups
    ]
    listed = [group for group in seen if group.new_since is not None] if only_new else seen
    return FailureReport(
        since=since,
        complete=read.complete and len(listed) <= MOST_GROUPS,
        groups=listed[:MOST_GROUPS],
        deployment=chosen,
        deployments=deployed,
    )


def query_of(group: FailureGroup, since: datetime) -> str:
    """Return the search for the jobs of a group that failed for good, but from any place."""
    terms = [written_term(Field.TYPE, group.type), written_term(Field.STATE, JobState.FAILED)]
    if group.error_class is not None:
        terms.append(written_term(Field.ERROR, group.error_class))
    start = since.astimezone(UTC).replace(microsecond=0)
    return " ".join([*terms, f"{Field.FINISHED}:{start.isoformat()}.."])


def failures_to_change(group: FailureGroup) -> BulkFilter:
    """Return the filter of a bulk change for the jobs of a group that have failed for good."""
    return BulkFilter(ids=group.failed_jobs, types=[group.type], states=[JobState.FAILED])
