"""Rates and numbers at a time by a key of the job, and which of the waiting jobs may start. Pure.

Invariant: however jobs, nodes and moments are arranged, no more jobs start within a period than a
rate allows, and no more run at once than a limit allows.
"""

from horae.domain.limits.choosing import Bucket, Choice, Chooser, Lane
from horae.domain.limits.limit import OWNER, Limit, check_key, fields_of, key_of, named
from horae.domain.limits.numbers import LimitNumbers, Window, numbers_of
from horae.domain.limits.rate import may_gather, state_now

__all__ = [
    "OWNER",
    "Bucket",
    "Choice",
    "Chooser",
    "Lane",
    "Limit",
    "LimitNumbers",
    "Window",
    "check_key",
    "fields_of",
    "key_of",
    "may_gather",
    "named",
    "numbers_of",
    "state_now",
]
