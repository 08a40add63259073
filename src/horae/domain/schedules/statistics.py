"""The run statistics of a schedule, kept by the crash protocol.

The start of a run is committed as a crash, and its end takes that back; so a crash needs no write
of its own: what is left after a restart was one. At every moment

    total_runs = total_successes + total_failures + total_crashes

An open run, whose body runs or waits for a slot, counts as a crash here; readers see it separately
(`without_open`). A run that ends before its body has begun (cancelled or expired while it waited),
or because its node stopped in an orderly way, does not count: only `last_finish` stays, from which
the next start is counted. A cancelled run counts as a failure in the totals, but in no streak: it
neither adds to `consecutive_failures` nor resets them, so that a schedule whose runs are cancelled
by design (`cancel_other`) is not disabled.

A success resets both streaks. A failure adds one to `consecutive_failures`, and moves the crashes
before it there, so that alternating failures and crashes are one streak. Only a success and
`resumed` make a streak shorter.

With `allow_all` several runs execute at once. Each end then needs the number of `others` that still
execute.

For SQL, with `crashes = greatest(consecutive_crashes - others, 1)`:

| end         | total                      | consecutive_failures | consecutive_crashes            |
|-------------|----------------------------|----------------------|--------------------------------|
| start       | runs + 1, crashes + 1      |                      | + 1                            |
| succeeded   | crashes - 1, successes + 1 | = 0                  | = others                       |
| failed      | crashes - 1, failures + 1  | + crashes            | = others                       |
| cancelled   | crashes - 1, failures + 1  | + crashes - 1        | = others                       |
| crashed     |                            |                      | = greatest(itself, 1 + others) |
| uncounted   | crashes - 1, runs - 1      |                      | = greatest(itself - 1, others) |
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Self

_NO_TIME: Final = timedelta(0)


class RunOutcome(StrEnum):
    """How a run of a schedule ended.

    A time limit is a failure. `UNCOUNTED`: before its body had begun, or because its node stopped
    in an orderly way.
    """

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    CRASHED = "crashed"
    UNCOUNTED = "uncounted"


@dataclass(frozen=True, kw_only=True, slots=True)
class Statistics:
    """The statistics of all runs of a schedule.

    `last_start` is when the last body began whose run has ended. `total_duration` adds up
    successful runs, `total_duration_failures` failed and cancelled ones; the duration of a crashed
    run is unknown. `last_finish` is the last end of any kind, for a crash the moment at which it
    was found.
    """

    last_start: datetime | None = None
    last_finish: datetime | None = None
    last_successful_finish: datetime | None = None
    last_run_success: bool | None = None
    total_runs: int = 0
    total_successes: int = 0
    total_failures: int = 0
    total_crashes: int = 0
    total_duration: timedelta = _NO_TIME
    total_duration_failures: timedelta = _NO_TIME
    consecutive_failures: int = 0
    consecutive_crashes: int = 0

    def streak(self, running: int = 0) -> int:
        """Count the failures and crashes since the last success; `running` runs are no crashes."""
        return self.consecutive_failures + max(self.consecutive_crashes - running, 0)

    def started(self) -> Self:
        """Count a run as crashed until its end."""
        return replace(
            self,
            total_runs=self.total_runs + 1,
            total_crashes=self.total_crashes + 1,
            consecutive_crashes=self.consecutive_crashes + 1,
        )

    def ended(
        self, outcome: RunOutcome, now: datetime, *, began: datetime, others: int = 0
    ) -> Self:
        """Count the end of a run whose body began at `began`, while `others` runs still execute."""
        if outcome is RunOutcome.UNCOUNTED:
            return replace(
                self,
                last_finish=now,
                total_runs=self.total_runs - 1,
                total_crashes=self.total_crashes - 1,
                # A resume may have cleared it.
                consecutive_crashes=max(self.consecutive_crashes - 1, others),
            )
        known = self.last_start
        # Of runs that overlap the later start counts, unless the clock was set back.
        start = began if known is None or known > now else max(known, began)
        ended = replace(
            self,
            last_start=start,
            last_finish=now,
            last_run_success=outcome is RunOutcome.SUCCEEDED,
        )
        if outcome is RunOutcome.CRASHED:
            # Its start has counted it; a resume may have cleared the streak.
            return replace(ended, consecutive_crashes=max(self.consecutive_crashes, 1 + others))
        took = max(now - began, _NO_TIME)  # a clock may step back
        ended = replace(ended, total_crashes=self.total_crashes - 1, consecutive_crashes=others)
        if outcome is RunOutcome.SUCCEEDED:
            return replace(
                ended,
                last_successful_finish=now,
                total_successes=self.total_successes + 1,
                total_duration=self.total_duration + took,
                consecutive_failures=0,
            )
        # Each run counts as a crash from its start on. Runs that are still going on are subtracted,
        # and this run as well if it was cancelled.
        crashes = max(self.consecutive_crashes - others, 1) - (outcome is RunOutcome.CANCELLED)
        return replace(
            ended,
            total_failures=self.total_failures + 1,
            total_duration_failures=self.total_duration_failures + took,
            consecutive_failures=self.consecutive_failures + crashes,
        )

    def resumed(self) -> Self:
        """Reset both streaks: resuming a schedule gives it all its retries again."""
        return replace(self, consecutive_failures=0, consecutive_crashes=0)

    def without_open(self, runs: int, began: datetime | None) -> Self:
        """Return the statistics of the ended runs, without the open `runs`; `began`: when the last
        open body began.
        """
        return replace(
            self,
            last_start=max(filter(None, (self.last_start, began)), default=None),
            total_runs=max(self.total_runs - runs, 0),
            total_crashes=max(self.total_crashes - runs, 0),
            consecutive_crashes=max(self.consecutive_crashes - runs, 0),
        )
