"""The clock of a database under test: it stands still, and moves only when the test moves it.

The database is asked for each time, because the application may close and open it in the test.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime

from typing_extensions import override

from horae.domain.times import EPOCH, MICROSECOND
from horae.storage.engine import Database, clock_replaced, read_clock
from horae.storage.operations import for_tests


class SetClock(ABC):
    """The clock of one database."""

    def __init__(self, database: Callable[[], Database]) -> None:
        self._database = database

    def now(self) -> datetime:
        """Return what the statements of the database see as the present."""
        return self._database().autocommit(read_clock)

    @abstractmethod
    def set(self, moment: datetime) -> None:
        """Let the clock stand at a moment."""

    @abstractmethod
    def restore(self) -> None:
        """Let the clock go on."""


class FileClock(SetClock):
    """The clock of SQLite, which is that of this process."""

    def __init__(self, database: Callable[[], Database]) -> None:
        super().__init__(database)
        self._microseconds = 0
        self._replaced = ExitStack()

    @override
    def set(self, moment: datetime) -> None:
        self._microseconds = (moment - EPOCH) // MICROSECOND
        self._replaced.close()
        self._replaced.enter_context(clock_replaced(lambda: self._microseconds))

    @override
    def restore(self) -> None:
        self._replaced.close()


class ServerClock(SetClock):
    """The clock of a temporary database on a server."""

    @override
    def set(self, moment: datetime) -> None:
        self._database().autocommit(for_tests.set_clock, moment)

    @override
    def restore(self) -> None:
        """Do nothing: the database is dropped."""


class TransactionClock(ServerClock):
    """The clock of one transaction on a server; it is made when it is first set."""

    _path: str | None = None

    @override
    def set(self, moment: datetime) -> None:
        if self._path is None:
            self._path = self._database().transact(for_tests.search_path)
            self._database().transact(for_tests.install_clock)
            self._database().transact(for_tests.use_clock)
        super().set(moment)

    @override
    def restore(self) -> None:
        if self._path is not None:
            self._database().transact(for_tests.remove_clock, self._path)
