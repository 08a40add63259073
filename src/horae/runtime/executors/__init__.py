"""Where bodies run: on the event loop, on threads, or in child processes.

Invariants: a child gets its work by value and never imports by a name from the database; a child
that dies is an outcome of its job, not an error of the node.
"""

from horae.runtime.executors.child_pool import ProcessLimits
from horae.runtime.executors.child_signals import BodyInterrupt
from horae.runtime.executors.loop import LoopExecutor
from horae.runtime.executors.process import ProcessExecutor
from horae.runtime.executors.thread import ThreadExecutor

__all__ = ["BodyInterrupt", "LoopExecutor", "ProcessExecutor", "ProcessLimits", "ThreadExecutor"]
