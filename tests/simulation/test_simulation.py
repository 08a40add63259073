"""Some seeds of the simulation, and that a seed replays exactly. `make simulate` runs many more."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from random import Random
from typing import Final

import pytest

from tests.simulation.operations import Operation
from tests.simulation.plan import Plan, faults_of, plan_of, storm_of
from tests.simulation.run import Simulator, simulator


@pytest.fixture(scope="module")
def simulations() -> Iterator[Simulator]:
    """Return what runs simulations in this process."""
    with simulator() as prepared:
        yield prepared


FOUND: Final = (364, 639, 739, 790, 1016, 50856)
"""Seeds that have failed: others had to assume that a suspended node had begun its jobs; a node came back while another
one read its journal; a claim of a killed node took effect after its rescue; a start was moved to a time that was decided, as
the clock had been set back; a caller resumed a schedule after all schedules had been paused, and a queue before it was paused."""


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_a_cluster_under_faults_keeps_its_promises(simulations: Simulator, seed: int) -> None:
    assert simulations.run(plan_of(seed)).violations == []


@pytest.mark.parametrize("seed", FOUND)
def test_a_seed_that_has_failed_keeps_its_promises(simulations: Simulator, seed: int) -> None:
    assert simulations.run(plan_of(seed, features=False)).violations == []


def test_nodes_claim_again_after_their_heartbeats_had_waited_for_a_lock(
    simulations: Simulator,
) -> None:
    pauses = faults_of(Random("62 ablation"), 2, ("pause", "pause at statement"))
    transfers = tuple(Operation(0.4 * number, "start", "transfer") for number in range(20))
    drawn = plan_of(62, features=False)
    plan = replace(
        drawn,
        heartbeats=True,
        one_host=False,
        faults=tuple(pauses),
        operations=drawn.operations + transfers,
    )
    assert simulations.run(plan).violations == []


@pytest.mark.parametrize("seed", [500, 507])
def test_coroutines_in_transactions_have_their_effects_once(
    simulations: Simulator, seed: int
) -> None:
    drawn = plan_of(seed)
    starts = tuple(Operation(0.25 * number, "start", "transfer_in_loop") for number in range(20))
    result = simulations.run(replace(drawn, operations=drawn.operations + starts))
    assert result.violations == []
    assert sum("INSERT sim_effects" in line for line in result.trace) > 20


@pytest.mark.parametrize("seed", [2, 20])
def test_a_storm_of_failovers_breaks_no_promise(simulations: Simulator, seed: int) -> None:
    result = simulations.run(storm_of(seed, crashes=60))
    assert result.violations == []
    assert result.failovers > 50


def test_a_seed_gives_the_same_trace_in_each_process() -> None:
    def trace(hash_seed: str) -> str:  # of a seed with coroutines in transactions
        command = [sys.executable, "-m", "tests.simulation", "--seed", "3"]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return ended.stdout

    first = trace("1")
    assert first.count("\n") > 100
    assert trace("2") == first


def test_no_field_takes_its_default_from_the_real_clock() -> None:
    clocks = {time.monotonic, time.time, time.perf_counter}
    taken = [
        f"{module}.{kind.__name__}.{each.name}"
        for module, loaded in list(sys.modules.items())
        for kind in (vars(loaded).values() if module.startswith("horae.") else ())
        if isinstance(kind, type) and is_dataclass(kind)
        for each in fields(kind)
        if each.default_factory in clocks
    ]
    assert taken == []


def test_a_full_node_does_not_spin_after_it_has_claimed_from_lanes(simulations: Simulator) -> None:
    operations = [Operation(0.1 * each, "start keyed", "keyed", each) for each in range(12)]
    others = [Operation(0.5 * moment, "start", "steady") for moment in range(4)]
    plan = Plan(3, nodes=1, concurrency=1, operations=(*operations, *others))
    assert simulations.run(plan).violations == []
