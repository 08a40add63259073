"""The methods of `Jobs` that change many jobs: each creates a job to do so, or a preview."""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Final, Literal, TypedDict, cast, overload

from typing_extensions import Unpack

from horae.client.changes import LoggedChange, recorded
from horae.client.jobs import filters
from horae.client.jobs.bulk_job import BulkOrder
from horae.client.jobs.creating import create
from horae.client.jobs.creating.new_job import new_job
from horae.client.jobs.filters import owner_of
from horae.client.jobs.methods.base import WORK, JobsBase, is_new
from horae.domain.jobs import BULK_TYPE, EVERYBODY, BulkAction, BulkPreview, Job, Whose, parse_query
from horae.domain.names import foreign_id
from horae.domain.times import Duration
from horae.errors import InvalidRequest
from horae.storage.jobs import JobFilter, reading
from horae.storage.jobs.search import bulk, searching
from horae.types.options import StartOptions

SHOWN: Final = 10
"""Number of jobs that a preview shows."""
PREVIEW_TIME: Final = 5.0
"""Maximum number of seconds for which a preview counts."""


class BulkFilter(TypedDict, total=False):
    """Which jobs to change: those that meet every filter that is given.

    `states`, `types`, `queues`, `owner` and `schedule_id` are those of `Jobs.list`; `query` has
    terms such as `"error:timeout created:2026-11-01..2026-11-22"`. Without any of them nothing is
    changed, unless `all` is True. `by`: who changes them, for the audit log. `technical`: whether
    the query searches error texts for developers, too.
    """

    states: Iterable[str] | None
    types: Collection[str] | None
    queues: Collection[str] | None
    owner: Whose
    schedule_id: int | None
    query: str | None
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


class ChangesManyJobs(JobsBase):
    """The methods that change many jobs.

    Each returns the job that makes the changes, or with `preview=True` what it would change. The
    job shows its progress and can be cancelled; its result has the counts. It changes jobs that
    were created before it, the newest first.
    """

    @overload
    def cancel_many(
        self, *, preview: Literal[True], **which: Unpack[BulkFilter]
    ) -> BulkPreview: ...
    @overload
    def cancel_many(
        self, *, preview: Literal[False] = False, **which: Unpack[BulkFilter]
    ) -> Job: ...
    def cancel_many(
        self, *, preview: bool = False, **which: Unpack[BulkFilter]
    ) -> Job | BulkPreview:
        """Cancel the pending and started jobs that meet the filter.

        Raises `InvalidRequest`, also for no filter.
        """
        return self._change_many(_order(BulkAction.CANCEL, which), preview=preview)

    @overload
    def retry_many(self, *, preview: Literal[True], **which: Unpack[BulkFilter]) -> BulkPreview: ...
    @overload
    def retry_many(
        self, *, preview: Literal[False] = False, **which: Unpack[BulkFilter]
    ) -> Job: ...
    def retry_many(
        self, *, preview: bool = False, **which: Unpack[BulkFilter]
    ) -> Job | BulkPreview:
        """Retry the failed and cancelled jobs that meet the filter and were not retried already."""
        return self._change_many(_order(BulkAction.RETRY, which), preview=preview)

    @overload
    def delete_many(self, *, preview: Literal[True], **which: Unpack[Deletion]) -> BulkPreview: ...
    @overload
    def delete_many(self, *, preview: Literal[False] = False, **which: Unpack[Deletion]) -> Job: ...
    def delete_many(self, *, preview: bool = False, **which: Unpack[Deletion]) -> Job | BulkPreview:
        """Delete the ended jobs that meet the filter, each after its `before_delete`."""
        without_hooks = which.pop("without_hooks", False)
        return self._change_many(
            _order(BulkAction.DELETE, which, without_hooks=without_hooks), preview=preview
        )

    @overload
    def reschedule_many(
        self, *, preview: Literal[True], **which: Unpack[Rescheduling]
    ) -> BulkPreview: ...
    @overload
    def reschedule_many(
        self, *, preview: Literal[False] = False, **which: Unpack[Rescheduling]
    ) -> Job: ...
    def reschedule_many(
        self, *, preview: bool = False, **which: Unpack[Rescheduling]
    ) -> Job | BulkPreview:
        """Make all pending jobs that meet the filter due at `run_at`, or at `delay` from now."""
        run_at, delay = which.pop("run_at", None), which.pop("delay", None)
        if (run_at is None) == (delay is None):
            raise InvalidRequest("name the new time of the jobs: either run_at or delay")
        given = StartOptions(run_at=run_at, delay=delay)
        when = given.run_at or self._database.autocommit(
            searching.moment_in, given.delay_seconds or 0.0
        )
        return self._change_many(_order(BulkAction.RESCHEDULE, which, run_at=when), preview=preview)

    def _change_many(self, order: BulkOrder, *, preview: bool) -> Job | BulkPreview:
        search = order.search(self._registry, None)
        if preview:
            return self._preview(order)
        del search  # only checked here: the job searches itself
        kind = self._registry.get(BULK_TYPE)
        values = order.model_dump(mode="json", exclude_none=True)
        new = new_job(kind, StartOptions(owner=order.owner), {"order": values})
        shown = {
            name: value
            for name, value in values.items()
            if name not in ("action", "by", "technical")
        }
        change = LoggedChange(
            f"jobs.{order.action}_many",
            "jobs",
            after=lambda _, created: {"job": created[0].id, **shown},
            actor=order.by or order.owner,
        )
        job, _ = self._database.transact(recorded(create, change, changed=is_new), new)
        self._wakeup.send(WORK)
        return job

    def _preview(self, order: BulkOrder) -> BulkPreview:
        search, also = order.search(self._registry, None), bulk.CHANGEABLE[order.action]
        wanted = order.wanted(None)
        count, complete = self._database.autocommit(
            searching.count, wanted, search, seconds=PREVIEW_TIME, also=also
        )
        found = self._database.autocommit(
            searching.find, wanted, search, limit=SHOWN, seconds=PREVIEW_TIME, also=also
        )
        shown = JobFilter(ids=found.ids, limit=None, most_bytes=self.limits.listed_bytes)
        return BulkPreview(count, complete, self._database.autocommit(reading.page, shown))


def _order(action: BulkAction, which: BulkFilter, **more: Any) -> BulkOrder:
    """Check a filter. Raises `InvalidRequest`."""
    if unknown := which.keys() - BulkFilter.__annotations__.keys():
        raise InvalidRequest(
            f"there is no filter {min(unknown)!r}; there are"
            f" {', '.join(BulkFilter.__annotations__)}"
        )
    if is_empty(which) and which.get("all") is not True:
        raise InvalidRequest(
            f"{action}_many without a filter would {action} every job; pass a filter, or all=True"
        )
    states = filters.wanted_states(which.get("states"))
    if (query := which.get("query")) is not None:
        parse_query(query)
    if (by := which.get("by")) is not None:
        foreign_id("by", by)
    return BulkOrder(
        action=action,
        states=None if states is None else sorted(states),
        types=filters.names_of("types", which.get("types")),
        queues=filters.names_of("queues", which.get("queues")),
        owner=owner_of(which.get("owner", EVERYBODY)),
        schedule_id=filters.possible_id(which.get("schedule_id")),
        query=query,
        technical=which.get("technical", True),
        by=by,
        **more,
    )


def is_empty(which: BulkFilter) -> bool:
    """Return whether a filter excludes no job."""
    given = cast("dict[str, Any]", which)
    named = (given.get(name) for name in ("states", "types", "queues", "schedule_id", "query"))
    return all(each is None for each in named) and given.get("owner", EVERYBODY) is EVERYBODY
