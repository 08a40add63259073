"""Hooks around jobs (`on_error`, `on_cancelled`, `before_delete` ...), on threads of their own.

Invariants: a hook that is owed is called once, after the rollback of the body; its errors are
logged and change nothing; a hook that hangs delays only hooks of its own type.
"""

from horae.types.hooks.hooks import Hooks
from horae.types.hooks.threads import HookThreads

__all__ = ["HookThreads", "Hooks"]
