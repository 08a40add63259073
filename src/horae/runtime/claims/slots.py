"""How many bodies may run at a time: one limit for all nodes of a process."""

from collections.abc import Callable


class Slots:
    """A count that workers of one event loop share; whoever frees a slot tells the others."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.free = limit
        """How many more bodies may begin."""
        self._listeners: list[Callable[[], None]] = []

    def take(self) -> None:
        """Begin a body."""
        self.free -= 1

    def release(self) -> None:
        """A body has ended."""
        self.free += 1
        if len(self._listeners) > 1:
            for listener in self._listeners:
                listener()

    def listen(self, on_release: Callable[[], None]) -> None:
        """Call `on_release` whenever a slot of a shared limit becomes free."""
        self._listeners.append(on_release)

    def forget(self, on_release: Callable[[], None]) -> None:
        """Call it no longer."""
        self._listeners.remove(on_release)
