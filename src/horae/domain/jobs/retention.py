"""How long ended jobs are kept, by type and state; the application's settings are the default."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any, Final, NamedTuple, TypeAlias

from horae.domain.jobs.job import ENDED, JobState
from horae.domain.times import Duration, bounded_duration
from horae.errors import InvalidRequest
from horae.quoting import quoted


class AsConfigured(Enum):
    """The type of a marker: the job type does not say how long its jobs are kept."""

    AS_CONFIGURED = "as HORAE_KEEP says"


AS_CONFIGURED: Final = AsConfigured.AS_CONFIGURED
Keep: TypeAlias = Duration | Mapping[str, Duration | None] | AsConfigured | None

KEPT_FOR_WAITING: Final = 5.0
"""Seconds that every ended job stays, so that callers that wait for it can read its result."""
_EXPECTED: Final = "expected a duration, None (gone when it ends), or one of these for each state"


class KeptFor(NamedTuple):
    """Jobs of these types in these states are deleted after so many seconds."""

    seconds: float
    states: tuple[JobState, ...]
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Retention:
    """Seconds for which ended jobs of a type are kept; the settings decide about other states."""

    seconds: Mapping[JobState, float] = field(default_factory=dict[JobState, float])

    @classmethod
    def of(cls, given: Any) -> "Retention":
        """Parse the option `keep` of a job type. Raises `InvalidRequest`."""
        if given is AS_CONFIGURED:
            return cls()
        if not isinstance(given, Mapping):
            return cls(dict.fromkeys(sorted(ENDED), _seconds("keep", given)))
        seconds = dict[JobState, float]()
        for name, each in given.items():
            if name not in list(ENDED):
                allowed = ", ".join(sorted(ENDED))
                raise InvalidRequest(
                    f"keep names the state {quoted(name)}, expected some of {allowed}"
                )
            seconds[JobState(name)] = _seconds(f"keep of {name}", each)
        return cls(seconds)

    @property
    def deletes_at_once(self) -> frozenset[JobState]:
        """Return the states in which a job is gone when it has ended."""
        return frozenset(
            state for state, seconds in self.seconds.items() if seconds == KEPT_FOR_WAITING
        )


def kept_for(retentions: Iterable[tuple[str, Retention]], configured: float) -> list[KeptFor]:
    """Return which jobs are deleted after which time, for types with their retentions; the shortest
    time first.
    """
    types: dict[tuple[float, tuple[JobState, ...]], list[str]] = {}
    all_ended = tuple(sorted(ENDED))
    for name, retention in retentions:
        states: dict[float, list[JobState]] = {}
        for state in all_ended if retention.seconds else ():
            states.setdefault(retention.seconds.get(state, configured), []).append(state)
        for seconds, together in states.items() or ((configured, all_ended),):
            types.setdefault((seconds, tuple(together)), []).append(name)
    return [
        KeptFor(seconds, states, tuple(names)) for (seconds, states), names in sorted(types.items())
    ]


def _seconds(name: str, given: object) -> float:
    if given is None:
        return KEPT_FOR_WAITING
    if not isinstance(given, str | timedelta):
        raise InvalidRequest(f"{name} is {quoted(given)}, {_EXPECTED}")
    duration = bounded_duration(name, given, "a duration of more than zero, or None")
    return max(duration.total_seconds(), KEPT_FOR_WAITING)
