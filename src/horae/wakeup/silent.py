"""A channel that carries hints only within this process; other processes poll."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from typing_extensions import override

from horae.wakeup.channel import Hint, WakeupChannel
from horae.wakeup.process_channel import ProcessChannel, Receiver


class SilentChannel(ProcessChannel[Receiver]):
    """A `WakeupChannel` that reaches no other process, and hears of none."""

    connected = False
    listens = False

    def __init__(self) -> None:
        super().__init__(interval=0.0)

    @override
    def send(self, hint: Hint, *, piggybacked: bool = False) -> None:
        super().send(hint, piggybacked=True)  # so that nothing is sent to other processes

    @override
    def _transmit(self, hints: Sequence[Hint]) -> None:
        """Do nothing."""

    @override
    def _listen(self) -> None:
        """Do nothing."""


if TYPE_CHECKING:
    _conforms: type[WakeupChannel] = SilentChannel
