"""A schedule: its states, the only table of moves between them, and the rules that decide its times.

`Rules` holds everything that decides when a schedule runs, and nothing else: two schedules with
equal rules and an equal past have the same future. `plan.py` applies them.

States: a schedule is `executing` from its fire until its run has ended, and `terminating` once the
run was told to stop, by a policy, a time limit, a person or the end of its node, until it has.
To pause is not to cancel: a schedule that is paused while it executes is disabled only when its run
ends (`LAST_END`). A disabled schedule can be run by hand, and is disabled again afterwards. A
schedule with `allow_all` never executes: its runs do not keep it, so it stays `idle`, and its live
jobs say what is going on.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, NewType, get_args

from horae.domain.backoff import Growth
from horae.domain.schedules.trigger import IntervalTrigger, Trigger
from horae.domain.times.duration import LONGEST_DURATION
from horae.domain.times.interval import Interval
from horae.errors import InvalidRequest, quoted

ScheduleId = NewType("ScheduleId", int)
DeploymentId = NewType("DeploymentId", int)

DEFAULT_RETRY_PERIOD: Final = Interval.parse("5m")
DEFAULT_CATCH_UP_LIMIT: Final = 100
DEFAULT_CATCH_UP_WINDOW: Final = timedelta(days=7)

_LARGEST_LIMIT: Final = 10_000


class ScheduleState(StrEnum):
    """Where a schedule stands."""

    IDLE = "idle"
    EXECUTING = "executing"
    TERMINATING = "terminating"
    DISABLED = "disabled"


class ScheduleEvent(StrEnum):
    """What can happen to a schedule.

    `STOP`: its run was told to stop; `REPEAT`: it has stopped, and its job is to be tried again; `LAST_END`: it has
    ended, and no other is to follow.
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
    """What becomes of a time that comes due while a run is going on."""

    SKIP = "skip"
    BUFFER_ONE = "buffer_one"
    BUFFER_ALL = "buffer_all"
    CANCEL_OTHER = "cancel_other"
    TERMINATE_OTHER = "terminate_other"
    ALLOW_ALL = "allow_all"


class CatchUp(StrEnum):
    """What becomes of the times that passed while nothing could run them."""

    LAST = "last"
    NONE = "none"
    ALL = "all"


class DisabledReason(StrEnum):
    """Why a schedule does not run."""

    PAUSED = "paused"
    EXHAUSTED = "exhausted"
    RETRIES_USED_UP = "retries used up"
    DEPLOYMENT_GONE = "deployment gone"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """Everything that decides the times of a schedule. Raises `InvalidRequest`.

    `key` seeds the jitter and should outlive a redeployment: module and name, not an id.
    `catch_up_limit` bounds how many times may wait, by `catch_up=all` or by `overlap=buffer_all`.
    `max_retries` is the number of further tries after a failure: the run that fails `max_retries +
    1` times in a row disables the schedule; 0 does so at the first failure, None never.
    `retry_period` is 5 minutes for an interval; a cron schedule is retried only if one is given.
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

    def __post_init__(self) -> None:
        """Refuse what no schedule could follow."""
        _refuse_unless(bool(self.key), "key", self.key, "a text")
        # Plain texts are taken as well, but compared by identity they would be no member.
        object.__setattr__(self, "overlap", _member(Overlap, "overlap", self.overlap))
        object.__setattr__(self, "catch_up", _member(CatchUp, "catch_up", self.catch_up))
        limit, retries, runtime = self.catch_up_limit, self.max_retries, self.max_runtime
        _refuse_unless(1 <= limit <= _LARGEST_LIMIT, "catch_up_limit", limit, f"1 to {_LARGEST_LIMIT}")
        _refuse_unless(_positive(self.catch_up_window), "catch_up_window", self.catch_up_window, _LENGTH)
        _refuse_unless(timedelta(0) <= self.jitter <= LONGEST_DURATION, "jitter", self.jitter, "zero or more")
        _refuse_unless(runtime is None or _positive(runtime), "max_runtime", runtime, _LENGTH)
        _refuse_unless(retries is None or retries >= 0, "max_retries", retries, "0 or more, or None for no limit")
        _refuse_unless(self.backoff in get_args(Growth), "backoff", self.backoff, ", ".join(get_args(Growth)))
        self._refuse_policies_without_effect()

    @property
    def finish_trigger(self) -> IntervalTrigger | None:
        """The trigger, if the next time is known only when a run has ended; None if it has a timeline."""
        return self.trigger if isinstance(self.trigger, IntervalTrigger) and not self.trigger.fixed else None

    @property
    def retry_after(self) -> Interval | None:
        """The wait after a first failure; None if only the trigger says when to run again."""
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
            instead = f"{default.value}: an interval counted from the finish has no times that could pass; or set fixed"
            _refuse_unless(value == default, name, value.value, instead)


_LENGTH: Final = f"longer than zero, at most {LONGEST_DURATION.days} days"


def _positive(length: timedelta) -> bool:
    return timedelta(0) < length <= LONGEST_DURATION


def _member(choices: type[StrEnum], name: str, value: str) -> StrEnum:
    _refuse_unless(value in list(choices), name, value, ", ".join(choices))
    return choices(value)


def _refuse_unless(allowed: bool, name: str, value: object, expected: str) -> None:  # noqa: FBT001 - a condition
    if not allowed:
        raise InvalidRequest(f"{name} {quoted(value)}: expected {expected}")
