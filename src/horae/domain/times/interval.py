"""How long a period is: calendar months, calendar days, or elapsed time; never a mixture."""

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, Self

from typing_extensions import override

from horae.domain.times.interval_text import Amounts, read_interval, write_interval
from horae.domain.times.zone import DAY, EPOCH, EPOCH_ORDINAL, MICROSECOND, load_zone, to_instant
from horae.errors import InvalidInterval, InvalidRequest
from horae.quoting import quoted
from horae.sentences import Sentence, SentenceCode

# A hundred years: longer than anyone needs, and short enough to add to any date.
_LONGEST: Final = Amounts(1_200, 36_525, timedelta(days=36_525) // MICROSECOND)


@dataclass(frozen=True, slots=True)
class Interval:
    """A positive period of which exactly one part is set.

    Months and days follow the calendar of a zone: a day later it is the same time on the wall,
    whatever the clocks did in between. Microseconds are elapsed time. So `1 day` is not `24h`.
    Raises `InvalidInterval` for a zero, negative or mixed one, and past a hundred years.
    """

    months: int = 0
    days: int = 0
    microseconds: int = 0

    def __post_init__(self) -> None:
        """Refuse an interval that is zero, negative, mixed or longer than 100 years."""
        parts = Amounts(self.months, self.days, self.microseconds)
        if problem := _problem_with(parts):
            names = ("months", "days", "microseconds")
            named = [f"{part} {name}" for part, name in zip(parts, names, strict=True) if part]
            raise InvalidInterval(f"interval of {' and '.join(named) or 'nothing'}: {problem}")

    @classmethod
    def parse(cls, value: "str | timedelta | Interval") -> Self:
        """Read `10m`, `1h30m`, `2 days`, `1 month`, ISO 8601 such as `PT90M`, or a timedelta.

        A timedelta of whole days is taken as calendar days, any other one as elapsed time.
        Raises `InvalidInterval`.
        """
        if isinstance(value, Interval):
            return cls(value.months, value.days, value.microseconds)
        if isinstance(value, timedelta):
            if value % timedelta(days=1):
                return cls(microseconds=value // MICROSECOND)
            return cls(days=value.days)
        # Values of other types are read as texts: the error for a number names the missing unit.
        parts = read_interval(str(value))
        if problem := _problem_with(parts):
            raise InvalidInterval(
                f"interval {quoted(value)}: {problem}", problem.code, text=str(value)
            )
        return cls(*parts)

    @property
    def nominal(self) -> timedelta:
        """A length to compare with: months of 30 days, days of 24 hours."""
        return Amounts(self.months, self.days, self.microseconds).nominal

    def after(self, moment: datetime, timezone: str = "UTC", *, times: int = 1) -> datetime:
        """Add the interval `times` over to an aware moment; the answer is in UTC.

        Months are added in one step, so that 31 January is 28 February once and 31 March twice.
        A wall time in a gap becomes the first moment after it, one in a fold its first pass.
        Raises `InvalidRequest` for a naive moment or an unknown zone.
        """
        if moment.utcoffset() is None:
            raise InvalidRequest(f"{moment!r}: expected a datetime with a time zone")
        if self.microseconds:
            return moment.astimezone(UTC) + times * self.microseconds * MICROSECOND
        local = moment.astimezone(load_zone(timezone))
        years, month = divmod(local.month - 1 + self.months * times, 12)
        year, month = local.year + years, month + 1
        # The last day of a month that is too short.
        later = date(year, month, min(local.day, monthrange(year, month)[1]))
        day = later.toordinal() + self.days * times
        second = local.hour * 3600 + local.minute * 60 + local.second
        instant = to_instant(timezone, (day - EPOCH_ORDINAL) * DAY + second)
        return EPOCH + timedelta(seconds=instant, microseconds=local.microsecond)

    @override
    def __str__(self) -> str:
        return write_interval(Amounts(self.months, self.days, self.microseconds))


def _problem_with(parts: Amounts) -> Sentence | None:
    if min(parts) < 0:
        return Sentence("it must be positive", SentenceCode.VALUE_INTERVAL_ZERO)
    if not any(parts):
        return Sentence("it must be longer than zero", SentenceCode.VALUE_INTERVAL_ZERO)
    if any(part > limit for part, limit in zip(parts, _LONGEST, strict=True)):
        return Sentence(
            "it must not be longer than 100 years", SentenceCode.VALUE_INTERVAL_TOO_LONG
        )
    if sum(map(bool, parts)) == 1:
        return None
    mixed = "months, days and time cannot be mixed"
    if parts.months:
        return Sentence(f"{mixed}; use one of them", SentenceCode.VALUE_INTERVAL_MIXED)
    elapsed = parts.microseconds + timedelta(days=parts.days) // MICROSECOND
    instead = write_interval(Amounts(0, 0, elapsed))
    return Sentence(f"{mixed}; as elapsed time write {instead}", SentenceCode.VALUE_INTERVAL_MIXED)
