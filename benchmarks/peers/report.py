"""What was measured, as a table, as JSON, and as budgets that hold or fall short."""

from collections.abc import Sequence
from typing import Any

from rich.table import Table

from benchmarks.figures import Budget, Figure, Samples
from benchmarks.peers.catalogue import Durability
from benchmarks.peers.rounds import Measured

DRAIN = Budget("ratio at least", 3.0)
SINGLE = Budget("ratio at least", 1.0)


def budgets(found: Sequence[Measured]) -> list[Figure]:
    """Return Horae beside the fastest peer of the same durability, where both were measured."""
    figures: list[Figure] = []
    for durability in Durability:
        same = [each for each in found if each.peer.durability is durability]
        horae = next((each for each in same if each.peer.is_horae), None)
        others = [each for each in same if not each.peer.is_horae]
        if horae is None:
            continue
        for name, unit, budget in (
            ("drain", "jobs/s", DRAIN),
            ("enqueue", "jobs/s", SINGLE),
            ("bulk", "jobs/s", None),
        ):
            sides = [each for each in others if _samples(each, name)]
            if not sides or not _samples(horae, name):
                continue
            best = max(sides, key=lambda each: Samples.of(_samples(each, name)).median)
            figures.append(
                Figure(
                    name,
                    durability.value,
                    unit,
                    Samples.of(_samples(horae, name)),
                    Samples.of(_samples(best, name)),
                    budget,
                    note=f"beside {best.peer.name}",
                )
            )
    return figures


def peer_table(found: Sequence[Measured]) -> Table:
    """Return one row for each peer."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("peer", "a job is"):
        table.add_column(name)
    for name in ("enqueue/s", "bulk/s", "drain/s", "of jobs", "pick-up p50", "p99, ms", "fires, s"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in found:
        table.add_row(
            each.peer.name,
            each.peer.durability.value,
            _shown(each.enqueue),
            _shown(each.bulk),
            _shown(each.drain),
            f"{each.drained:,}" if each.drain else "",
            f"{each.p50:.1f}" if each.latencies else "-",
            f"{each.p99:.1f}" if each.latencies else "-",
            f"{max(each.fires) / 1000:.2f}" if each.fires else "-",
        )
    return table


def as_json(measured: Measured) -> dict[str, Any]:
    """Return every sample of a peer, and how it was configured."""
    peer = measured.peer
    return {
        "name": peer.name,
        "requirements": peer.requirements,
        "durability": peer.durability.value,
        "remark": peer.remark,
        "configuration": peer.configuration,
        "enqueue": measured.enqueue,
        "bulk": measured.bulk,
        "drain": measured.drain,
        "drained": measured.drained,
        "latencies": measured.latencies,
        "fires": measured.fires,
        "remarks": measured.remarks,
        "failure": measured.failure,
    }


def _samples(measured: Measured, name: str) -> list[float]:
    return {"drain": measured.drain, "enqueue": measured.enqueue, "bulk": measured.bulk}[name]


def _shown(values: Sequence[float]) -> str:
    return str(Samples.of(values)) if values else "-"
