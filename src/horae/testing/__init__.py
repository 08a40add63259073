"""Tools to test the jobs of an application."""

from horae.testing.crashing import crash_everywhere
from horae.testing.points import CrashPoint
from horae.testing.report import BadCrash, CrashReport

__all__ = ["BadCrash", "CrashPoint", "CrashReport", "crash_everywhere"]
