"""Calls that may fail under faults: the expected errors are counted by class, all others are reported."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeVar

from sqlalchemy.exc import DBAPIError

from horae.errors import HoraeError

T = TypeVar("T")

MOST_REPORTED: Final = 20
"""Unexpected errors that are kept, so that a failure of each call cannot fill the memory."""


@dataclass
class Calls:
    """What became of the calls of the load and of the clients, by name. May be used by many threads."""

    made: Counter[str] = field(default_factory=Counter[str])
    refused: Counter[str] = field(default_factory=Counter[str])
    unexpected: list[str] = field(default_factory=list[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, name: str, number: int = 1) -> None:
        with self._lock:
            self.made[name] += number

    def refuse(self, name: str) -> None:
        with self._lock:
            self.refused[name] += 1

    def report(self, problem: str) -> None:
        """Keep a problem that must not happen, also under faults."""
        with self._lock:
            if len(self.unexpected) < MOST_REPORTED:
                self.unexpected.append(problem)

    def attempt(self, name: str, call: Callable[[], T]) -> T | None:
        """Call; None if that failed with an error that callers must expect."""
        try:
            result = call()
        except (HoraeError, DBAPIError) as error:
            self.refuse(f"{name}: {type(error).__name__}")
        except Exception as error:  # noqa: BLE001 - reported at the end
            self.report(f"{name}: {type(error).__name__}: {error}")
        else:
            self.count(name)
            return result
        return None


class Worker:
    """A thread that repeats a step until it is stopped."""

    def __init__(
        self, name: str, step: Callable[[], None], pause: Callable[[], float], calls: Calls
    ) -> None:
        self._step, self._pause, self._calls, self._name = step, pause, calls, name
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"soak-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Order the thread to end; `join` waits for it."""
        self._ended.set()

    def join(self) -> None:
        with suppress(RuntimeError):  # it was never started
            self._thread.join(60)
        if self._thread.is_alive():
            self._calls.report(f"{self._name}: a call did not return within 60 s")

    def _run(self) -> None:
        while not self._ended.wait(self._pause()):
            try:
                self._step()
            except Exception as error:  # noqa: BLE001 - reported at the end
                self._calls.report(f"{self._name}: {type(error).__name__}: {error}")


class Workers:
    """The base of what works on several threads, which start and stop together."""

    _workers: Sequence[Worker] = ()

    def start(self) -> None:
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        """Stop all at once, and wait for their last steps."""
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            worker.join()
