"""What makes a schedule due: a cron expression or an interval.

A trigger is stored as three texts: kind, text and time zone, from which `parse_trigger` restores an
equal value. Options that differ from the default follow the text after a semicolon:

- `cron`: `0 3 * * *`, `0 3 * * *; dst_gap=skip; dst_fold=both`
- `interval`: `10m`, `1 day; fixed`, `1 day; fixed; initial_start=2026-01-01T03:00:00+00:00`
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, ClassVar, Final, Literal, TypeAlias

from horae.domain.cron import CronExpression
from horae.domain.times import Grid, Interval, load_zone
from horae.errors import InvalidRequest
from horae.quoting import quoted

TriggerKind: TypeAlias = Literal["cron", "interval"]

_SEPARATOR: Final = ";"

# Where a grid without an initial start begins: midnight, on the first of a month and of a week.
_FIRST_OF_MONTH: Final = datetime.combine(date(2000, 1, 1), time())  # by the clock of the zone
_MONDAY: Final = datetime.combine(date(2000, 1, 3), time())


@dataclass(frozen=True, slots=True)
class CronTrigger:
    """Due whenever the expression fires."""

    kind: ClassVar[TriggerKind] = "cron"
    options: ClassVar = ("dst_gap", "dst_fold")
    """The names of its options, besides the zone."""

    expression: CronExpression

    @property
    def text(self) -> str:
        """The expression, and the policies for daylight saving that are not the default."""
        expression = self.expression
        options = {
            "dst_gap": None if expression.dst_gap == "shift" else expression.dst_gap,
            "dst_fold": None if expression.dst_fold == "first" else expression.dst_fold,
        }
        return _join(expression.text, options)

    @property
    def timezone(self) -> str:
        """IANA name of the zone whose wall clock the expression reads."""
        return self.expression.timezone


@dataclass(frozen=True, slots=True)
class IntervalTrigger:
    """Due an interval after the last finish; with `fixed`, at the points of a grid.

    `initial_start` is the earliest first run, and the anchor of the grid. A grid without one is
    anchored at a midnight of the zone, so that `1h` is the full hour, `1 day` midnight, `1 week`
    Monday and `1 month` the first. Raises `InvalidRequest` for an unknown zone or a naive moment.
    """

    kind: ClassVar[TriggerKind] = "interval"
    options: ClassVar = ("fixed", "initial_start")
    """The names of its options, besides the zone."""

    interval: Interval
    fixed: bool = False
    initial_start: datetime | None = None
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        """Refuse an unknown zone and a start without a zone."""
        load_zone(self.timezone)
        if self.initial_start is not None and self.initial_start.utcoffset() is None:
            raise InvalidRequest(
                f"initial_start {quoted(self.initial_start)}: expected a datetime with a time zone"
            )

    @property
    def text(self) -> str:
        """The interval and its options."""
        start = self.initial_start
        options = {
            "fixed": "" if self.fixed else None,
            "initial_start": None if start is None else start.astimezone(UTC).isoformat(),
        }
        return _join(str(self.interval), options)

    @property
    def grid(self) -> Grid:
        """The points of a fixed trigger."""
        if self.initial_start is not None:
            return Grid(self.interval, self.initial_start, self.timezone)
        midnight = _FIRST_OF_MONTH if self.interval.months else _MONDAY
        return Grid(self.interval, midnight.replace(tzinfo=load_zone(self.timezone)), self.timezone)


Trigger: TypeAlias = CronTrigger | IntervalTrigger


def parse_trigger(kind: str, text: str, timezone: str = "UTC") -> Trigger:
    """Parse a stored trigger. Raises `InvalidRequest` or a subclass."""
    body, *parts = (part.strip() for part in text.split(_SEPARATOR))
    options = dict[str, Any]()
    for part in parts:
        name, equals, value = part.partition("=")
        if (name == "fixed") == bool(equals):  # the only one that has no value
            raise InvalidRequest(f"trigger {quoted(text)}: cannot read {quoted(part)}")
        options[name] = value
    match kind:
        case "cron":
            _refuse_others(text, options, CronTrigger.options)
            return CronTrigger(CronExpression.parse(body, timezone=timezone, **options))
        case "interval":
            _refuse_others(text, options, IntervalTrigger.options)
            start, given = None, options.get("initial_start")
            try:
                start = None if given is None else datetime.fromisoformat(given)
            except ValueError as error:
                raise InvalidRequest(
                    f"trigger {quoted(text)}: {quoted(given)} is no moment, expected ISO 8601"
                ) from error
            return IntervalTrigger(Interval.parse(body), "fixed" in options, start, timezone)
        case _:
            raise InvalidRequest(f"trigger kind {quoted(kind)}: expected cron or interval")


def _join(body: str, options: Mapping[str, str | None]) -> str:
    """Append the options that are set; one without a value is its name alone."""
    written = [
        f"{name}={value}" if value else name for name, value in options.items() if value is not None
    ]
    return f"{_SEPARATOR} ".join([body, *written])


def _refuse_others(text: str, options: Mapping[str, str], known: tuple[str, ...]) -> None:
    if unknown := options.keys() - set(known):
        names = " and ".join(sorted(unknown))
        raise InvalidRequest(
            f"trigger {quoted(text)}: {names} is unknown, expected {' or '.join(known)}"
        )
