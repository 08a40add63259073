"""Durations, intervals and their grids, and time zones with their clock changes. Pure.

Invariants: a duration of zero or less is refused where it is read; calendar days and months are
added in the schedule's zone, and the end of a month does not stick.
"""

from horae.domain.times.duration import (
    LONGEST_DURATION,
    Duration,
    bounded_duration,
    parse_duration,
)
from horae.domain.times.grid import Grid
from horae.domain.times.interval import Interval
from horae.domain.times.interval_text import read_interval
from horae.domain.times.zone import (
    DAY,
    EPOCH,
    EPOCH_ORDINAL,
    MICROSECOND,
    load_zone,
    span_at,
)

__all__ = [
    "DAY",
    "EPOCH",
    "EPOCH_ORDINAL",
    "LONGEST_DURATION",
    "MICROSECOND",
    "Duration",
    "Grid",
    "Interval",
    "bounded_duration",
    "load_zone",
    "parse_duration",
    "read_interval",
    "span_at",
]
