"""Greenlets, which SQLAlchemy uses for its coroutines: threads of their own that run only when they are switched to."""

from importlib import import_module
from typing import Any, Final

_module: Any = import_module("greenlet")  # it has no type annotations
Greenlet: Final[Any] = _module.greenlet
current_greenlet: Final[Any] = _module.getcurrent
