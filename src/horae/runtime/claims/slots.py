"""How many bodies may run at a time: one limit for all nodes of a process."""

from collections.abc import Callable

from horae.runtime.signals import Signal


class Slots:
    """A limited number of slots, shared by the workers of one event loop. Each running body takes one."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.free = limit
        """How many more bodies may begin."""
        self._freed = Signal[[]]()
        self._workers = 0

    def take(self) -> None:
        """Take a slot for a body that begins."""
        self.free -= 1

    def release(self) -> None:
        """Free the slot of a body that has ended."""
        self.free += 1
        if self._workers > 1:  # a worker alone knows it anyway
            self._freed.send()

    def join(self, on_free: Callable[[], None]) -> None:
        """Add a worker; `on_free` is called when a slot becomes free that several workers share."""
        self._freed.connect(on_free)
        self._workers += 1

    def leave(self, on_free: Callable[[], None]) -> None:
        """Remove a worker."""
        self._freed.disconnect(on_free)
        self._workers -= 1
