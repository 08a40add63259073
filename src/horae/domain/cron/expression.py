"""A cron expression with its zone: parsed once, then asked for the next fire."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from functools import partial
from typing import Final, Self, get_args

from typing_extensions import override

from horae.domain.cron.fields import FIELD_RANGES, CronField
from horae.domain.cron.fires import EARLIEST, count_fires, first_fire
from horae.domain.cron.parsing import as_written, parse_fields, split_expression
from horae.domain.cron.pattern import WallPattern
from horae.domain.cron.refusals import never_fires, never_fires_again, with_line
from horae.domain.cron.wall_clock import DstFold, DstGap, WallClock
from horae.domain.times import DAY, EPOCH, load_zone
from horae.errors import CronSyntaxError, InvalidRequest
from horae.quoting import quoted

_COUNT_LIMIT: Final = 100_000

# One for each field, and one for the line as a whole.
_MOST_MISTAKES: Final = len(FIELD_RANGES) + 1

# A clock on the wall shows no time of a gap, and shows the times of a fold twice.
_AS_ON_THE_WALL: Final = ("skip", "both")


@dataclass(frozen=True, slots=True)
class CronExpression:
    """When a cron schedule fires. `str()` gives the normalised text.

    Five fields are minute, hour, day of month, month and day of week; six have the second before
    them, seven the year (1970 to 2099) after. Equal texts in equal zones with equal policies are
    equal values.
    """

    text: str
    timezone: str
    dst_gap: DstGap
    dst_fold: DstFold
    fields: tuple[CronField, ...] = field(repr=False, compare=False)
    follows_wall_clock: bool = field(repr=False, compare=False)
    """Whether a star in second, minute or hour makes it fire whenever the wall clock matches."""
    _pattern: WallPattern = field(repr=False, compare=False)
    _clock: WallClock = field(repr=False, compare=False)
    _tzinfo: tzinfo = field(repr=False, compare=False)

    @classmethod
    def parse(
        cls,
        text: str,
        *,
        timezone: str = "UTC",
        dst_gap: DstGap = "shift",
        dst_fold: DstFold = "first",
    ) -> Self:
        """Read an expression; `timezone` is an IANA name.

        `dst_gap` decides about a time that the zone skips in spring: "shift" fires at the first
        moment after the gap, "skip" does not fire. `dst_fold` decides in which pass a time fires
        that occurs twice in autumn. Neither has an effect on an expression with a star in its
        second, minute or hour, which follows the wall clock (Debian's cron).

        Raises `CronSyntaxError` for an expression that cannot be read or can never fire, with the
        whole expression to write where one means the same, and `InvalidRequest` for an unknown zone
        or policy.
        """
        parse = partial(cls._parse, timezone=timezone, dst_gap=dst_gap, dst_fold=dst_fold)
        try:
            return parse(text)
        except CronSyntaxError as error:
            raise with_line(error, _accepted_line(error, parse)) from None

    @classmethod
    def _parse(cls, text: str, *, timezone: str, dst_gap: DstGap, dst_fold: DstFold) -> Self:
        zone = load_zone(timezone)
        _refuse_unknown("dst_gap", dst_gap, get_args(DstGap))
        _refuse_unknown("dst_fold", dst_fold, get_args(DstFold))
        written = split_expression(str(text))  # None is refused like any other text
        fields = parse_fields(written)
        follows = any(part.has_star for part in fields[:3])
        expression = cls(
            text=" ".join(part.text for part in as_written(fields, len(written))),
            timezone=timezone,
            dst_gap=dst_gap,
            dst_fold=dst_fold,
            fields=fields,
            follows_wall_clock=follows,
            _pattern=WallPattern.of(fields),
            _clock=WallClock(timezone, *(_AS_ON_THE_WALL if follows else (dst_gap, dst_fold))),
            _tzinfo=zone,
        )
        if expression._first_from(EARLIEST) is None:
            raise never_fires(expression.text)
        return expression

    def next_after(self, moment: datetime, *, inclusive: bool = False) -> datetime | None:
        """Find the first fire after an aware moment, or also at it; None when the years are over.

        The answer is in the expression's zone. Raises `InvalidRequest` for a naive moment.
        """
        fire = self._first_from(_first_second(moment, inclusive=inclusive))
        return None if fire is None else self._local(fire)

    def upcoming(self, moment: datetime, count: int, *, inclusive: bool = False) -> list[datetime]:
        """List the next `count` fires, fewer when the years are over."""
        if not 0 <= count <= _COUNT_LIMIT:
            raise InvalidRequest(f"count {count}: expected 0 to {_COUNT_LIMIT}")
        fires: list[datetime] = []
        earliest = _first_second(moment, inclusive=inclusive)
        while len(fires) < count and (fire := self._first_from(earliest)) is not None:
            fires.append(self._local(fire))
            earliest = fire + 1
        return fires

    def count(self, after: datetime, until: datetime) -> int:
        """Count the fires with `after < fire <= until` by arithmetic; both moments are aware."""
        first, end = _first_second(after, inclusive=False), _first_second(until, inclusive=False)
        return count_fires(self._pattern, self._clock, first, end)

    def refuse_if_over(self, now: datetime) -> None:
        """Raise `CronSyntaxError` if the last time of the expression is before `now`."""
        if self.next_after(now) is None:
            raise never_fires_again(self.text)

    @override
    def __str__(self) -> str:
        return self.text

    def _first_from(self, earliest: int) -> int | None:
        return first_fire(self._pattern, self._clock, earliest)

    def _local(self, instant: int) -> datetime:
        return datetime.fromtimestamp(instant, self._tzinfo)


def _accepted_line(error: CronSyntaxError, parse: Callable[[str], CronExpression]) -> str | None:
    """Mend one mistake after the other; None unless that ends in a line that can be read."""
    for _ in range(_MOST_MISTAKES):
        line = error.instead
        if line is None:
            return None
        try:
            return str(parse(line))
        except CronSyntaxError as another:
            error = another
    return None


def _first_second(moment: datetime, *, inclusive: bool) -> int:
    """Return the first whole second since 1970 that may be an answer; fires have no fraction."""
    try:
        since = moment - EPOCH
    except TypeError as error:
        raise InvalidRequest(f"{quoted(moment)}: expected a datetime with a time zone") from error
    whole = inclusive and not since.microseconds
    return since.days * DAY + since.seconds + (0 if whole else 1)


def _refuse_unknown(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InvalidRequest(f"{name} {quoted(value)}: expected one of {', '.join(allowed)}")
