"""Measured figures, shown by `pytest -s` and by failed tests."""

import sys
from collections.abc import Sequence
from math import ceil


def figure(text: str) -> None:
    """Print one figure."""
    sys.stdout.write(f"\nmeasured: {text}\n")


def quantiles(seconds: Sequence[float]) -> str:
    """Describe the median, the 99th percentile and the longest of some durations."""
    if not seconds:
        return "none"
    ordered = sorted(seconds)
    late = ordered[ceil(0.99 * len(ordered)) - 1]
    return f"p50 {ordered[len(ordered) // 2]:.2f} s, p99 {late:.2f} s, max {ordered[-1]:.2f} s, of {len(ordered)}"
