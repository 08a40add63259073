"""What simulated clusters do to the rows of jobs are steps of the model, and what no protocol may do is refused."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import pairwise

import pytest

from tests.model.replay import NEW, Change, Refused, replay
from tests.simulation.plan import plan_of
from tests.simulation.run import Simulator, simulator

A, B = "node-a", "node-b"


@pytest.fixture(scope="module")
def simulations() -> Iterator[Simulator]:
    """Return what runs simulations in this process."""
    with simulator() as prepared:
        yield prepared


def histories(simulations: Simulator) -> Mapping[int, list[Change]]:
    """Return the changes of each job of the last simulation, as triggers have recorded them."""
    found: defaultdict[int, list[Change]] = defaultdict(list)
    with closing(sqlite3.connect(simulations.file)) as database:
        query = "SELECT job_id, state, lease, node_id, attempt FROM sim_history ORDER BY number"
        for job, *row in database.execute(query):
            found[job].append(Change(*row))
    return found


def attempts(simulations: Simulator) -> Mapping[int, int]:
    """Return how many attempts each job of the last simulation may have."""
    with closing(sqlite3.connect(simulations.file)) as database:
        return dict(database.execute("SELECT id, max_attempts FROM horae_jobs"))


@pytest.mark.parametrize("seed", [1000, 1001, 1002, 1004, 1005, 1006])
def test_each_change_of_a_simulated_job_is_a_step_of_the_model(
    simulations: Simulator, seed: int
) -> None:
    assert simulations.run(plan_of(seed)).violations == []
    allowed, jobs = attempts(simulations), histories(simulations)
    assert {
        job: refused for job, changes in jobs.items() if (refused := replay(changes, allowed[job]))
    } == {}
    assert sum(map(len, jobs.values())) > 20


def started(lease: int, node: str, attempt: int = 1) -> Change:
    return Change("started", lease, node, attempt)


RIGHT = [
    NEW,
    started(1, A),
    Change("pending", 1, None, 1),
    started(2, B, 2),
    Change("finished", 2, None, 2),
]
WRONG = {
    "a start under the old lease": [
        NEW,
        started(1, A),
        Change("pending", 1, None, 0),
        started(1, B),
    ],
    "a lease that falls": [NEW, started(1, A), Change("pending", 1, None, 0), started(0, B)],
    "a lease that jumps": [NEW, started(2, A)],
    "a job taken from a node": [NEW, started(1, A), started(2, B)],
    "a finished job that is pending again": [
        NEW,
        started(1, A),
        Change("finished", 1, None, 1),
        Change("pending", 1, None, 1),
    ],
    "a cancelled job that finishes": [
        NEW,
        started(1, A),
        Change("cancelled", 1, A, 1),
        Change("finished", 1, None, 1),
    ],
    "a pending job that finishes": [NEW, Change("finished", 0, None, 0)],
    "a node on a pending job": [NEW, Change("pending", 0, A, 0)],
    "an attempt too many": [
        *RIGHT[:4],
        Change("pending", 2, None, 2),
        started(3, A, 3),
        Change("pending", 3, None, 3),
    ],
    "an attempt that vanishes": [*RIGHT[:3], Change("pending", 1, None, 0)],
}


def test_a_right_history_is_allowed() -> None:
    assert replay(RIGHT, max_attempts=2) is None


@pytest.mark.parametrize("changes", WRONG.values(), ids=list(WRONG))
def test_a_wrong_history_is_refused_where_it_is_wrong(changes: list[Change]) -> None:
    refused = replay(changes, max_attempts=2)
    assert refused is not None
    assert (refused.before, refused.after) in set(pairwise(changes))


def test_a_history_is_wrong_from_the_change_on_that_is_planted(simulations: Simulator) -> None:
    simulations.run(plan_of(1003))
    allowed, jobs = attempts(simulations), histories(simulations)
    planted = 0
    for job, changes in jobs.items():
        if changes[-1].state == "finished":
            again = Change("started", changes[-1].lease, A, changes[-1].attempt)
            found = replay([*changes, again], allowed[job])
            assert found == Refused(len(changes), changes[-1], again)
            planted += 1
    assert planted > 5
