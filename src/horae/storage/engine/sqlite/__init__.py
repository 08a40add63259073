"""What only SQLite needs: how a file is opened, identified, locked and shared by processes.

Invariant: a node's life is a lock on a file, never a heartbeat row, so that a body that holds the
database makes no node look dead.
"""

from horae.storage.engine.sqlite.body_turns import BodyTurns
from horae.storage.engine.sqlite.crash_copy import copy_after_crash
from horae.storage.engine.sqlite.file_identity import DatabaseFile
from horae.storage.engine.sqlite.file_lock import LOCK_SUFFIX, is_abandoned
from horae.storage.engine.sqlite.file_modes import make_file, make_folder, mode_beside
from horae.storage.engine.sqlite.lock_holder import Holder, process, write_lock_holder
from horae.storage.engine.sqlite.opening import clock_replaced, register_clock, take_write_lock
from horae.storage.engine.sqlite.write_turns import WriteTurns

__all__ = [
    "LOCK_SUFFIX",
    "BodyTurns",
    "DatabaseFile",
    "Holder",
    "WriteTurns",
    "clock_replaced",
    "copy_after_crash",
    "is_abandoned",
    "make_file",
    "make_folder",
    "mode_beside",
    "process",
    "register_clock",
    "take_write_lock",
    "write_lock_holder",
]
