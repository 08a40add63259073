"""A thread that receives goes on whatever arrives: also after what its own code cannot read."""

import threading
from contextlib import closing

from typing_extensions import override

from horae.receiving_thread import ReceivingThread


class Receiver(ReceivingThread):
    def __init__(self) -> None:
        super().__init__(close_within=30.0)
        self.failures: list[Exception] = []
        self.received = threading.Event()
        self.start("receiver")

    @override
    def _receive(self) -> None:
        if not self.failures:
            b"\xff".decode("ascii")
        self.received.set()
        self._wait(None, 30.0)

    @override
    def _report(self, error: Exception) -> None:
        self.failures.append(error)


def test_what_cannot_be_read_is_reported_and_does_not_end_the_thread() -> None:
    with closing(Receiver()) as receiver:
        assert receiver.received.wait(30.0)
    assert [type(each) for each in receiver.failures] == [UnicodeDecodeError]
