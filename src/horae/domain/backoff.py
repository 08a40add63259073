"""How long to wait before another attempt: a nominal delay that grows to a cap, then jitter."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from random import Random
from typing import Any, Literal, Self, TypeAlias, TypedDict, assert_never, get_args

from horae.domain.times import LONGEST_DURATION, MICROSECOND, Duration, parse_duration
from horae.errors import InvalidRequest
from horae.quoting import quoted

Growth: TypeAlias = Literal["exponential", "linear", "constant"]


class BackoffJson(TypedDict):
    """A stored `Backoff`; `base` and `cap` are seconds."""

    base: float
    cap: float
    factor: Growth
    jitter: float


@dataclass(frozen=True, init=False, slots=True)
class Backoff:
    """How delays grow from `base` to `cap`, and the share by which one may differ (0.125: ±12.5 %).

    `base` and `cap` are given as a timedelta or a text such as `"30s"`. Growth ends only at the
    cap: `cap=20 * base` ends linear growth after twenty steps. A `base` of zero retries at once.
    Raises `InvalidRequest`.
    """

    base: timedelta
    cap: timedelta
    factor: Growth
    jitter: float

    def __init__(
        self,
        *,
        base: Duration = timedelta(seconds=5),
        cap: Duration = timedelta(minutes=10),
        factor: Growth = "exponential",
        jitter: float = 0.125,
    ) -> None:
        # The class is frozen, so the attributes are set as the generated __init__ of a frozen
        # dataclass sets them.
        object.__setattr__(self, "base", parse_duration("backoff base", base))
        object.__setattr__(self, "cap", parse_duration("backoff cap", cap))
        object.__setattr__(self, "factor", factor)
        object.__setattr__(self, "jitter", jitter)
        # Refuse what could give a negative or an extremely long delay.
        if self.base < timedelta(0):
            raise InvalidRequest(f"backoff base {self.base}: expected zero or more")
        if not self.base <= self.cap <= LONGEST_DURATION:
            limits = f"the base ({self.base}) to {LONGEST_DURATION.days} days"
            raise InvalidRequest(f"backoff cap {self.cap}: expected {limits}")
        if self.factor not in get_args(Growth):
            names = ", ".join(get_args(Growth))
            raise InvalidRequest(f"backoff factor {self.factor!r}: expected one of {names}")
        if not 0 <= self.jitter <= 1:  # false for NaN, too
            raise InvalidRequest(f"backoff jitter {self.jitter}: expected 0 to 1")

    def to_json(self) -> BackoffJson:
        """Return the plain form for storage; `from_json` makes an equal value of it."""
        return {
            "base": self.base.total_seconds(),
            "cap": self.cap.total_seconds(),
            "factor": self.factor,
            "jitter": self.jitter,
        }

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote; a missing key takes its default. Raises `InvalidRequest`."""
        if not isinstance(stored, Mapping):
            raise InvalidRequest(f"backoff settings {quoted(stored)}: expected an object")
        if unknown := stored.keys() - {field.name for field in fields(cls)}:
            raise InvalidRequest(f"unknown backoff settings: {', '.join(sorted(unknown))}")
        values = dict(stored)
        try:
            for name in values.keys() & {"base", "cap"}:
                values[name] = timedelta(seconds=values[name])
            return cls(**values)
        except InvalidRequest:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidRequest(f"backoff settings {dict(stored)}: {error}") from error


def retry_delay(attempt: int, backoff: Backoff, rng: Random) -> timedelta:
    """Draw the wait after attempt number `attempt` (from 1) has failed; never above the cap."""
    return jittered(nominal_delay(attempt, backoff), backoff.jitter, rng, cap=backoff.cap)


def nominal_delay(attempt: int, backoff: Backoff) -> timedelta:
    """Compute the delay after attempt `attempt` without jitter; below 1 is an `InvalidRequest`."""
    if attempt < 1:
        raise InvalidRequest(f"attempt {attempt}: expected 1 or more")
    base, cap = backoff.base // MICROSECOND, backoff.cap // MICROSECOND
    match backoff.factor:
        case "exponential":
            # More doublings would exceed the cap even from a microsecond; 2 ** 10**9 is too large.
            factor = 1 << min(attempt - 1, cap.bit_length())
        case "linear":
            factor = attempt
        case "constant":
            factor = 1
        case _:
            assert_never(backoff.factor)
    return min(base * factor, cap) * MICROSECOND


def jittered(delay: timedelta, share: float, rng: Random, *, cap: timedelta) -> timedelta:
    """Draw from `delay` ± `share` of it, to the microsecond, and never above `cap`.

    The part of the band above the cap is cut off before the draw: clipping afterwards would make
    half of all waiters at the cap return at the same moment.
    """
    middle = delay // MICROSECOND
    numerator, denominator = share.as_integer_ratio()
    spread = middle * numerator // denominator
    high = min(middle + spread, cap // MICROSECOND)
    return rng.randint(min(middle - spread, high), high) * MICROSECOND
