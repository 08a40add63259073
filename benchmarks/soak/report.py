"""The report of a soak: a table for people, JSON for programs."""

from collections.abc import Mapping
from typing import Any

from benchmarks.soak.run import Result

MARKS = {True: "held", False: "BROKEN", None: "-"}


def table(result: Result) -> str:
    """Return the verdicts as a table, with what was done before it."""
    rows = [
        (MARKS[each.kept], each.rule, each.subject, each.figure, each.bound)
        for each in result.verdicts
    ]
    header = ("", "rule", "subject", "figure", "bound")
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(3)]
    lines = [
        "  ".join(
            [
                *(cell.ljust(width) for cell, width in zip(row, widths, strict=False)),
                f"{row[3]}  ({row[4]})",
            ]
        )
        for row in rows
    ]
    return "\n".join(
        [
            f"load average of the machine: median {result.load_averages[0]:.1f}, highest {result.load_averages[1]:.1f}",
            f"jobs: {_counts(result.jobs)}",
            f"faults: {_counts(result.faults)}",
            f"calls: {_counts(result.calls)}",
            f"refused under faults: {_counts(result.refused)}",
            *lines,
        ]
    )


def as_json(result: Result) -> dict[str, Any]:
    """Return the result as JSON values."""
    plan = result.plan
    return {
        "database": plan.kind,
        "seconds": plan.seconds,
        "seed": plan.seed,
        "rate": plan.rate,
        "load_averages": result.load_averages,
        "jobs": result.jobs,
        "faults": result.faults,
        "calls": result.calls,
        "refused": result.refused,
        "held": not result.broken,
        "rules": [verdict.as_json() for verdict in result.verdicts],
        "measures": [
            {
                "figure": series.figure,
                "subject": series.subject,
                "unit": series.unit,
                "points": [(round(point.at, 1), point.value) for point in series.points],
            }
            for series in result.measures.series.values()
        ],
    }


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counted.items())) or "none"
