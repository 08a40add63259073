"""A listener that records hints, for tests that wait for the one that must arrive."""

from collections.abc import Callable
from queue import Queue
from typing import Final, Self

from horae.domain.jobs.job import JobId
from horae.wakeup.channel import ALL_KINDS, Hint, HintKind, WakeupChannel
from horae.wakeup.postgres import PostgresChannel
from horae.wakeup.redis import RedisChannel

PATIENCE: Final = 60.0
"""Seconds after which a wait has failed: an upper bound, not a measurement."""


class HintRecorder:
    """A listener that records the hints it receives."""

    def __init__(self) -> None:
        self.received: list[Hint] = []
        self._queue: Queue[Hint] = Queue()

    @classmethod
    def on(cls, channel: WakeupChannel) -> Self:
        """Return the first listener of a channel, once other processes can reach it."""
        recorder = cls()
        channel.subscribe(recorder)
        if isinstance(channel, PostgresChannel | RedisChannel):
            recorder.wait_until_listening()
        return recorder

    def __call__(self, hint: Hint) -> None:
        self._queue.put(hint)

    def wait_for(self, hint: Hint) -> None:
        self.wait_until(lambda: self.received[-1:] == [hint])

    def wait_until_listening(self) -> None:
        """Wait until the channel reports that it listens (again) and may have missed any hint; drop these hints."""
        for hint in ALL_KINDS:
            self.wait_for(hint)
        self.received.clear()

    def wait_until(self, satisfied: Callable[[], bool]) -> None:
        while not satisfied():
            self.received.append(self._queue.get(timeout=PATIENCE))

    def is_empty(self) -> bool:
        return self._queue.empty() and not self.received

    def ids(self) -> set[JobId]:
        return {job_id for hint in self.received for job_id in hint.job_ids}


def work(*ids: int) -> Hint:
    return Hint(HintKind.WORK, tuple(JobId(id_) for id_ in ids))


def cancel(*ids: int) -> Hint:
    return Hint(HintKind.CANCEL, tuple(JobId(id_) for id_ in ids))


def ended(*ids: int) -> Hint:
    return Hint(HintKind.ENDED, tuple(JobId(id_) for id_ in ids))
