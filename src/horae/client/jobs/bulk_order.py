"""Which jobs the calls that change many jobs mean: as callers say it, and as it is stored."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, TypedDict, cast

from pydantic import AwareDatetime, BaseModel

from horae.client.jobs import filters
from horae.client.jobs.searching import search_for
from horae.domain.jobs import (
    EVERYBODY,
    MOST_IDS,
    BulkAction,
    JobId,
    JobState,
    Whose,
    dated,
    parse_query,
)
from horae.domain.names import foreign_id
from horae.domain.times import Duration
from horae.errors import InvalidRequest
from horae.storage.engine import Reads
from horae.storage.jobs import JobFilter
from horae.storage.jobs.search import Search
from horae.types import Registry


class BulkFilter(TypedDict, total=False):
    """Which jobs to change: those that meet every filter that is given.

    `states`, `types`, `queues`, `owner` and `schedule_id` are those of `Jobs.list`; `ids` names at
    most 5,000 jobs; `query` has terms such as `"error:timeout created:2026-11-01..2026-11-22"`;
    `timezone` is the zone of its days, UTC by default. Without any of them nothing is changed,
    unless `all` is True. `by`: who changes them, for the audit log. `technical`: whether the query
    searches error texts for developers, too.
    """

    states: Iterable[str] | None
    types: Collection[str] | None
    queues: Collection[str] | None
    owner: Whose
    schedule_id: int | None
    ids: Collection[int] | None
    query: str | None
    timezone: str | None
    all: bool
    by: str | None
    technical: bool


class Deletion(BulkFilter, total=False):
    """Which jobs to delete; `without_hooks`: without calling their `before_delete`."""

    without_hooks: bool


class Rescheduling(BulkFilter, total=False):
    """Which jobs to move, and the new time: `run_at`, or `delay` from now."""

    run_at: datetime | None
    delay: Duration | None


class BulkOrder(BaseModel):
    """What is to be done with which jobs."""

    action: BulkAction
    states: list[JobState] | None = None
    types: list[str] | None = None
    queues: list[str] | None = None
    owner: str | None = None
    schedule_id: int | None = None
    ids: list[JobId] | None = None
    query: str | None = None
    timezone: str | None = None
    technical: bool = True
    by: str | None = None
    run_at: AwareDatetime | None = None
    without_hooks: bool = False

    def filter_before(self, before: JobId | None) -> JobFilter:
        """Return the filter for jobs that are older than `before`."""
        return JobFilter(
            states=self.states,
            types=self.types,
            queues=self.queues,
            owner=self.owner,
            schedule_id=self.schedule_id,
            ids=self.ids,
            before=before,
        )

    def search(self, registry: Registry, reads: Reads, now: datetime | None) -> Search | None:
        """Return the search, with ages counted back from `now`. Raises `InvalidRequest`."""
        if self.query is None:
            return None
        parsed = parse_query(self.query, technical=self.technical, zone=self.timezone or "UTC")
        return search_for(parsed if now is None else dated(parsed, now, ages=True), registry, reads)


def bulk_order(action: BulkAction, which: BulkFilter, **more: Any) -> BulkOrder:
    """Check a filter. Raises `InvalidRequest`."""
    if unknown := which.keys() - BulkFilter.__annotations__.keys():
        raise InvalidRequest(
            f"there is no filter {min(unknown)!r}; there are"
            f" {', '.join(BulkFilter.__annotations__)}"
        )
    given = cast("dict[str, Any]", which)
    names = ("states", "types", "queues", "schedule_id", "ids", "query")
    named = (given.get(name) for name in names)
    is_filter = (
        any(each is not None for each in named) or which.get("owner", EVERYBODY) is not EVERYBODY
    )
    if not is_filter and which.get("all") is not True:
        raise InvalidRequest(
            f"{action}_many without a filter would {action} every job; pass a filter, or all=True"
        )
    states = filters.wanted_states(which.get("states"))
    if (query := which.get("query")) is not None:
        parse_query(query, zone=which.get("timezone") or "UTC")
    if (ids := filters.possible_ids(which.get("ids"))) is not None and len(ids) > MOST_IDS:
        raise InvalidRequest(f"there are {len(ids):,} ids; at most {MOST_IDS:,} are allowed")
    if (by := which.get("by")) is not None:
        foreign_id("by", by)
    return BulkOrder(
        action=action,
        states=None if states is None else sorted(states),
        types=filters.names_of("types", which.get("types")),
        queues=filters.names_of("queues", which.get("queues")),
        owner=filters.owner_of(which.get("owner", EVERYBODY)),
        schedule_id=filters.possible_id(which.get("schedule_id")),
        ids=ids,
        query=query,
        timezone=which.get("timezone"),
        technical=which.get("technical", True),
        by=by,
        **more,
    )
