"""How the guards of limits, fair queues, snoozes and groups are removed in the simulation; see `ablations`."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final
from unittest import mock

from sqlalchemy import Connection, select

from horae.domain.jobs.job import AttemptOutcome
from horae.domain.limits import rate
from horae.domain.limits.choosing import Chooser
from horae.domain.limits.rate import state_now
from horae.runtime.settling.settler import Settler
from horae.storage.jobs.limit_tables import buckets
from horae.storage.jobs.limits import lane_claims, lane_statements
from horae.storage.outcomes import follow_ups, settling, settling_statements
from horae.storage.outcomes.follow_ups import FollowUps
from tests.simulation import world
from tests.simulation.removals import Patch, instead, statement, together


def _settle_without_snoozes(dialect: str) -> Any:
    with mock.patch.object(settling_statements, "UNCOUNTED", {AttemptOutcome.INTERRUPTED}):
        return settling_statements._settle(dialect)  # noqa: SLF001


counting_snoozes: Final[Patch] = statement(settling, "SETTLE", _settle_without_snoozes)
"""A snooze uses up an attempt."""
forgetting_turns: Final[Patch] = instead(
    Chooser, "_place", lambda _, lane: (-lane.priority, lane.place)
)
"""An owner who had a turn is as far in front as before."""


def _ahead(connection: Connection) -> Any:
    """Read the states of all rates, before the transaction that locks them."""
    rows = connection.execute(select(buckets.c.id, buckets.c.state)).all()
    world.current().running.process.put_off = [(row.id, row.state) for row in rows]
    return _real_ahead(connection)


def _lock_buckets(connection: Connection, locked: Any) -> Any:
    """Decide by the states that were read before."""
    under = _real_lock_buckets(connection, locked)
    for bucket_id, state in world.current().running.process.put_off:
        bucket = locked.buckets.get(bucket_id)
        if bucket is not None and bucket.rate is not None:
            bucket.rate = state_now(bucket.numbers, state, locked.now)
    return under


def _count_and_lock(connection: Connection, locked: Any) -> Any:
    """Count the running jobs of all limits before their buckets are locked."""
    running = dict(connection.execute(lane_statements.running_weights()).tuples())
    under = _real_lock_buckets(connection, locked)
    for bucket in locked.buckets.values():
        bucket.running = running.get(bucket.id, 0)
    return under


_real_ahead: Final = lane_claims.ahead
_real_lock_buckets: Final = lane_claims._lock_buckets  # noqa: SLF001
reading_rates_early: Final[Patch] = together(
    instead(lane_claims, "ahead", _ahead), instead(lane_claims, "_lock_buckets", _lock_buckets)
)
counting_before_locking: Final[Patch] = instead(lane_claims, "_lock_buckets", _count_and_lock)
rounding_down: Final[Patch] = instead(
    rate,
    "_rounded_up",
    lambda moment, numbers: moment - moment % max(1, (numbers.period or 1) // rate.WINDOW_STEPS),
)
"""A start leaves a sliding window up to a thousandth of the period too early."""


def _put_off(
    _: Connection, ended: Sequence[Any], finished: Mapping[int, int] = MappingProxyType({})
) -> FollowUps:
    """Put off to report ends of jobs to those that wait for them."""
    if ended or finished:
        world.current().running.process.put_off.append((ended, finished))
    return FollowUps()


def _commit_and_report(self: Settler, batch: Any) -> Any:
    """Commit results, and report them in transactions of their own."""
    settled = _real_commit(self, batch)
    process = world.current().running.process
    later, process.put_off = process.put_off, []
    for ended in later:
        self._environment.database.transact(_real_report, *ended)
    return settled


_real_report: Final = follow_ups.report
_real_commit: Final = Settler._commit  # noqa: SLF001
reporting_after_commit: Final[Patch] = together(
    instead(follow_ups, "report", _put_off), instead(Settler, "_commit", _commit_and_report)
)
