"""A schedule: its states, the table of transitions between them, and the rules that decide its
times.

`Rules` holds everything that decides when a schedule runs, and nothing else: two schedules with
equal rules and an equal past have the same future. `plan.py` applies them.

States: a schedule is `executing` from its fire until its run has ended, and `terminating` once the
run was told to stop (by a policy, a time limit, a person or the end of its node) and has not
stopped. Pausing does not cancel: a schedule that is paused while it executes is disabled only when
its run ends (`LAST_END`). A disabled schedule can be run by hand, and is disabled again afterwards.
A schedule with `allow_all` is never `executing`: its runs do not block it, so it stays `idle`; its
active jobs are its runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Final, NewType, get_args

from horae.domain.backoff import Growth
from horae.domain.schedules.exclusion import excluded_spans
from horae.domain.schedules.trigger import IntervalTrigger, Trigger
from horae.domain.times.duration import LONGEST_DURATION
from horae.domain.times.interval import Interval
from horae.errors import InvalidRequest
from horae.quoting import quoted

ScheduleId = NewType("ScheduleId", int)
DeploymentId = NewType("DeploymentId", int)

DEFAULT_RETRY_PERIOD: Final = Interval.parse("5m")
"""The wait after the first failure of an interval, as in TimescaleDB."""
DEFAULT_CATCH_UP_LIMIT: Final = 100
"""Runs that may wait under `catch_up=all`."""
DEFAULT_CATCH_UP_WINDOW: Final = timedelta(days=7)
"""The age from which a time that passed is not caught up."""

_LARGEST_LIMIT: Final = 10_000
"""Runs that may wait; more would keep a schedule busy with the past."""


class ScheduleState(StrEnum):
    """The state of a schedule."""

    IDLE = "idle"
    EXECUTING = "executing"
    TERMINATING = "terminating"
    DISABLED = "disabled"


class ScheduleEvent(StrEnum):
    """An event in the life of a schedule.

    `STOP`: its run was told to stop. `REPEAT`: the run has stopped, and its job is tried again.
    `LAST_END`: the run has ended, and no other follows.
    """

    START = "start"
    STOP = "stop"
    REPEAT = "repeat"
    END = "end"
    LAST_END = "last_end"
    DISABLE = "disable"
    ENABLE = "enable"


NEXT_STATE: Final[Mapping[tuple[ScheduleState, ScheduleEvent], ScheduleState]] = {
    (ScheduleState.IDLE, ScheduleEvent.START): ScheduleState.EXECUTING,
    (ScheduleState.IDLE, ScheduleEvent.DISABLE): ScheduleState.DISABLED,
    (ScheduleState.EXECUTING, ScheduleEvent.STOP): ScheduleState.TERMINATING,
    (ScheduleState.EXECUTING, ScheduleEvent.END): ScheduleState.IDLE,
    (ScheduleState.EXECUTING, ScheduleEvent.LAST_END): ScheduleState.DISABLED,
    (ScheduleState.EXECUTING, ScheduleEvent.DISABLE): ScheduleState.EXECUTING,
    (ScheduleState.EXECUTING, ScheduleEvent.ENABLE): ScheduleState.EXECUTING,
    (ScheduleState.TERMINATING, ScheduleEvent.REPEAT): ScheduleState.EXECUTING,
    (ScheduleState.TERMINATING, ScheduleEvent.END): ScheduleState.IDLE,
    (ScheduleState.TERMINATING, ScheduleEvent.LAST_END): ScheduleState.DISABLED,
    (ScheduleState.TERMINATING, ScheduleEvent.DISABLE): ScheduleState.TERMINATING,
    (ScheduleState.TERMINATING, ScheduleEvent.ENABLE): ScheduleState.TERMINATING,
    (ScheduleState.DISABLED, ScheduleEvent.ENABLE): ScheduleState.IDLE,
    (ScheduleState.DISABLED, ScheduleEvent.START): ScheduleState.EXECUTING,  # by hand only
}


class Overlap(StrEnum):
    """What happens to a time that comes due while a run is executing."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    BUFFER_ALL = "buffer_all"
    CANCEL_OTHER = "cancel_other"
    TERMINATE_OTHER = "terminate_other"
    ALLOW_ALL = "allow_all"


class CatchUp(StrEnum):
    """What happens to times that passed while no node could run them."""

    LAST = "last"
    NONE = "none"
    ALL = "all"


class DisabledReason(StrEnum):
    """Why a schedule is disabled."""

    PAUSED = "paused"
    EXHAUSTED = "exhausted"
    RETRIES_USED_UP = "retries used up"
    DEPLOYMENT_GONE = "deployment gone"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """Everything that decides the times of a schedule. Raises `InvalidRequest`.

    `key` determines the jitter and must survive a redeployment, so it is made of module and name,
    not of an id. `catch_up_limit` bounds how many times may wait under `catch_up=all` or
    `overlap=buffer_all`. `max_retries` is the number of further tries after a failure: `max_retries
    + 1` failures in a row disable the schedule; with 0 the first failure does, with None none does.
    `retry_period` is 5 minutes for an interval; a cron schedule is retried only if one is given.
    `exclude` are the entries of the exclusion calendar (see `exclusion.py`), `calendar_days` the
    days that its calendar functions returned last.
    """

    key: str
    trigger: Trigger
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.LAST
    catch_up_limit: int = DEFAULT_CATCH_UP_LIMIT
    catch_up_window: timedelta = DEFAULT_CATCH_UP_WINDOW
    jitter: timedelta = timedelta(0)
    max_runtime: timedelta | None = None
    max_retries: int | None = None
    retry_period: Interval | None = None
    backoff: Growth = "exponential"
    exclude: tuple[str, ...] = ()
    calendar_days: tuple[date, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no schedule could follow."""
        _refuse_unless(bool(self.key), "key", self.key, "a text")
        # Plain texts are taken as well, but compared by identity they would be no member.
        object.__setattr__(self, "overlap", _member(Overlap, "overlap", self.overlap))
        object.__setattr__(self, "catch_up", _member(CatchUp, "catch_up", self.catch_up))
        limit, retries, runtime = self.catch_up_limit, self.max_retries, self.max_runtime
        _refuse_unless(
            1 <= limit <= _LARGEST_LIMIT, "catch_up_limit", limit, f"1 to {_LARGEST_LIMIT}"
        )
        _refuse_unless(
            _positive(self.catch_up_window), "catch_up_window", self.catch_up_window, _LENGTH
        )
        _refuse_unless(
            timedelta(0) <= self.jitter <= LONGEST_DURATION, "jitter", self.jitter, "zero or more"
        )
        _refuse_unless(runtime is None or _positive(runtime), "max_runtime", runtime, _LENGTH)
        _refuse_unless(
            retries is None or retries >= 0,
            "max_retries",
            retries,
            "0 or more, or None for no limit",
        )
        _refuse_unless(
            self.backoff in get_args(Growth), "backoff", self.backoff, ", ".join(get_args(Growth))
        )
        if self.exclude:
            excluded_spans(
                self.exclude, self.calendar_days, self.trigger.timezone
            )  # refuses what cannot be read
        self._refuse_policies_without_effect()

    @property
    def finish_trigger(self) -> IntervalTrigger | None:
        """Return the trigger if it counts from the finish of a run; None if the nominal times are
        known in advance.
        """
        return (
            self.trigger
            if isinstance(self.trigger, IntervalTrigger) and not self.trigger.fixed
            else None
        )

    @property
    def retry_after(self) -> Interval | None:
        """Return the wait after the first failure; None if only the trigger decides when to run
        again.
        """
        if isinstance(self.trigger, IntervalTrigger):
            return self.retry_period or DEFAULT_RETRY_PERIOD
        return self.retry_period

    def _refuse_policies_without_effect(self) -> None:
        if self.finish_trigger is None:
            return
        for name, value, default in (
            ("overlap", self.overlap, Overlap.SKIP),
            ("catch_up", self.catch_up, CatchUp.LAST),
        ):
            instead = (
                f"{default.value}: an interval counted from the finish has no times that could"
                " pass; or set fixed"
            )
            _refuse_unless(value == default, name, value.value, instead)


_LENGTH: Final = f"longer than zero, at most {LONGEST_DURATION.days} days"


def _positive(length: timedelta) -> bool:
    return timedelta(0) < length <= LONGEST_DURATION


def _member(choices: type[StrEnum], name: str, value: str) -> StrEnum:
    _refuse_unless(value in list(choices), name, value, ", ".join(choices))
    return choices(value)


# A condition
def _refuse_unless(allowed: bool, name: str, value: object, expected: str) -> None:  # noqa: FBT001
    if not allowed:
        shown = f"{value.total_seconds():g}s" if isinstance(value, timedelta) else quoted(value)
        raise InvalidRequest(f"{name} {shown}: expected {expected}")
