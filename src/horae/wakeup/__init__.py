"""Hints between processes, such as "there is work": they save waiting and are never needed.

Invariants: hints are sent outside of the caller's transaction, coalesced, and bounded; with all of
them lost, polling alone is correct.
"""

from horae.wakeup.channel import Hint, HintKind, WakeupChannel, work
from horae.wakeup.deferred import DeferredChannel
from horae.wakeup.local import LocalChannel
from horae.wakeup.payload import CHANNEL, LARGEST_PAYLOAD, encode
from horae.wakeup.silent import SilentChannel

__all__ = [
    "CHANNEL",
    "LARGEST_PAYLOAD",
    "DeferredChannel",
    "Hint",
    "HintKind",
    "LocalChannel",
    "SilentChannel",
    "WakeupChannel",
    "encode",
    "work",
]
