"""What the channels to other processes have in common; how hints travel is up to each."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from horae.forking import BuiltAnewInChild
from horae.listeners import Listeners
from horae.wakeup.channel import Hint, Listener
from horae.wakeup.outbox import Outbox


class Receiver(Protocol):
    """What receives the hints of other processes, on a thread of its own."""

    def close(self) -> None:
        """Stop receiving."""
        ...


R = TypeVar("R", bound=Receiver)


class ProcessChannel(BuiltAnewInChild, ABC, Generic[R]):
    """A `WakeupChannel` between processes, which receives from the first subscription on."""

    listens = True

    def __init__(
        self,
        *,
        interval: float,
        on_failure: Callable[[Exception], None] | None = None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """`interval`, `on_failure`, `on_end`: of the outbox to other processes."""
        self._lock = threading.Lock()
        self._closed = False
        self._listeners = Listeners[Hint]()
        self._receiver: R | None = None
        self._here = Outbox("horae-hints-here", self._pass_on)
        self._outbox = Outbox(
            "horae-hints-sender",
            self._transmit,
            interval=interval,
            on_failure=on_failure,
            on_end=on_end,
        )

    @abstractmethod
    def _transmit(self, hints: Sequence[Hint]) -> None:
        """Send hints to other processes."""

    @abstractmethod
    def _listen(self) -> R | None:
        """Begin to receive; return None if that is impossible."""

    def send(self, hint: Hint, *, piggybacked: bool = False) -> None:
        """Send the hint to every process soon; this one gets it at once, and only once."""
        if self._listeners:
            self._here.put(hint)
        if not piggybacked:
            self._outbox.put(hint)

    def piggyback(self, hint: Hint) -> tuple[str, str] | None:  # noqa: ARG002 - for those who can
        """Return None: no statement can send a hint through this channel."""
        return None

    def _pass_on(self, hints: Iterable[Hint]) -> None:
        """Call the listeners of this process."""
        for hint in hints:
            self._listeners.call(hint)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` for each hint, perhaps on two threads at once.

        Return a function that ends this.

        Where hints may have been missed while nothing listened, the listener is called once for
        every kind, without ids.
        """
        remove = self._listeners.add(listener)
        with self._lock:
            if self.listens and self._receiver is None and not self._closed:
                self._receiver = self._listen()
        return remove

    def close(self) -> None:
        """Send the waiting hints, then stop; the listeners are not called any more."""
        with self._lock:
            self._closed = True
            receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.close()
        self._here.close()
        self._outbox.close()
