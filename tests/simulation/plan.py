"""What is drawn from a seed: the kind of cluster, what callers do, and which faults happen when."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from tests.simulation.application import KINDS
from tests.simulation.faults import Fault
from tests.simulation.features import features_of
from tests.simulation.operations import Operation

ACTIVE: Final = 5.0
"""Virtual seconds in which callers act and faults happen."""
SCHEDULES: Final = ("every_four", "repeating", "buffered", "replaced")


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is drawn in advance; each fault and operation can be left out without changing the others."""

    seed: int
    nodes: int = 2
    concurrency: int = 3
    heartbeats: bool = False
    """Whether nodes show that they live by heartbeats (as on PostgreSQL) or by file locks (as on SQLite)."""
    one_host: bool = True
    hints_work: bool = True
    hints_lost: float = 0.0
    hints_doubled: float = 0.0
    hints_late: float = 0.002
    schedules: tuple[str, ...] = SCHEDULES
    """The schedules that are deployed."""
    operations: tuple[Operation, ...] = ()
    faults: tuple[Fault, ...] = ()
    active: float = ACTIVE
    """Virtual seconds in which callers act and faults happen."""
    lives: tuple[Fault, ...] = ()
    """How the processes of nodes end, in the order in which they start, whatever their place; for storms of failovers.

    `Fault.at` counts from the start of the process, and `Fault.node` means nothing."""

    def on_server(self) -> "Plan":
        """Return the plan with what is simulated on PostgreSQL: no file locks, and no coroutines in transactions."""
        simulated = tuple(item for item in self.operations if item.name != "transfer_in_loop")
        return replace(self, heartbeats=True, operations=simulated)

    def without_faults(self, left_out: Sequence[Fault]) -> "Plan":
        """Return the plan without some faults."""
        return replace(self, faults=tuple(fault for fault in self.faults if fault not in left_out))

    def without_operations(self, left_out: Sequence[Operation]) -> "Plan":
        """Return the plan without some operations."""
        return replace(
            self, operations=tuple(item for item in self.operations if item not in left_out)
        )


def plan_of(seed: int, *, features: bool = True) -> Plan:
    """Draw a plan; `features`: also with what `tests.simulation.features` names, and with a focus."""
    plan = _mixed(seed, features=features)
    rng = Random(f"{seed} focus")
    if not features or rng.random() >= FOCUSED:
        return plan
    focus = rng.choice([each for each in FOCUSES if each.heartbeats in (None, plan.heartbeats)])
    nodes = focus.nodes or plan.nodes
    return replace(
        plan,
        nodes=nodes,
        one_host=plan.one_host and not focus.apart,
        concurrency=focus.concurrency or plan.concurrency,
        operations=(*_operations(Random(f"{seed} operations"), plan.schedules), *focus.calls),
        faults=tuple(faults_of(rng, nodes, focus.kinds)),
    )


@dataclass(frozen=True, slots=True)
class Focus:
    """Faults that show in a plan without others what is hidden or excused where those happen as well.

    `heartbeats`: in which clusters; None for all. `calls`: what callers do in addition. `nodes`, `concurrency`: other
    numbers than those that were drawn. `apart`: each node has a host of its own.
    """

    kinds: Sequence[str]
    heartbeats: bool | None
    calls: Sequence[Operation] = ()
    nodes: int | None = None
    concurrency: int | None = None
    apart: bool = False


FOCUSED: Final = 0.35
"""The share of plans with a focus."""
FOCUSES: Final = (
    Focus(
        ("pause at end",),
        heartbeats=True,
        calls=[Operation(0.4 * each, "start", "steady") for each in range(5)],
    ),
    Focus(("cut everywhere",), heartbeats=True, nodes=3, apart=True),
    Focus(
        ("cut off",),
        heartbeats=True,
        calls=[Operation(0.2 * each, "start", "steady") for each in range(6)],
        concurrency=5,
        apart=True,
    ),
    Focus(
        ("late claim",),
        heartbeats=False,
        calls=[Operation(0.1 * each, "start", "once") for each in range(2, 42, 4)],
    ),
    Focus(
        ("slow",),
        heartbeats=None,
        calls=[Operation(0.3 * each, "start many keyed", "metered", 2) for each in range(7)],
        nodes=3,
    ),
)


def _mixed(seed: int, *, features: bool) -> Plan:
    """Draw a plan with faults of all kinds."""
    rng = Random(f"{seed} plan")
    nodes, heartbeats = rng.choice((2, 2, 2, 2, 3)), rng.random() < 0.5
    schedules = tuple(sorted(rng.sample(SCHEDULES, rng.choice((1, 1, 2, 2, 3)))))
    return Plan(
        seed=seed,
        nodes=nodes,
        concurrency=rng.choice((1, 2, 3, 5)),
        heartbeats=heartbeats,
        one_host=not heartbeats or rng.random() < 0.5,
        hints_work=rng.random() < 0.7,
        hints_lost=rng.choice((0.0, 0.1, 0.5)),
        hints_doubled=rng.choice((0.0, 0.3)),
        hints_late=rng.choice((0.002, 0.05, 0.5)),
        schedules=schedules,
        operations=(
            *_operations(Random(f"{seed} operations"), schedules),
            *_start_changes(Random(f"{seed} start changes"), schedules),
            *(features_of(Random(f"{seed} features"), ACTIVE) if features else ()),
            *(_coroutines(Random(f"{seed} coroutines")) if features else ()),
            *(_job_changes(Random(f"{seed} job changes")) if features else ()),
            *_long_bodies(Random(f"{seed} cut off"), heartbeats),
        ),
        faults=tuple(_all_faults(seed, nodes, heartbeats)),
    )


def _operations(rng: Random, schedules: Sequence[str]) -> list[Operation]:
    names, weights = list(KINDS), list(KINDS.values())
    found = [
        Operation(rng.uniform(0.0, ACTIVE), "start", rng.choices(names, weights)[0])
        for _ in range(rng.randint(3, 8))
    ]
    found += [
        Operation(
            rng.uniform(0.0, ACTIVE),
            "start later",
            rng.choices(names, weights)[0],
            rng.randint(1, 4),
        )
        for _ in range(rng.randint(0, 3))
    ]
    found += [
        Operation(rng.uniform(0.0, ACTIVE), "start many", "brief", rng.randint(5, 15))
        for _ in range(rng.choice((0, 0, 1)))
    ]
    found += [
        Operation(rng.uniform(0.5, ACTIVE), "cancel", number=rng.randint(0, 30))
        for _ in range(rng.randint(0, 3))
    ]
    found += [
        Operation(rng.uniform(0.0, ACTIVE), "run now", rng.choice(schedules))
        for _ in range(rng.randint(0, 2))
    ]
    for name in schedules:
        if rng.random() < 0.2:
            begin = rng.uniform(0.5, ACTIVE - 1)
            found += [
                Operation(begin, "pause", name),
                Operation(begin + rng.uniform(0.1, 2), "resume", name),
            ]
    if rng.random() < 0.3:
        begin = rng.uniform(0.5, ACTIVE - 1)
        found += [
            Operation(begin, "pause queue", "default"),
            Operation(begin + rng.uniform(0.1, 2), "resume queue", "default"),
        ]
    return sorted(found, key=lambda item: item.at)


def _start_changes(rng: Random, schedules: Sequence[str]) -> list[Operation]:
    """Draw changes of next starts and backfills, for a quarter of the plans."""
    if rng.random() >= 0.25:
        return []
    whats = (
        "skip",
        "undo skip",
        "move",
        "exclude",
        "include",
        "backfill",
        "backfill",
        "undo backfill",
    )
    return [
        Operation(
            rng.uniform(0.2, ACTIVE), rng.choice(whats), rng.choice(schedules), rng.randint(0, 6)
        )
        for _ in range(rng.randint(1, 6))
    ]


def _coroutines(rng: Random) -> list[Operation]:
    """Draw starts of coroutines in transactions, for a third of the plans."""
    if rng.random() >= 1 / 3:
        return []
    return [
        Operation(rng.uniform(0.0, ACTIVE), "start", "transfer_in_loop")
        for _ in range(rng.randint(1, 4))
    ]


def _job_changes(rng: Random) -> list[Operation]:
    """Draw changes of jobs, for a third of the plans."""
    if rng.random() >= 1 / 3:
        return []
    whats = ("retry", "retry", "reschedule", "reschedule", "delete", "delete", "wait")
    return [
        Operation(rng.uniform(0.5, ACTIVE), rng.choice(whats), number=rng.randint(0, 30))
        for _ in range(rng.randint(2, 6))
    ]


STALE_ENDS: Final = 0.2
"""The share of clusters with heartbeats in which a node is suspended when a body has ended, for longer than a dead node may
be silent: its result arrives when the job runs elsewhere."""
CUT_OFF: Final = 0.1
"""The share of clusters with heartbeats in which bodies that may run again take long, and one node is cut off meanwhile
for longer than a dead node may be silent: others run its jobs, so it must have stopped its bodies before."""
Draw = Callable[[Random, int], Fault]


def _at(rng: Random) -> float:
    return rng.uniform(0.2, ACTIVE)


def _crash(rng: Random, node: int) -> Fault:
    return Fault("crash", _at(rng), node, seconds=rng.uniform(0.1, 4.0))


def _crash_at(rng: Random, node: int) -> Fault:
    kind = rng.choice(("crash at statement", "crash at commit"))
    return Fault(
        kind,
        _at(rng),
        node,
        rng.randint(0, 12),
        rng.choice(("before", "after")),
        rng.uniform(0.1, 4.0),
    )


def _no_answer(rng: Random, node: int) -> Fault:
    kind = rng.choice(("refused", "answer lost", "answer lost", "late"))
    return Fault(kind, _at(rng), node, rng.randint(0, 10), seconds=rng.uniform(0.05, 4.0))


def _pause(rng: Random, node: int) -> Fault:
    kind = rng.choice(("pause", "pause at statement", "sleep"))
    phase = rng.choice(("before", "after"))
    return Fault(
        kind,
        _at(rng),
        node,
        rng.randint(0, 12),
        phase,
        rng.choice((0.3, 2.0, 7.0)) * rng.uniform(0.5, 1.5),
    )


def _cut(rng: Random, node: int) -> Fault:
    kind = rng.choice(("cut", "cut and refused"))
    return Fault(
        kind,
        _at(rng),
        rng.choice((node, node, -1)),
        seconds=rng.choice((0.5, 3.0, 7.0)) * rng.uniform(0.5, 1.5),
    )


def _slow(rng: Random, node: int) -> Fault:
    return Fault("slow", _at(rng), rng.choice((node, -1)), seconds=rng.uniform(0.5, 4.0))


def _step(rng: Random, node: int) -> Fault:
    kind = rng.choice(("server clock", "server clock", "node clock"))
    return Fault(
        kind,
        _at(rng),
        node,
        seconds=rng.choice((-1, 1)) * rng.choice((0.5, 3.0, 20.0)) * rng.uniform(0.5, 1.5),
    )


def _hints(rng: Random, node: int) -> Fault:
    return Fault(
        rng.choice(("no hints", "live store lost")), _at(rng), node, seconds=rng.uniform(0.5, 5.0)
    )


def _stop(rng: Random, node: int) -> Fault:
    return Fault("stop", _at(rng), node, seconds=rng.uniform(0.1, 2.0))


DRAWS: Final[Sequence[tuple[Draw, int]]] = (
    (_crash, 5),
    (_crash_at, 6),
    (_no_answer, 5),
    (_pause, 3),
    (_cut, 3),
    (_slow, 1),
    (_step, 2),
    (_hints, 1),
    (_stop, 2),
)


def _all_faults(seed: int, nodes: int, heartbeats: bool) -> list[Fault]:
    found = _faults(Random(f"{seed} faults"), nodes, heartbeats)
    more = Random(f"{seed} stale ends")
    if heartbeats and more.random() < STALE_ENDS:
        found += faults_of(more, nodes, ["pause at end"])[:1]
    last = Random(f"{seed} cut off")
    if _is_cut_off(last, heartbeats):
        found.append(cut_off(last, nodes))
    return sorted(found, key=lambda fault: fault.at)


def _is_cut_off(rng: Random, heartbeats: bool) -> bool:
    return heartbeats and rng.random() < CUT_OFF


def _long_bodies(rng: Random, heartbeats: bool) -> list[Operation]:
    """Draw starts of long bodies for a plan in which a node is cut off."""
    if not _is_cut_off(rng, heartbeats):
        return []
    return [Operation(rng.uniform(0.0, 2.0), "start", "steady") for _ in range(6)]


def cut_off(rng: Random, nodes: int) -> Fault:
    """Draw a cut that lasts until other nodes run the jobs of this one."""
    return Fault("cut", rng.uniform(0.5, 2.5), rng.randrange(nodes), seconds=rng.uniform(6.0, 10.0))


def _faults(rng: Random, nodes: int, heartbeats: bool) -> list[Fault]:
    del heartbeats
    draws, weights = [draw for draw, _ in DRAWS], [weight for _, weight in DRAWS]
    found: list[Any] = [
        rng.choices(draws, weights)[0](rng, rng.randrange(nodes)) for _ in range(rng.randint(2, 6))
    ]
    return sorted(found, key=lambda fault: fault.at)


LIFE: Final = 0.06
"""Virtual seconds for which one place is occupied by one process of a storm, roughly."""
ENDS_OF_LIVES: Final[Mapping[str, int]] = {
    "crash": 3,
    "crash at statement": 8,
    "crash at commit": 4,
    "stop": 1,
}
"""How a process of a storm ends, and how often each happens in proportion."""
LOST_ANSWERS: Final = ("answer lost", "refused", "late")


def storm_of(seed: int, crashes: int) -> Plan:
    """Draw a plan in which each process of a node ends soon after its start, while jobs are started.

    Few of the schedules and no other operations: what a storm is for is that jobs and nodes survive.
    """
    rng = Random(f"{seed} storm")
    plan, nodes = plan_of(seed), rng.choice((2, 2, 3))
    active = crashes * LIFE
    names, weights = list(KINDS), list(KINDS.values())
    starts = [
        Operation(rng.uniform(0.0, active / 2), "start", name)
        for name in rng.choices(names, weights, k=crashes // 6)
    ]
    lost = [
        Fault(
            rng.choice(LOST_ANSWERS),
            rng.uniform(0.0, active / 2),
            rng.randrange(nodes),
            rng.randint(0, 8),
            "before",
            rng.uniform(0.02, 0.3),
        )
        for _ in range(crashes // 20)
    ]
    return replace(
        plan,
        nodes=nodes,
        one_host=True,
        schedules=plan.schedules[:1],
        operations=tuple(sorted(starts, key=lambda item: item.at)),
        faults=tuple(sorted(lost, key=lambda fault: fault.at)),
        lives=tuple(_life(rng) for _ in range(crashes)),
        active=active,
    )


def _life(rng: Random) -> Fault:
    """Draw how a process of a storm ends: within its first statements more often than after many."""
    kind = rng.choices(list(ENDS_OF_LIVES), list(ENDS_OF_LIVES.values()))[0]
    skip = int(rng.expovariate(1 / (2 if kind == "crash at commit" else 8)))
    return Fault(
        kind,
        rng.expovariate(1 / 0.05),
        skip=skip,
        phase=rng.choice(("before", "after")),
        seconds=rng.uniform(0.0, 0.02),
    )


LASTING: Final = {
    "pause": (5.0, 10.0),
    "pause at statement": (8.0, 10.0),
    "pause at end": (4.5, 9.0),
    "cut": (5.0, 9.0),
    "cut and refused": (2.0, 9.0),
    "cut everywhere": (7.0, 9.0),
}
"""How long such a fault lasts if it is chosen on purpose, in seconds; others for up to four."""


def late_claims(rng: Random, nodes: int) -> list[Fault]:
    """Draw a few nodes that are killed while a claim of theirs is under way, which takes effect after the rescue."""
    found: list[Fault] = []
    for begin in (0.5, 2.0, 3.5):
        at, node = begin + rng.uniform(0.0, 0.5), rng.randrange(nodes)
        found.append(Fault("late claim", at, node, seconds=rng.uniform(1.5, 4.0)))
        found.append(
            Fault("crash", at + rng.uniform(0.4, 0.8), node, seconds=rng.uniform(0.5, 3.0))
        )
    return found


def faults_of(rng: Random, nodes: int, kinds: Sequence[str]) -> list[Fault]:
    """Draw faults of some kinds only; of `cut off` one, as others would keep all nodes from noticing."""
    if kinds == ("cut off",):
        return [cut_off(rng, nodes)]
    if kinds == ("late claim",):
        return late_claims(rng, nodes)
    found: list[Fault] = []
    for _ in range(rng.randint(4, 8)):
        kind, phase = rng.choice(kinds), rng.choice(("before", "after"))
        seconds = rng.uniform(*LASTING.get(kind, (0.1, 4.0)))
        node = -1 if kind == "cut everywhere" else rng.randrange(nodes)
        skip = rng.randint(0, 1) if kind == "pause at end" else rng.randint(0, 12)
        found.append(Fault(kind.removesuffix(" everywhere"), _at(rng), node, skip, phase, seconds))
    return sorted(found, key=lambda fault: fault.at)
