"""A channel whose hints wait for the commit of the caller's transaction."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from horae.wakeup.channel import Hint, Listener, WakeupChannel


class DeferredChannel:
    """Sends hints over another channel, each when `after_commit` calls it: at once if the calling
    thread has no transaction open.
    """

    def __init__(
        self, channel: WakeupChannel, after_commit: Callable[[Callable[[], None]], None]
    ) -> None:
        self._channel, self._after_commit = channel, after_commit

    @property
    def connected(self) -> bool:
        """Return whether hints of other processes arrive at present."""
        return self._channel.connected

    @property
    def listens(self) -> bool:
        """Return whether hints of other processes can ever arrive."""
        return self._channel.listens

    def send(self, hint: Hint, *, piggybacked: bool = False) -> None:
        """Send the hint after the commit."""
        self._after_commit(partial(self._channel.send, hint, piggybacked=piggybacked))

    def piggyback(self, hint: Hint) -> tuple[str, str] | None:
        """Return the notification that a statement sends with its commit, if any."""
        return self._channel.piggyback(hint)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for each hint; return a function that ends the subscription."""
        return self._channel.subscribe(listener)

    def close(self) -> None:
        """Send the waiting hints, then stop."""
        self._channel.close()


if TYPE_CHECKING:
    _conforms: type[WakeupChannel] = DeferredChannel
