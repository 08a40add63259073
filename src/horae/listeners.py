"""Functions that are called when something happens, each until it is removed."""

from collections.abc import Callable
from logging import ERROR
from typing import Generic, ParamSpec

from horae.forking import ForkSafeLock
from horae.guarded_log import guarded_log

P = ParamSpec("P")

_log = guarded_log(__name__)


class Listeners(Generic[P]):
    """Calls every listener; an exception of one does not affect the others. Thread-safe."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._calls: dict[object, Callable[P, object]] = {}

    def __bool__(self) -> bool:
        """Return whether there is a listener."""
        return bool(self._calls)

    def add(self, listener: Callable[P, object]) -> Callable[[], None]:
        """Call `listener` from now on.

        Return a function that ends this; to call it twice does no harm.
        """
        registration = object()  # the same function may be registered twice
        with self._lock:
            self._calls = {**self._calls, registration: listener}

        def remove() -> None:
            with self._lock:
                self._calls = {
                    key: value for key, value in self._calls.items() if key is not registration
                }

        return remove

    def call(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all present listeners, in the order in which they were added."""
        for listener in self._calls.values():
            with _log.guard(
                "a listener failed: %r, called with %r", listener, args, level=ERROR, traceback=True
            ):
                listener(*args, **kwargs)
