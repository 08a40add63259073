"""Some of the pending jobs with their parameters, to see whether they still fit their types."""

from typing import Final, NamedTuple

from sqlalchemy import Connection, Text, bindparam, cast, func, or_, select, union_all

from horae.domain.jobs import JobId
from horae.storage.jobs.tables import IS_READY, IS_SENT, IS_WAITING, jobs, ready_order

LONGEST: Final = 10_000
"""Length of the parameters, as text, above which a job is left out: a sample has 10 MB at most."""


class WaitingJob(NamedTuple):
    """A pending job; `params` is JSON text."""

    id: JobId
    type: str
    params: str | None


_params = cast(jobs.c.params, Text())
_pending = union_all(
    *(
        # The orders are those of the indexes, which are then read no further than needed.
        select(
            select(jobs.c.id).where(part).order_by(*order).limit(bindparam("limit")).subquery().c.id
        )
        for part, order in (
            (IS_READY, ready_order),
            (IS_SENT, (jobs.c.sent_at, jobs.c.id)),
            (IS_WAITING, (jobs.c.waits_for, jobs.c.run_at, jobs.c.id)),
        )
    )
).subquery()
SAMPLE: Final = (
    select(jobs.c.id, jobs.c.type, _params.label("params"))
    .where(
        jobs.c.id.in_(select(_pending.c.id).limit(bindparam("limit"))),
        or_(_params.is_(None), func.length(_params) <= LONGEST),
    )
    .order_by(jobs.c.id)
)


def sample_of_waiting(connection: Connection, limit: int = 1_000) -> list[WaitingJob]:
    """Return pending jobs, at most `limit`, by id."""
    return [WaitingJob(*row) for row in connection.execute(SAMPLE, {"limit": limit})]
