"""Work on a thread of its own, which lasts as long as a block."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, Self

PATIENCE: Final = 60.0
"""Seconds that the end of a block waits for the work to end."""


class Background(ABC):
    """Work that begins with its block and is told by `done` that the block has ended."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self._thread = threading.Thread(target=self.work, name=type(self).__name__, daemon=True)

    @abstractmethod
    def work(self) -> None:
        """Do the work, on the thread, until `done` is set."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self._thread.join(PATIENCE)


class Repeated(Background):
    """Calls a function before the block begins, and again and again with a pause of `every` seconds."""

    def __init__(self, action: Callable[[], object], every: float) -> None:
        super().__init__()
        self._action, self._every = action, every

    def __enter__(self) -> Self:
        self._action()
        return super().__enter__()

    def work(self) -> None:
        """Repeat the call."""
        while not self.done.wait(self._every):
            self._action()
