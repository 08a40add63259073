"""Jobs that run where they are started (`sync=True`), under the same rules as on a node.

Invariant: an inline job has a lease, an attempt and a settlement like any other.
"""

from horae.runtime.inline.calling_thread import CallingThread
from horae.runtime.inline.inline_node import InlineNode

__all__ = ["CallingThread", "InlineNode"]
