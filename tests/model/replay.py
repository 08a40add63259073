"""Replays what happened to real jobs against the model of leases: each change of a row must be a step of the model.

A trace has the committed changes of one job's row, as triggers recorded them. The model's other steps (a body begins, a
node stalls, is declared dead) leave no trace, so the replay keeps every state of the model that explains the changes so
far. A change that none of them can make is one that the protocol does not allow.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.model.checker import reachable
from tests.model.leases import Cluster, Job, LeaseModel, State


class Change(NamedTuple):
    """The row of a job after a change; `node` is None if no node holds it."""

    state: str
    lease: int
    node: str | None
    attempt: int


@dataclass(frozen=True, slots=True)
class Refused:
    """A change that no step of the model makes: its index, the row before and after it."""

    index: int
    before: Change
    after: Change


NEW = Change("pending", 0, None, 0)
"""The row of a job that was just created."""


def replay(changes: Sequence[Change], max_attempts: int) -> Refused | None:
    """Return the first change that the model does not allow, or None."""
    names = list(dict.fromkeys(change.node for change in changes if change.node is not None))
    numbers: dict[str | None, int | None] = {
        None: None,
        **{name: at for at, name in enumerate(names)},
    }
    # One node more than the trace names: any other one, which may rescue what those leave.
    # A node that stalls leaves the same traces as one that is wrongly declared dead.
    model = LeaseModel(
        nodes=len(names) + 1,
        max_attempts=max_attempts,
        most_claims=1_000,
        most_stalls=0,
        wrongly_declared=True,
    )
    states = {model.initial()}
    before = NEW
    for index, change in enumerate(changes):
        if change == before:
            continue
        wanted = (State(change.state), change.lease, numbers[change.node], change.attempt)
        states = set(
            _matching(model, reachable(states, lambda state: _unseen(model, state)), wanted)
        )
        if not states:
            return Refused(index, before, change)
        before = change
    return None


def _row(job: Job) -> tuple[State, int, int | None, int]:
    return job.state, job.lease, job.node, job.attempt


def _unseen(model: LeaseModel, state: Cluster) -> Iterator[Cluster]:
    """Yield the next states in which the row is the same."""
    row = _row(state.jobs[0])
    return (step.state for step in model.next(state) if _row(step.state.jobs[0]) == row)


def _matching(
    model: LeaseModel, states: Iterable[Cluster], wanted: tuple[State, int, int | None, int]
) -> Iterator[Cluster]:
    """Yield the states after a step that changes the row as it was seen."""
    return (
        step.state
        for state in states
        for step in model.next(state)
        if _row(step.state.jobs[0]) == wanted
    )
