"""Replays what happened to a schedule in a simulation against the model of ticks.

A trace has what each committed transaction left of the schedule: whether it is enabled, the run that it waits for, and the
decisions that were added. The model's other steps (a node believes that it owns the schedule, plans a fire, drops a plan)
leave no trace, so the replay keeps every state of the model that explains the trace so far. The clock of the database is in
the trace, and the model's clock must show the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tests.model.checker import reachable
from tests.model.ticks import TickModel, World


class Observed(NamedTuple):
    """What a transaction left. Times are numbered 1, 2, …; jobs 0, 1, … in the order in which they were fired.

    `clock`: how many nominal times were due when the transaction began, and when it wrote last. `token`: the job of the
    run that the schedule waits for. `decisions`: the number of each time that has one so far, with its job if it was fired.
    """

    clock: tuple[int, int]
    enabled: bool
    token: int | None
    decisions: tuple[tuple[int, int | None], ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A change that no step of the model makes: its index, and what it left."""

    index: int
    observed: Observed


MODEL_NODES: Final = 1
"""Nodes leave no name in the trace, and one may do all that several could: it may keep a plan or make a new one."""


def replay(trace: Sequence[Observed]) -> Refused | None:
    """Return the first change that the model does not allow, or None."""
    times = max((item.clock[1] for item in trace), default=0) + 1
    model = TickModel(ticks=times, nodes=MODEL_NODES, deployments=0)
    states = {model.initial()}
    for index, item in enumerate(trace):
        if all(_row(state) == item[1:] for state in states):
            continue
        states = {
            after
            for clock in range(item.clock[0], item.clock[1] + 1)
            for after in _after(model, states, clock, item)
        }
        if not states:
            return Refused(index, item)
    return None


def _after(model: TickModel, states: set[World], clock: int, item: Observed) -> Iterator[World]:
    """Yield the states after a step that leaves what was observed, at a moment of the clock."""
    before = reachable(states, lambda state: _unseen(model, state, clock))
    for state in before:
        if state.clock == clock:
            yield from (step.state for step in model.next(state) if _row(step.state) == item[1:])


def _unseen(model: TickModel, state: World, clock: int) -> Iterator[World]:
    """Yield the next states that leave no trace, up to a moment of the clock."""
    row = _row(state)
    for step in model.next(state):
        if _row(step.state) == row and step.state.clock <= clock:
            yield step.state


def _row(state: World) -> tuple[bool, int | None, tuple[tuple[int, int | None], ...]]:
    schedule = state.schedule
    return (
        schedule.enabled,
        schedule.token,
        tuple(sorted((each.nominal, each.job) for each in state.ledger)),
    )
