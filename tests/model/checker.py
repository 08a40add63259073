"""An explicit-state model checker: visits every state that a model can reach, and checks each one.

A model is a set of initial states, a function that yields the next states with the actions that lead there, and
invariants. States are compared by value. The search is breadth-first, so the path to a violation is a shortest one.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

S = TypeVar("S", bound=Hashable)


class Step(NamedTuple, Generic[S]):
    """An action, in words, and the state that it leads to. `fault`: it is none that the protocol could count on."""

    action: str
    state: S
    fault: bool = False


class Model(Protocol[S]):
    """A model, as the checker needs it."""

    def initial(self) -> S:
        """Return the state in which everything begins."""
        ...

    def next(self, state: S, /) -> Iterable[Step[S]]:
        """Yield every step that is possible in a state."""
        ...

    def broken(self, state: S, /) -> str | None:
        """Return which invariant a state violates, or None."""
        ...

    def broken_step(self, before: S, after: S, /) -> str | None:
        """Return what no step may do, if this one does it."""
        ...

    def is_done(self, state: S, /) -> bool:
        """Return whether all work is done in a state, or nothing is left that could do it."""
        ...


@dataclass(frozen=True, slots=True)
class Violation:
    """What is violated, and the shortest sequence of actions that leads there."""

    what: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """How many states and steps were checked, how many actions the longest shortest path has, and what is violated."""

    states: int
    steps: int
    depth: int
    violation: Violation | None


STUCK: Final = "the work can no longer be done"


class Checker(Generic[S]):
    """One search through the states of a model."""

    def __init__(self, model: Model[S], most_states: int) -> None:
        self._model, self._most_states = model, most_states
        self._parents: dict[S, tuple[S, str] | None] = {model.initial(): None}
        self._before: defaultdict[S, list[S]] = defaultdict(list)
        self._depths = {model.initial(): 0}
        self._steps = 0

    def check(self) -> Checked:
        """Visit all states, up to the first violation; then check that work can be done from each without a fault."""
        queue = deque(self._parents)
        while queue:
            state = queue.popleft()
            if (what := self._model.broken(state)) is not None:
                return self._violated(what, state)
            for step in self._model.next(state):
                if (what := self._model.broken_step(state, step.state)) is not None:
                    return self._violated(what, state, step.action)
                self._note(state, step, queue)
            if len(self._parents) > self._most_states:
                raise RuntimeError(
                    f"more than {self._most_states:,} states: the bounds of the model are too wide"
                )
        able = reachable(filter(self._model.is_done, self._parents), self._before.__getitem__)
        stuck = next((state for state in self._parents if state not in able), None)
        return self._checked(None) if stuck is None else self._violated(STUCK, stuck)

    def _note(self, state: S, step: Step[S], queue: deque[S]) -> None:
        self._steps += 1
        if not step.fault:
            self._before[step.state].append(state)
        if step.state not in self._parents:
            self._parents[step.state] = (state, step.action)
            self._depths[step.state] = self._depths[state] + 1
            queue.append(step.state)

    def _violated(self, what: str, state: S, *last: str) -> Checked:
        return self._checked(Violation(what, (*self._path(state), *last)))

    def _checked(self, violation: Violation | None) -> Checked:
        return Checked(len(self._parents), self._steps, max(self._depths.values()), violation)

    def _path(self, state: S) -> list[str]:
        actions: list[str] = []
        while (parent := self._parents[state]) is not None:
            state, action = parent
            actions.append(action)
        return actions[::-1]


def check(model: Model[S], most_states: int = 1_000_000) -> Checked:
    """Check a model. Raises `RuntimeError` if it has too many states."""
    return Checker(model, most_states).check()


def reachable(states: Iterable[S], steps: Callable[[S], Iterable[S]]) -> set[S]:
    """Return these states and all that steps lead to."""
    found = set(states)
    left = list(found)
    while left:
        new = {after for state in left for after in steps(state)} - found
        found |= new
        left = list(new)
    return found
