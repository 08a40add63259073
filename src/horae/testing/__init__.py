"""Tools to test the jobs of an application.

Invariants: an application under test has the settings and the database of before when the block
ends, whatever happened in it; nothing runs beside the test.
"""

from horae.testing.application import HoraeTesting, testing
from horae.testing.contexts import job_context
from horae.testing.crash_points import CrashPoint
from horae.testing.crashing import crash_everywhere
from horae.testing.report import BadCrash, CrashReport

__all__ = [
    "BadCrash",
    "CrashPoint",
    "CrashReport",
    "HoraeTesting",
    "crash_everywhere",
    "job_context",
    "testing",
]
