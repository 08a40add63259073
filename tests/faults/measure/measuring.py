"""Runs a scenario under a steady load, and compares the rates before, during and after its fault."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.faults.measure.load import MAIN_QUEUE, WINDOWS, Feeder, Rates, Recovery, until_recovered
from tests.faults.measure.scenarios import Scenario
from tests.faults.measure.scene import AFTER_GRACE, MAIN_NODES, Scene, Verdict, stop
from tests.harness.forked import ForkedProcess

SLOTS: Final = 10
LEAVING: Final = 3
"""Bodies of the node that is told to end during the fault."""
QUEUES: Final = f"{MAIN_QUEUE},pool"


@dataclass(frozen=True, kw_only=True)
class Durations:
    """How long a scenario is measured, in seconds; `recovered`: the share of the former rate that is to come back."""

    warm_up: float = 3.0
    before: float = 5.0
    body: float = 0.2
    over_within: float = 120.0
    recovered: float = 0.9


USUAL: Final = Durations()
# So short a time measures the former rate too high by a tenth, and other tests run meanwhile. One node that stays away
# would leave half of the rate.
BRIEF: Final = Durations(warm_up=1.0, before=1.5, body=0.1, recovered=0.7)


@dataclass
class Outcome:
    """What a fault did to the nodes. `stopped`: how long nodes took to end when told to, first during the fault."""

    recovery: Recovery
    verdict: Verdict
    stopped: list[float | None]
    problems: list[str]
    errors: Counter[str] = field(default_factory=Counter[str])

    def __str__(self) -> str:
        stopped = ", ".join("NOT ENDED" if took is None else f"{took:.1f}" for took in self.stopped)
        return f"{self.recovery}  stopped in {stopped} s  {self.verdict}"


def measure(
    scene: Scene, scenario: Scenario, fault_seconds: float, durations: Durations = USUAL
) -> Outcome:
    """Cause the fault under a steady load, and wait until everything has recovered and ended."""
    leaver = _start_nodes(scene)
    feeder = Feeder(scene.horae, seconds=durations.body, backlog=20 * SLOTS)
    with Rates(scene.url) as rates, feeder:
        scene.until_begun(4 * SLOTS)
        time.sleep(durations.warm_up)
        begin = time.monotonic()
        time.sleep(durations.before)
        fault_at = time.monotonic()
        with scenario.fault(scene, fault_seconds):
            time.sleep(fault_seconds * 0.3)
            stopped = [stop(leaver)] if scenario.stops_a_node else []
            time.sleep(max(fault_at + fault_seconds - time.monotonic(), 0.0))
        over_at = time.monotonic()
        last = scene.launch_when_reachable(queues="leaving")
        former = rates.between(begin, fault_at)
        wanted = durations.recovered * former
        seconds = until_recovered(rates, over_at, wanted, scenario.recovers_within)
        again = over_at + (scenario.recovers_within if seconds is None else seconds)
        after = rates.between(again, again + WINDOWS[-1])
        recovery = Recovery(former, rates.between(fault_at, over_at), after, seconds)
    stopped += _end(scene, last, durations)
    verdict = scene.verdict(**scenario.checked)
    problems = verdict.problems(scenario.may_fail)
    problems += (
        [] if seconds is not None else [f"not recovered within {scenario.recovers_within:g} s"]
    )
    problems += _late(stopped, scene.grace + AFTER_GRACE)
    return Outcome(recovery, verdict, stopped, problems, feeder.errors)


def _late(stopped: Sequence[float | None], limit: float) -> list[str]:
    late = [took for took in stopped if took is None or took > limit]
    return [f"a node ended after {took} s, more than {limit:g}" for took in late]


def _start_nodes(scene: Scene) -> ForkedProcess:
    """Start the nodes for the load and one that will be told to end; return that one."""
    scene.main_queues = QUEUES
    started = [scene.launch(concurrency=SLOTS, queues=QUEUES) for _ in range(MAIN_NODES)]
    leaver = scene.launch(concurrency=SLOTS, queues="leaving")
    for process in (*started, leaver):
        scene.until_ready(process)
    scene.horae.jobs.start_many("leaving", [{}] * LEAVING)
    scene.until_begun(LEAVING)
    return leaver


def _end(scene: Scene, last: ForkedProcess, durations: Durations) -> list[float | None]:
    """Let all jobs end, and then the nodes; return how long the nodes took. `last`: one for the jobs of `leaving`."""
    scene.release()
    scene.until_ready(last)
    scene.until_over(durations.over_within)
    return [stop(node) for node in scene.nodes if node.poll() is None]
