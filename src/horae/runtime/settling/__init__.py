"""How a node writes the ends of its bodies, and what follows the commit: hints, hooks, retries.

Invariants: an end that cannot be written is repeated until it is, for as long as its node lives;
others are notified only after the commit; writing an end twice changes nothing.
"""

from horae.runtime.settling.completion import Completion
from horae.runtime.settling.hook_service import HookService
from horae.runtime.settling.settler import Repetition, Settler, settle_batch, state_after

__all__ = ["Completion", "HookService", "Repetition", "Settler", "settle_batch", "state_after"]
