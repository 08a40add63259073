"""A few seconds of the soak on each database, and one with leaks in the nodes, which it must report.

The bounds that depend on the speed of the machine are wide here: other tests run at the same time.
"""

from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from benchmarks.soak.ground import soak
from benchmarks.soak.report import table
from benchmarks.soak.rules import Allowance, Bounds
from benchmarks.soak.run import Plan, Result

SHORT: Final = 5.0
"""Seconds of load."""
WIDE: Final = Bounds(
    growth={
        "memory": Allowance(64, 0.5),
        "descriptors": Allowance(60, 0.5),
        "threads": Allowance(40, 0.5),
        "rows": Allowance(1000, 1.0),
        "size": Allowance(16, 1.0),
        "backlog": Allowance(500, 1.0),
    },
    median_pick_up=Allowance(10.0, 10.0),
    late_pick_up=Allowance(30.0, 10.0),
    least_rate=0.0,
    rescued_within=60.0,
    ends_within=60.0,
)
PLAN: Final = Plan(
    kind="sqlite",
    seconds=SHORT,
    seed=20260101,
    rate=12.0,
    fault_pause=(1.0, 1.0),
    bounds=WIDE,
    forked=True,
)


def run(plan: Plan, folder: Path) -> Result:
    with soak(plan, folder) as one:
        return one.run()


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "kind",
    [
        # In each run, the leaks below show that no other rule is broken on SQLite.
        pytest.param("sqlite", marks=pytest.mark.nightly),
        pytest.param("postgresql", marks=pytest.mark.postgres),
    ],
)
def test_all_rules_hold_for_some_seconds(kind: str, tmp_path: Path) -> None:
    result = run(replace(PLAN, kind=kind), tmp_path)
    assert "BROKEN" not in table(result), table(result)
    assert result.jobs["finished"] > 0
    assert sum(result.faults.values()) > 0
    judged = {verdict.rule for verdict in result.verdicts if verdict.kept}
    # Not the growth of memory: all nodes may be killed too soon to judge it.
    assert {"growth of rows", "all jobs end", "outside checker"} <= judged


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_leaks_in_the_nodes_are_reported(tmp_path: Path) -> None:
    plan = replace(
        PLAN,
        seconds=2 * SHORT,
        application="tests.soak.leaking:horae",
        most_nodes=1,
        fault_pause=(60.0, 60.0),
        # A busy machine runs few bodies, and what they leak is less than half of what a node has anyway.
        bounds=replace(WIDE, growth={**WIDE.growth, "memory": Allowance(32, 0.2)}),
    )
    result = run(plan, tmp_path)
    leaking = {"growth of memory", "growth of descriptors", "growth of threads"}
    assert {verdict.rule for verdict in result.broken} == leaking
