"""Listening in tests: hints come to a queue, and a test waits for the one that it knows must come."""

from collections.abc import Callable
from queue import Queue
from typing import Final, Self

from horae.domain.jobs.job import JobId
from horae.wakeup.channel import Hint, HintKind, WakeupChannel
from horae.wakeup.postgres import ANYTHING, PostgresChannel

PATIENCE: Final = 60.0


class Ear:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[Hint] = []
        self._queue: Queue[Hint] = Queue()

    @classmethod
    def on(cls, channel: WakeupChannel) -> Self:
        """The first listener of a channel, once other processes can reach it."""
        ear = cls()
        channel.subscribe(ear)
        if isinstance(channel, PostgresChannel):
            ear.wait_for_anything()
        return ear

    def __call__(self, hint: Hint) -> None:
        self._queue.put(hint)

    def wait_for(self, hint: Hint) -> None:
        self.wait_until(lambda: self.heard[-1:] == [hint])

    def wait_for_anything(self) -> None:
        """Until the channel says that it can hear (again), and that anything may have happened; forgets that."""
        for hint in ANYTHING:
            self.wait_for(hint)
        self.heard.clear()

    def wait_until(self, satisfied: Callable[[], bool]) -> None:
        while not satisfied():
            self.heard.append(self._queue.get(timeout=PATIENCE))

    def has_heard_nothing(self) -> bool:
        return self._queue.empty() and not self.heard

    def ids(self) -> set[JobId]:
        return {job_id for hint in self.heard for job_id in hint.job_ids}


def work(*ids: int) -> Hint:
    return Hint(HintKind.WORK, tuple(JobId(id_) for id_ in ids))


def cancel(*ids: int) -> Hint:
    return Hint(HintKind.CANCEL, tuple(JobId(id_) for id_ in ids))


def ended(*ids: int) -> Hint:
    return Hint(HintKind.ENDED, tuple(JobId(id_) for id_ in ids))
