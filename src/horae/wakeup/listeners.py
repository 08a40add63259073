"""The subscribers to hints in this process."""

from collections.abc import Callable, Iterable
from logging import ERROR

from horae.forking import ForkSafeLock
from horae.guarded_log import guarded_log
from horae.wakeup.channel import Hint, Listener

_log = guarded_log(__name__)


class HintListeners:
    """Calls every listener with every hint; an exception of one does not affect the others."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._listeners: dict[object, Listener] = {}

    def __bool__(self) -> bool:
        """Return whether there is a listener."""
        return bool(self._listeners)

    def add(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` from now on.

        Return a function that ends this; to call it twice does no harm.
        """
        registration = object()  # the same function may be registered twice
        with self._lock:
            self._listeners = {**self._listeners, registration: listener}

        def remove() -> None:
            with self._lock:
                self._listeners = {
                    key: value for key, value in self._listeners.items() if key is not registration
                }

        return remove

    def call(self, hints: Iterable[Hint]) -> None:
        """Call all present listeners, in the order in which they were added."""
        for hint in hints:
            for listener in self._listeners.values():
                # The other listeners get the hint in any case.
                with _log.guard(
                    "a listener failed with the hint %s", hint, level=ERROR, traceback=True
                ):
                    listener(hint)
