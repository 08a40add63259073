"""No hints between processes, only within this one: everybody else polls."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from horae.wakeup.channel import Hint, Listener, WakeupChannel
from horae.wakeup.listeners import Listeners
from horae.wakeup.outbox import Outbox


class SilentChannel:
    """A `WakeupChannel` that reaches nobody else."""

    connected = False

    def __init__(self) -> None:
        self._listeners = Listeners()
        self._here = Outbox("horae-hints-here", self._listeners.call)

    def send(self, hint: Hint) -> None:
        """Tell this process."""
        if self._listeners:
            self._here.put(hint)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for each hint of this process."""
        return self._listeners.add(listener)

    def close(self) -> None:
        """Pass on what waits."""
        self._here.close()


if TYPE_CHECKING:
    _conforms: type[WakeupChannel] = SilentChannel
