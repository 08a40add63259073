"""A schedule: its states, the table of transitions between them, and the rules that decide its
times.

`Rules` holds everything that decides when a schedule runs, and nothing else: two schedules with
equal rules and an equal past have the same future. `plan.py` applies them. An option of a schedule
is declared there, as a field with its `RuleOption`; what callers give, what is stored, and the
options of the command line and of HTTP follow from it.

States: a schedule is `executing` from its fire until its run has ended, and `terminating` once the
run was told to stop (by a policy, a time limit, a person or the end of its node) and has not
stopped. Pausing does not cancel: a schedule that is paused while it executes is disabled only when
its run ends (`LAST_END`). A disabled schedule can be run by hand, and is disabled again afterwards.
A schedule with `allow_all` is never `executing`: its runs do not block it, so it stays `idle`; its
active jobs are its runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import date, timedelta
from enum import Enum, StrEnum, auto
from typing import Any, Final, get_args

from horae.domain.backoff import Growth
from horae.domain.schedules.exclusion import excluded_spans
from horae.domain.schedules.trigger import IntervalTrigger, Trigger
from horae.domain.times import LONGEST_DURATION, Interval
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.sentences import SentenceCode, between, one_of

DEFAULT_RETRY_PERIOD: Final = Interval.parse("5m")
"""The wait after the first failure of an interval, as in TimescaleDB."""
DEFAULT_CATCH_UP_WINDOW: Final = timedelta(days=7)
"""The age from which a missed time is not caught up, by default."""

_LARGEST_LIMIT: Final = 10_000
"""Upper bound of waiting runs; more would keep a schedule busy with the past."""


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
    # Only a caller can start a run of a disabled schedule.
    (ScheduleState.DISABLED, ScheduleEvent.START): ScheduleState.EXECUTING,
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


class ValueKind(Enum):
    """What an option takes, which decides how its value is read, stored, shown and documented."""

    CHOICE = auto()
    NUMBER = auto()
    RETRIES = auto()
    LENGTH = auto()
    INTERVAL = auto()
    EXCLUSIONS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOption:
    """An option of a schedule besides its trigger, with what all ways to give it need to know."""

    kind: ValueKind
    help: str  # the help text of the command line
    placeholder: str | None = None  # the name of the value in this help
    description: str | None = None  # the text in the schema of HTTP
    examples: tuple[Any, ...] = ()
    choices: Any = None
    may_be_none: bool = False


def _option(kind: ValueKind, text: str, **more: Any) -> Mapping[str, RuleOption]:
    """Return the metadata of a field that is an option; `text` is its help."""
    return {"option": RuleOption(kind=kind, help=text, **more)}


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
    overlap: Overlap = field(
        default=Overlap.SKIP,
        metadata=_option(
            ValueKind.CHOICE,
            "skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all.",
            placeholder="POLICY",
            choices=Overlap,
        ),
    )
    catch_up: CatchUp = field(
        default=CatchUp.LAST,
        metadata=_option(
            ValueKind.CHOICE,
            "Missed times to make up for: last, none or all.",
            placeholder="POLICY",
            choices=CatchUp,
        ),
    )
    catch_up_limit: int = field(
        default=100,
        metadata=_option(ValueKind.NUMBER, "Maximum number of missed times for --catch-up all."),
    )
    catch_up_window: timedelta = field(
        default=DEFAULT_CATCH_UP_WINDOW,
        metadata=_option(
            ValueKind.LENGTH,
            "Maximum age of a missed time that is made up for.",
            placeholder="LENGTH",
        ),
    )
    jitter: timedelta = field(
        default=timedelta(0),
        metadata=_option(
            ValueKind.LENGTH,
            "Delay starts by up to this, never past the next time.",
            placeholder="LENGTH",
        ),
    )
    max_runtime: timedelta | None = field(
        default=None,
        metadata=_option(ValueKind.LENGTH, "Time limit of a run.", placeholder="LENGTH"),
    )
    max_retries: int | None = field(
        default=None,
        metadata=_option(
            ValueKind.RETRIES,
            "Retries after a failure; one more failure disables the schedule.",
            description=(
                "Retries after a failure; one more failure in a row disables it. Null for no limit."
            ),
        ),
    )
    retry_period: Interval | None = field(
        default=None,
        metadata=_option(ValueKind.INTERVAL, "Delay of the first retry.", placeholder="LENGTH"),
    )
    backoff: Growth = field(
        default="exponential",
        metadata=_option(
            ValueKind.CHOICE,
            "Growth of the delay between retries.",
            placeholder="exponential|linear",
            choices=Growth,
        ),
    )
    exclude: tuple[str, ...] = field(
        default=(),
        metadata=_option(
            ValueKind.EXCLUSIONS,
            "Date or range to leave out, such as 2026-12-24..2026-12-26. Repeatable.",
            placeholder="DATE",
            description=(
                "Days on which it does not run, by the clock of its zone: dates, ranges, calendar"
                " functions."
            ),
            examples=(["2026-12-24..2026-12-26", "calendar:shop.holidays"],),
        ),
    )
    calendar_days: tuple[date, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no schedule could follow."""
        # Plain texts are taken as well, but compared by identity they would be no member.
        object.__setattr__(self, "overlap", _member(Overlap, "overlap", self.overlap))
        object.__setattr__(self, "catch_up", _member(CatchUp, "catch_up", self.catch_up))
        if not self.key:
            raise InvalidRequest(f"key {quoted(self.key)}: expected a text")
        if not 1 <= self.catch_up_limit <= _LARGEST_LIMIT:
            raise InvalidRequest(between("catch_up_limit", self.catch_up_limit, 1, _LARGEST_LIMIT))
        for name in ("catch_up_window", "max_runtime"):
            length = getattr(self, name)
            if length is not None and not timedelta(0) < length <= LONGEST_DURATION:
                raise InvalidRequest(
                    f"{name} {length.total_seconds():g}s: expected longer than zero, at most"
                    f" {LONGEST_DURATION.days} days"
                )
        if not timedelta(0) <= self.jitter <= LONGEST_DURATION:
            raise InvalidRequest(
                f"jitter {self.jitter.total_seconds():g}s: expected zero or more, at most"
                f" {LONGEST_DURATION.days} days"
            )
        if self.max_retries is not None and self.max_retries < 0:
            raise InvalidRequest(
                f"max_retries {self.max_retries}: expected 0 or more, or None for no limit",
                SentenceCode.VALUE_AT_LEAST,
                bound="0",
            )
        if self.backoff not in get_args(Growth):
            raise InvalidRequest(one_of("backoff", self.backoff, get_args(Growth)))
        if self.exclude:
            # This refuses what cannot be read.
            excluded_spans(self.exclude, self.calendar_days, self.trigger.timezone)
        if self.finish_trigger is None:
            return
        for name, value, default in (
            ("overlap", self.overlap, Overlap.SKIP),
            ("catch_up", self.catch_up, CatchUp.LAST),
        ):
            if value != default:
                raise InvalidRequest(
                    f"{name} {quoted(value.value)}: expected {default.value}: an interval"
                    " counted from the finish has no times that could pass; or set fixed",
                    SentenceCode.VALUE_NEEDS_FIXED,
                    expected=default.value,
                )

    @property
    def finish_trigger(self) -> IntervalTrigger | None:
        """Return the trigger if it counts from the finish of a run; otherwise None."""
        if isinstance(self.trigger, IntervalTrigger) and not self.trigger.fixed:
            return self.trigger
        return None

    @property
    def retry_after(self) -> Interval | None:
        """Return the wait after the first failure; None if only the trigger decides."""
        if isinstance(self.trigger, IntervalTrigger):
            return self.retry_period or DEFAULT_RETRY_PERIOD
        return self.retry_period


RULE_OPTIONS: Final[Mapping[str, RuleOption]] = {
    each.name: replace(each.metadata["option"], may_be_none=each.default is None)
    for each in fields(Rules)
    if "option" in each.metadata
}
"""The options of a schedule by name: the only place that lists them, besides `RuleKeywords`."""


def _member(choices: type[StrEnum], name: str, value: str) -> StrEnum:
    if value not in list(choices):
        raise InvalidRequest(one_of(name, value, choices))
    return choices(value)
