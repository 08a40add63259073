"""What `crash_everywhere` returns, and how effects are compared."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from horae.testing.crash_points import CrashPoint


@dataclass(frozen=True, slots=True, kw_only=True)
class BadCrash:
    """A point after which the effects are not those of an undisturbed run.

    `twice`: effects that came out more often; `missing`: effects that came out less often; `error`:
    why the job did not finish at all. If effects cannot be counted, `expected` and `found` are what
    `effects` returned.
    """

    point: CrashPoint
    expected: Any
    found: Any
    twice: tuple[Any, ...] = ()
    missing: tuple[Any, ...] = ()
    error: str | None = None

    @override
    def __str__(self) -> str:
        """Return the point and what is wrong after it."""
        parts = [f"twice: {_text_of(self.twice)}"] if self.twice else []
        parts += [f"missing: {_text_of(self.missing)}"] if self.missing else []
        parts += [f"the job did not finish: {self.error}"] if self.error else []
        if not parts:
            parts = [f"expected {self.expected!r}, found {self.found!r}"]
        return f"{self.point}: {'; '.join(parts)}"


@dataclass(frozen=True, slots=True)
class CrashReport:
    """The points that were tried, and those after which the effects were wrong.

    `not_reached`: points that the body passed when it was recorded, but not when it was to be
    killed there, because it does not do the same each time.
    """

    job_type: str
    points: tuple[CrashPoint, ...]
    bad: tuple[BadCrash, ...]
    not_reached: tuple[CrashPoint, ...] = ()

    def check(self) -> None:
        """Raise AssertionError unless the effects were the same after each crash."""
        if self.bad:
            raise AssertionError(str(self))

    @override
    def __str__(self) -> str:
        """Return a line for each point after which the effects were wrong."""
        right = len(self.points) - len(self.bad) - len(self.not_reached)
        lines = [
            (
                f"{self.job_type}: killed at {len(self.points)} points, at {right} of them without"
                " consequences"
            )
        ]
        lines += [f"  {bad}" for bad in self.bad]
        lines += [f"  {point}: not reached again" for point in self.not_reached]
        return "\n".join(lines)


def compare(point: CrashPoint, expected: Any, found: Any, error: str | None) -> BadCrash | None:
    """Return what is wrong after a crash; None if the effects are the same and the job has
    finished.
    """
    if found == expected and error is None:
        return None
    before, after = _count(expected), _count(found)
    twice: tuple[Any, ...] = ()
    missing: tuple[Any, ...] = ()
    if before is not None and after is not None:
        twice = tuple(name for name in after if after[name] > before[name])
        missing = tuple(name for name in before if after[name] < before[name])
    return BadCrash(
        point=point, expected=expected, found=found, twice=twice, missing=missing, error=error
    )


def _count(effects: Any) -> Counter[Any] | None:
    """Return how often each effect came out, from a mapping or a list; None for others."""
    if isinstance(effects, Mapping):
        if all(isinstance(count, int) for count in effects.values()):
            return Counter(dict(effects))
        return None
    if isinstance(effects, Iterable) and not isinstance(effects, str | bytes):
        return Counter(_hashable(effect) for effect in effects)
    return None


def _hashable(effect: Any) -> Any:
    try:
        hash(effect)
    except TypeError:
        return repr(effect)
    return effect


def _text_of(effects: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, effects))
