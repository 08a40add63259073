"""What simulated clusters do to a schedule are steps of the model of ticks, and what no protocol may do is refused."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from typing import Final

import pytest

from tests.model.tick_replay import Observed, Refused, replay
from tests.simulation.plan import Plan, plan_of
from tests.simulation.run import Simulator, simulator

PERIOD: Final = 4_000_000
"""Microseconds between two nominal times of the schedule `every_four`."""
IN_MODEL: Final = frozenset({"start", "start later", "start many", "cancel", "pause", "resume"})
"""What callers do; the model has no runs by hand, skips, exclusions and backfills."""


@pytest.fixture(scope="module")
def simulations() -> Iterator[Simulator]:
    """Return what runs simulations in this process."""
    with simulator() as prepared:
        yield prepared


def plan(seed: int) -> Plan:
    """Return the plan of a seed, with one schedule and what the model has; its clock is not set, as in the model."""
    drawn = plan_of(seed, features=False)
    operations = tuple(each for each in drawn.operations if each.what in IN_MODEL)
    faults = tuple(each for each in drawn.faults if each.kind != "server clock")
    return replace(drawn, schedules=("every_four",), operations=operations, faults=faults)


def trace(simulations: Simulator) -> list[Observed]:
    """Return what each transaction of the last simulation left of the schedule."""
    with closing(sqlite3.connect(simulations.file)) as database:
        rows = database.execute(
            "SELECT txn, clock, enabled, token, next_start, nominal, until, job_id FROM sim_schedules ORDER BY number"
        ).fetchall()
    first = next(start for _, _, _, _, start, *_ in rows if start is not None) // PERIOD - 1
    decisions: list[tuple[int, int | None]] = []
    jobs: dict[int, int] = {}
    enabled, token, found = True, None, list[Observed]()
    for _, each in groupby(rows, key=lambda row: row[0]):
        clocks = list[int]()
        for _, clock, on, running, _, nominal, until, job in each:
            clocks.append(clock // PERIOD - first)
            if nominal is None:
                enabled, token = bool(on), running
            else:
                number = None if job is None else jobs.setdefault(job, len(jobs))
                decisions += [
                    (time, number)
                    for time in range(nominal // PERIOD - first, until // PERIOD - first + 1)
                ]
        run = None if token is None else jobs.setdefault(token, len(jobs))
        found.append(
            Observed(
                (min(clocks), max(clocks)),
                enabled,
                run,
                tuple(sorted(decisions, key=lambda d: d[0])),
            )
        )
    return found[1:]  # the first transaction created it


@pytest.mark.parametrize("seed", [0, 4, 7, 18, 36, 48, 57, 58])
def test_each_change_of_a_simulated_schedule_is_a_step_of_the_model(
    simulations: Simulator, seed: int
) -> None:
    assert simulations.run(plan(seed)).violations == []
    observed = trace(simulations)
    assert replay(observed) is None
    assert len(observed) >= 3


def seen(clock: int, token: int | None, *decisions: int | None, enabled: bool = True) -> Observed:
    """Return an observation; `decisions`: the jobs of the times from the first one on, None for one that is skipped."""
    return Observed((clock, clock), enabled, token, tuple(enumerate(decisions, 1)))


RIGHT: Final = [
    seen(1, 0, 0),
    seen(3, None, 0, None, None),
    seen(5, 1, 0, None, None, None, 1),
    seen(5, 1, 0, None, None, None, 1, enabled=False),
    seen(6, None, 0, None, None, None, 1, enabled=False),
    seen(6, None, 0, None, None, None, 1, None),
]
WRONG: Final = {
    "a time is fired before it is due": [seen(0, 0, 0)],
    "a run begins beside another one": [seen(1, 0, 0), seen(2, 1, 0, 1)],
    "a time has two decisions": [
        seen(1, 0, 0),
        seen(1, None, 0)._replace(decisions=((1, 0), (1, None))),
    ],
    "a time has no decision": [seen(1, 0, 0), seen(3, None, 0, None)],
    "a decision is lost": [seen(1, 0, 0), seen(1, None)],
    "a decision changes": [seen(1, 0, 0), seen(1, None, None)],
    "a paused schedule fires": [seen(0, None, enabled=False), seen(1, 0, 0, enabled=False)],
    "a run is open that the schedule does not wait for": [seen(1, None, 0)],
    "a time that is not due is skipped": [seen(1, 0, 0), seen(1, None, 0, None)],
}


def test_a_right_trace_is_allowed() -> None:
    assert replay(RIGHT) is None


@pytest.mark.parametrize("observed", WRONG.values(), ids=list(WRONG))
def test_a_wrong_trace_is_refused_at_its_last_change(observed: list[Observed]) -> None:
    assert replay(observed) == Refused(len(observed) - 1, observed[-1])


def test_a_trace_without_one_of_its_fires_is_refused(simulations: Simulator) -> None:
    simulations.run(plan(1))
    observed = trace(simulations)
    # The last one: without the first, the next change may be taken for the one that fired.
    fired = max(
        index
        for index in range(1, len(observed))
        if observed[index].token not in {None, observed[index - 1].token}
    )
    assert replay([*observed[:fired], *observed[fired + 1 :]]) is not None
