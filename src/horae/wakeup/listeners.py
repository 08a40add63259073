"""Who wants to hear hints in this process."""

import logging
from collections.abc import Callable, Iterable

from horae.forking import ForkSafeLock
from horae.wakeup.channel import Hint, Listener

_log = logging.getLogger(__name__)


class Listeners:
    """Calls every listener with every hint; one that raises harms nobody."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._listeners: dict[object, Listener] = {}

    def __bool__(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def add(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` from now on; the answer ends that, and may be called twice."""
        registration = object()  # the same function may listen twice
        with self._lock:
            self._listeners = {**self._listeners, registration: listener}

        def remove() -> None:
            with self._lock:
                self._listeners = {key: value for key, value in self._listeners.items() if key is not registration}

        return remove

    def call(self, hints: Iterable[Hint]) -> None:
        """Call everybody who listens now, in the order of their coming."""
        for hint in hints:
            for listener in self._listeners.values():
                try:
                    listener(hint)
                except Exception:  # noqa: BLE001 - whatever it is, the others must hear the hint
                    _log.exception("a listener failed on %s", hint)
