"""A channel that carries hints only within this process; other processes poll."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from horae.wakeup.channel import Hint, Listener, WakeupChannel
from horae.wakeup.listeners import HintListeners
from horae.wakeup.outbox import Outbox


class SilentChannel:
    """A `WakeupChannel` that reaches no other process."""

    connected = False
    listens = False

    def __init__(self) -> None:
        self._listeners = HintListeners()
        self._here = Outbox("horae-hints-here", self._listeners.call)

    def send(self, hint: Hint, *, piggybacked: bool = False) -> None:  # noqa: ARG002 - no others
        """Call the listeners of this process soon."""
        if self._listeners:
            self._here.put(hint)

    def piggyback(self, hint: Hint) -> None:
        """Return None: no other process is to get a hint."""

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for each hint of this process. Return a function that ends this."""
        return self._listeners.add(listener)

    def close(self) -> None:
        """Deliver the waiting hints, then stop."""
        self._here.close()


if TYPE_CHECKING:
    _conforms: type[WakeupChannel] = SilentChannel
