"""Check-ins for the runs of schedules, sent by a thread that first reads the schedule."""

import os
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid5

from sentry_sdk.crons import capture_checkin

from horae.client.schedules import ScheduleView
from horae.contrib.sentry.monitors import config_of, slug_of
from horae.domain.jobs import Claim, JobState
from horae.guarded_log import guarded_log
from horae.runtime.bodies import FinishedRun
from horae.storage.engine import Threads

KNOWN_FOR: Final = 60.0
"""Seconds for which a schedule is not read again."""
_NAMESPACE: Final = UUID("7c4c1d5e-54ad-4a7e-9d0f-0f6f4f3c6b1e")

log = guarded_log("horae.sentry")


class _Monitor(NamedTuple):
    slug: str
    config: Mapping[str, Any] | None
    read_at: float


class CheckIns:
    """Tells Sentry when runs begin and how they end, in this order.

    The begin may be told by a child process and the end by its node, so a check-in has an id that
    both can compute. A begin that arrives late changes no check-in that has ended.
    """

    def __init__(self, read: Callable[[int], ScheduleView], margin: timedelta) -> None:
        """`read`: reads a schedule from the database."""
        self._read, self._margin = read, margin
        self._monitors: dict[int, _Monitor] = {}
        self._threads, self._pid = Threads(1, "horae-sentry"), os.getpid()

    def begin(self, claim: Claim) -> None:
        """Tell that a run begins."""
        self._submit(claim, "in_progress", None)

    def end(self, run: FinishedRun, *, settled: bool) -> None:
        """Tell how a run has ended, unless it will be tried again or goes on elsewhere."""
        settlement = run.settlement
        if settlement is None:
            if run.already and settled:
                self._submit(run.claim, "ok", None)
        elif settlement.state is JobState.CANCELLED:
            # It was ended on purpose; without an end Sentry would report that it takes too long.
            self._submit(run.claim, "ok", settlement.took)
        elif settled and settlement.state is not JobState.PENDING:
            status = "ok" if settlement.state is JobState.FINISHED else "error"
            self._submit(run.claim, status, settlement.took)

    def _submit(self, claim: Claim, status: str, took: float | None) -> None:
        if self._pid != os.getpid():  # the thread has stayed in the process that has forked
            self._threads, self._pid = Threads(1, "horae-sentry"), os.getpid()
        self._threads.submit(self._send, claim, status, took)

    def _send(self, claim: Claim, status: str, took: float | None) -> None:
        with log.guard("job %d has no check-in %r: %s", claim.id, status):
            assert claim.schedule_id is not None
            monitor = self._monitors.get(claim.schedule_id)
            if monitor is None or time.monotonic() - monitor.read_at > KNOWN_FOR:
                view = self._read(claim.schedule_id)
                config = config_of(view.rules, self._margin)
                monitor = _Monitor(slug_of(view.name), config, time.monotonic())
                self._monitors[claim.schedule_id] = monitor
            name = f"{monitor.slug} {claim.schedule_id} {claim.id} {claim.nominal_time}"
            capture_checkin(
                monitor_slug=monitor.slug,
                check_in_id=uuid5(_NAMESPACE, name).hex,
                status=status,
                duration=took,
                monitor_config=dict(monitor.config) if monitor.config else None,  # type: ignore[arg-type]
            )
