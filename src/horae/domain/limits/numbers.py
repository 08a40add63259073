"""The numbers of a limit: a rate in one of two forms, or a number of jobs at a time.

Parsed once, stored as JSON.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias, get_args

from horae.domain.storable import LARGEST_NUMBER, bounded_number
from horae.domain.times import MICROSECOND, parse_duration
from horae.errors import InvalidInterval, InvalidRequest
from horae.quoting import quoted
from horae.sentences import SentenceCode, one_of

Window: TypeAlias = Literal["bucket", "sliding"]
OnReached: TypeAlias = Literal["wait", "discard"]

LONGEST_PERIOD: Final = timedelta(days=366)
"""The longest period of a rate; the state of a rate limit is kept for as long."""
RATE_FORMS: Final = '"10/s", "100/m", "5/30s", "1000/h" or "3/day"'
_RATE: Final = re.compile(r"\s*([0-9]{1,10})\s*/\s*([0-9].*|[A-Za-z]+)\s*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitNumbers:
    """What a limit allows: `concurrency` jobs at a time, or `amount` starts in `period`
    microseconds.

    A token bucket (`window="bucket"`) lets `burst` jobs start at once after a pause: no window of
    length w has more than amount / period * w + burst starts. A sliding window lets at most
    `amount` jobs start in any window of the length of the period. `on_reached`: "discard" cancels
    jobs that may not start; None lets them wait.
    """

    concurrency: int | None = None
    amount: int | None = None
    period: int | None = None
    burst: int | None = None
    window: Window | None = None
    on_reached: OnReached | None = None

    @property
    def is_rate(self) -> bool:
        """Whether it limits starts; otherwise it limits running jobs."""
        return self.concurrency is None

    @property
    def largest_weight(self) -> int:
        """The largest weight that a job may have under this limit."""
        if self.concurrency is not None:
            return self.concurrency
        return (self.burst if self.window == "bucket" else self.amount) or 0

    @property
    def text(self) -> str:
        """The numbers in words, as lists and reasons show them."""
        return f"{self._counts}, others are discarded" if self.on_reached else self._counts

    @property
    def _counts(self) -> str:
        if self.concurrency is not None:
            return f"{self.concurrency} at a time"
        seconds = timedelta(microseconds=self.period or 0).total_seconds()
        period = f"{seconds:g} seconds"
        for unit, length in _UNITS:
            if seconds >= length and seconds % length == 0:
                number = int(seconds // length)
                period = unit if number == 1 else f"{number} {unit}s"
                break
        shape = f"burst {self.burst}" if self.window == "bucket" else "sliding window"
        return f"{self.amount} per {period}, {shape}"

    def to_json(self) -> dict[str, Any]:
        """Return the numbers as they are stored."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "LimitNumbers":
        """Return stored numbers; raise TypeError or ValueError if they cannot be read."""
        given = {field.name: stored.get(field.name) for field in fields(cls)}
        longest = LONGEST_PERIOD // MICROSECOND
        wrong = [
            name
            for name, value in given.items()
            if name not in ("window", "on_reached")
            and value is not None
            and (
                not isinstance(value, int)
                or isinstance(value, bool)
                or not 0 < value <= (longest if name == "period" else LARGEST_NUMBER)
            )
        ]
        if (
            wrong
            or given["window"] not in (None, *get_args(Window))
            or given["on_reached"] not in (None, "discard")
        ):
            raise ValueError("these are no numbers of a limit")
        if (given["concurrency"] is None) != (
            given["amount"] is not None and given["period"] is not None
        ):
            raise ValueError("a limit has a concurrency or a rate")
        return cls(**given)


def numbers_of(
    *,
    rate: str | None = None,
    burst: int | None = None,
    window: Window | None = None,
    concurrency: int | None = None,
    on_reached: OnReached = "wait",
) -> LimitNumbers:
    """Parse the options of a limit. Raises `InvalidRequest`, which names the allowed forms."""
    if on_reached not in get_args(OnReached):
        raise InvalidRequest(one_of("on_reached", on_reached, get_args(OnReached)))
    stored: OnReached | None = "discard" if on_reached == "discard" else None
    if (rate is None) == (concurrency is None):
        raise InvalidRequest(
            "a limit has either rate= or concurrency=; for both, declare two limits",
            SentenceCode.VALUE_RATE_OR_CONCURRENCY,
        )
    if concurrency is not None:
        if burst is not None or window is not None:
            raise InvalidRequest(
                "burst and window belong to a rate, not to a concurrency",
                SentenceCode.VALUE_ONLY_OF_RATE,
            )
        return LimitNumbers(
            concurrency=bounded_number("concurrency", concurrency), on_reached=stored
        )
    amount, period = _rate(rate)
    if window not in (None, *get_args(Window)):
        raise InvalidRequest(one_of("window", window, get_args(Window)))
    if window == "sliding":
        if burst is not None:
            raise InvalidRequest(
                'a sliding window has no burst; leave it out, or leave out window="sliding"',
                SentenceCode.VALUE_BURST_OF_SLIDING,
            )
        return LimitNumbers(amount=amount, period=period, window="sliding", on_reached=stored)
    return LimitNumbers(
        amount=amount,
        period=period,
        burst=amount if burst is None else bounded_number("burst", burst),
        window="bucket",
        on_reached=stored,
    )


def _rate(given: object) -> tuple[int, int]:
    """Return the starts and the microseconds of a rate such as "10/s"."""
    found = _RATE.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise InvalidRequest(
            f"rate is {quoted(given)}, expected a number of starts per period: {RATE_FORMS}",
            SentenceCode.VALUE_RATE,
        )
    amount, unit = int(found[1]), found[2]
    try:
        period = parse_duration("rate", unit if unit[0].isdigit() else f"1{unit}")
    except (InvalidInterval, InvalidRequest):
        raise InvalidRequest(
            f"rate is {quoted(given)}, whose period {quoted(unit)} cannot be read; expected"
            f" {RATE_FORMS}",
            SentenceCode.VALUE_RATE,
        ) from None
    if not 0 < amount <= LARGEST_NUMBER or not timedelta(0) < period <= LONGEST_PERIOD:
        raise InvalidRequest(
            f"rate is {quoted(given)}, expected at least 1 start per period of at most"
            f" {LONGEST_PERIOD.days} days: {RATE_FORMS}; to start no job at all, pause the"
            " queue",
            SentenceCode.VALUE_RATE_TOO_SMALL,
            days=LONGEST_PERIOD.days,
        )
    return amount, period // MICROSECOND


_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
