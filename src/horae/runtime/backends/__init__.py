"""What a node does for queues whose jobs a backend runs: send messages, withdraw and renew them.

Invariant: the message is a hint; the claim decides, so a lost or repeated message is harmless.
"""

from horae.runtime.backends.checks import check_backends
from horae.runtime.backends.dispatcher import Dispatcher

__all__ = ["Dispatcher", "check_backends"]
