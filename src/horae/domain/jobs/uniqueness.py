"""Which existing jobs make a new one a duplicate, and what happens then.

A rule names the parameters that make two jobs the same. The key that is computed from them is
stored with the job, and jobs of one type with the same key are compared. An ended job counts only
if the rule names its state.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from horae.domain.jobs.job import ACTIVE, JobState
from horae.domain.times import LONGEST_DURATION, Duration, bounded_duration, parse_duration
from horae.errors import InvalidRequest
from horae.quoting import quoted

OnDuplicate: TypeAlias = Literal["refuse", "return", "replace"]

_POSITIVE: Final = "a duration of more than zero"
_NAMES: Final = (
    "expected names of parameters, as in ('customer_id', 'address.city'), or None for all of them"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unique:
    """Allows one job of its kind at a time. Raises `InvalidRequest`.

    `by`: the parameters that make two jobs of a type and an owner the same; a dot leads into nested
    ones. None is all parameters, `()` is none of them: then all jobs of the owner are the same.
    `states`: the states in which a job blocks a new one; by default pending and started, with
    `within` finished as well. `within`: a job that has ended blocks only for this time after its
    creation. `on_duplicate`: "refuse" raises `DuplicateJob`, "return" returns the existing job,
    "replace" cancels a pending job and starts the new one; a job that is not pending is never
    replaced, so "replace" refuses then.
    """

    by: tuple[str, ...] | None = None
    within: Duration | None = None
    states: Collection[JobState] | Collection[str] | None = None
    on_duplicate: OnDuplicate = "refuse"

    def __post_init__(self) -> None:
        """Parse and check what was given."""
        object.__setattr__(self, "by", _names("by", self.by))
        if self.within is not None:
            object.__setattr__(self, "within", bounded_duration("within", self.within, _POSITIVE))
        allowed = ", ".join(JobState)
        states: Any = self.states
        if states is None:
            states = ACTIVE if self.within is None else ACTIVE | {JobState.FINISHED}
        if isinstance(states, str) or not isinstance(states, Collection) or not states:
            raise InvalidRequest(f"states is {quoted(states)}, expected some of {allowed}")
        try:
            chosen = frozenset(JobState(state) for state in states)
        except ValueError:
            raise InvalidRequest(
                f"states is {quoted(states)}, expected some of {allowed}"
            ) from None
        object.__setattr__(self, "states", chosen)
        check_on_duplicate(self.on_duplicate)

    @property
    def blocking_states(self) -> frozenset[JobState]:
        """Return the states in which a job blocks a new one."""
        return frozenset(JobState(state) for state in self.states or ())


@dataclass(frozen=True, slots=True)
class Debounce:
    """Runs one job after calls that follow each other within `wait`, with the parameters of the
    last call.

    Each call moves the pending job to `wait` after the call, but to at most `max_wait` after the
    first one, so that calls without a pause cannot delay it for ever; by default that is ten times
    the wait. `by`: as for `Unique`. A job that has begun is not changed: the next call starts
    another one. Raises `InvalidRequest`.
    """

    wait: Duration
    max_wait: Duration | None = None
    by: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Parse and check what was given."""
        wait = bounded_duration("debounce", self.wait, _POSITIVE)
        longest = min(10 * wait, LONGEST_DURATION)
        most = longest
        if self.max_wait is not None:
            most = bounded_duration("max_wait", self.max_wait, _POSITIVE)
        if most < wait:
            raise InvalidRequest(f"max_wait is {most}, expected at least the wait of {wait}")
        object.__setattr__(self, "wait", wait)
        object.__setattr__(self, "max_wait", most)
        object.__setattr__(self, "by", _names("by", self.by))

    @property
    def seconds(self) -> float:
        """Return the wait in seconds."""
        return parse_duration("debounce", self.wait).total_seconds()

    @property
    def max_seconds(self) -> float:
        """Return the longest wait in seconds."""
        return parse_duration("max_wait", self.max_wait).total_seconds()


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """The key of one job, with the rule that holds when it is created.

    `same`: what jobs with this key have in common, for errors. `within`: seconds after its creation
    for which an ended job counts; None is no limit.
    """

    text: str
    same: str
    states: frozenset[JobState] = ACTIVE
    within: float | None = None
    on_duplicate: OnDuplicate = "refuse"

    @property
    def may_be_shared(self) -> bool:
        """Return whether several active jobs may have the key, so that no unique index can hold the
        rule.
        """
        return not self.states >= ACTIVE

    @property
    def needs_latest_rows(self) -> bool:
        """Return whether the rule reads rows that no unique index guards."""
        return self.states != ACTIVE


def check_on_duplicate(given: Any) -> OnDuplicate:
    """Return one of the reactions to a duplicate. Raises `InvalidRequest` for anything else."""
    if given not in get_args(OnDuplicate):
        raise InvalidRequest(
            f"on_duplicate {quoted(given)}: expected 'refuse', 'return' or 'replace'"
        )
    reaction: OnDuplicate = given
    return reaction


def debounce_of(given: Any) -> Debounce:
    """Return a debounce that was given as such or as a duration. Raises `InvalidRequest`."""
    return given if isinstance(given, Debounce) else Debounce(given)


def _names(option: str, given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Collection):
        raise InvalidRequest(f"{option} is {quoted(given)}, {_NAMES}")
    names: tuple[Any, ...] = tuple(given)
    if not all(isinstance(name, str) and all(name.split(".")) for name in names):
        raise InvalidRequest(f"{option} is {quoted(names)}, {_NAMES}")
    if len(set(names)) != len(names):
        raise InvalidRequest(f"{option} is {quoted(names)}, which names a parameter twice")
    return names
