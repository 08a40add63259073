"""The result of a benchmark: samples of both sides, their ratio, and the budget for it."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from typing_extensions import override

Bound = Literal["ratio at least", "at least", "at most"]


@dataclass(frozen=True, slots=True)
class Samples:
    """One figure of each round."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> "Samples":
        return cls(tuple(values))

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @override
    def __str__(self) -> str:
        low, high = min(self.values), max(self.values)
        spread = "" if len(self.values) == 1 else f" ({_short(low)}-{_short(high)})"
        return _short(self.median) + spread


@dataclass(frozen=True, slots=True)
class Budget:
    """A bound on the ratio of the two medians, or on Horae's own."""

    bound: Bound
    limit: float

    @property
    def by_ratio(self) -> bool:
        """Return whether it bounds the ratio."""
        return self.bound == "ratio at least"

    @override
    def __str__(self) -> str:
        sign = "≤" if self.bound == "at most" else "≥"
        return f"{sign} {self.limit:g}" + ("x" if self.by_ratio else "")


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table."""

    name: str
    database: str
    unit: str
    horae: Samples
    raw: Samples | None = None
    budget: Budget | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.raw is None else self.horae.median / self.raw.median

    @property
    def kept(self) -> bool | None:
        """Return whether the result is within the budget; None without one."""
        if self.budget is None:
            return None
        value = self.ratio if self.budget.by_ratio else self.horae.median
        if value is None:
            return None
        return (
            value <= self.budget.limit
            if self.budget.bound == "at most"
            else value >= self.budget.limit
        )

    @property
    def shortfall(self) -> str:
        """Return what a figure that breaks its budget is, in one line."""
        by_ratio = self.ratio is not None and self.budget is not None and self.budget.by_ratio
        value = f"{self.ratio:.2f}x" if by_ratio else f"{_short(self.horae.median)} {self.unit}"
        return f"{self.name}, {self.database}: {value}, not {self.budget}"

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "database": self.database,
            "unit": self.unit,
            "horae": self.horae.values,
            "raw": None if self.raw is None else self.raw.values,
            "ratio": self.ratio,
            "budget": None if self.budget is None else str(self.budget),
            "kept": self.kept,
            "note": self.note,
        }


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that a `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
