"""Ends jobs of a process and claims its next one in one statement, so that a job costs one commit
instead of two.

Only for jobs that finish without consequences, and only on PostgreSQL, where one statement can
change several tables.
"""

from collections.abc import Sequence
from typing import Any, Final, cast

from sqlalchemy import Connection, Select, select, true

from horae.domain.jobs.job import Claim, JobId, JobState, NodeId, Settlement
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.jobs.dispatching import CLAIM_SENT
from horae.storage.outcomes.settling import finished_as_json
from horae.storage.outcomes.settling_statements import FINISH


def _end_and_claim() -> Select[Any]:
    finish = cast("Select[Any]", FINISH.of(POSTGRESQL)[-1])
    ended = finish.subquery("ended")
    claimed = CLAIM_SENT.of(POSTGRESQL).cte("claimed")
    return select(*ended.c, *claimed.c).select_from(ended.outerjoin(claimed, true()))


END_AND_CLAIM: Final = _end_and_claim()


def may_be_joined(settlement: Settlement | None) -> bool:
    """Return whether `end_and_claim` may write this end: that of a job that no schedule and no
    group waits for.
    """
    return (
        settlement is not None
        and settlement.state is JobState.FINISHED
        and settlement.took is None
        and settlement.group_id is None
    )


def end_and_claim(
    connection: Connection,
    node: NodeId,
    ended: Sequence[Settlement],
    job_id: JobId,
    types: Sequence[str],
) -> tuple[bool, Claim | None]:
    """Finish jobs, and claim another one as `dispatching.claim_sent` does.

    Returns whether all of them were finished; if not, they are to be settled again, which finds
    those that were.
    """
    batch = finished_as_json(ended)
    parameters = {"batch": batch, "node": node, "job_id": job_id, "types": types}
    count, *claimed = connection.execute(END_AND_CLAIM, parameters).one()
    return count == len(ended), None if claimed[0] is None else Claim._make(claimed)
