"""Faults with a story of their own: a backlog that dies with its node, bodies that attack it, more work than it can do."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from sqlalchemy import text

from tests.faults.measure.scene import Scene

Story = Callable[[Scene], tuple[str, list[str]]]
"""Returns what was measured, and the rules that were broken."""

WAITS: Final = text(
    "SELECT id, created_at, started_at FROM horae_jobs WHERE started_at IS NOT NULL AND id > :after ORDER BY id"
)
TICK: Final = 0.1
"""Seconds between two batches of jobs that are started."""
SLOTS: Final = 10
BODY: Final = 0.2
"""Seconds of each body, so that two nodes end 100 jobs a second."""
CAPACITY: Final = 2 * SLOTS / BODY
AS_BEFORE: Final = 0.25
"""Seconds by which the median wait may be longer than before when everything is over."""


def killed_in_a_backlog(
    scene: Scene, *, seconds: float = 0.0, jobs: int = 4000
) -> tuple[str, list[str]]:
    """Kill one of two nodes with SIGKILL while it runs jobs that are tried once."""
    victim = scene.node()
    scene.horae.jobs.start_many("once" if seconds else "once_async", [{"seconds": seconds}] * jobs)
    scene.until_begun(jobs // 10)
    victim.kill()
    scene.node()
    return f"over {scene.until_over():.1f} s later", scene.verdict().problems(
        may_fail=SLOTS, kills=1
    )


def killed_in_short_bodies(scene: Scene) -> tuple[str, list[str]]:
    """Kill a node with bodies of 20 ms on threads."""
    return killed_in_a_backlog(scene, seconds=0.02, jobs=600)


def attacked(scene: Scene) -> tuple[str, list[str]]:
    """Run bodies that try to end their node; every other job must finish, on the same node."""
    node = scene.node()
    for kind in ("SystemExit", "KeyboardInterrupt", "loop.stop"):
        scene.horae.jobs.start("attack", kind=kind)
        scene.horae.jobs.start_many("once_async", [{"seconds": 0.05}] * 10)
        time.sleep(0.5)
    over = scene.until_over()
    ended = [] if node.poll() is None else ["the node has ended"]
    return f"over {over:.1f} s later", ended + scene.verdict().problems(may_fail=3)


@dataclass(frozen=True)
class Waits:
    """How long jobs waited for their bodies, in seconds, and how many began before an older one."""

    middle: float
    longest: float
    overtaking: float

    def __str__(self) -> str:
        return f"{self.middle * 1000:.0f} ms (longest {self.longest:.1f} s, {self.overtaking:.0%} out of order)"


def overloaded(scene: Scene, *, seconds: float = 20.0) -> tuple[str, list[str]]:
    """Start half more jobs than the nodes can run, for a while; then as few as before, and compare the waits."""
    for _ in range(2):
        scene.node(concurrency=SLOTS)
    before = _offered(scene, 0.5 * CAPACITY, seconds / 4)
    during = _offered(scene, 1.5 * CAPACITY, seconds)
    began = time.monotonic()
    scene.until_over()
    drained = time.monotonic() - began
    after = _offered(scene, 0.5 * CAPACITY, seconds / 4)
    scene.until_over()
    problems = scene.verdict().problems(may_fail=0)
    if after.middle > before.middle + AS_BEFORE:
        problems.append(f"jobs wait {after.middle:.2f} s after it, {before.middle:.2f} s before")
    if after.overtaking > before.overtaking + 0.1:
        problems.append(f"{after.overtaking:.0%} of the jobs begin out of order after it")
    return (
        f"waits before {before}, during {during}, after {after}; drained in {drained:.1f} s",
        problems,
    )


def _offered(scene: Scene, rate: float, seconds: float) -> Waits:
    """Start jobs at this rate, and return how long they waited; of those that have begun when the time is over."""
    first = scene.horae.jobs.start("once_async").id
    begin = time.monotonic()
    offered = 0
    while (elapsed := time.monotonic() - begin) < seconds:
        due = int(rate * elapsed) - offered
        if due > 0:
            scene.horae.jobs.start_many("once_async", [{"seconds": BODY}] * due)
            offered += due
        time.sleep(TICK)
    rows = scene.watching.autocommit(
        lambda connection: connection.execute(WAITS, {"after": first}).all()
    )
    waits = [_seconds(row.started_at) - _seconds(row.created_at) for row in rows]
    starts = [_seconds(row.started_at) for row in rows]
    late = sum(later < earlier for earlier, later in pairwise(starts))
    return Waits(median(waits), max(waits), late / len(rows))


def _seconds(moment: object) -> float:
    """Return a stored moment in seconds: on SQLite it is a number of microseconds."""
    return moment / 1e6 if isinstance(moment, int) else moment.timestamp()  # type: ignore[attr-defined]


STORIES: Final[Mapping[str, Story]] = {
    "killed in a backlog": killed_in_a_backlog,
    "killed in short bodies": killed_in_short_bodies,
    "attacked by bodies": attacked,
    "half above capacity, then drained": overloaded,
}
