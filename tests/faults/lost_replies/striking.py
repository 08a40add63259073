"""Calls of the database whose commit lands although the caller gets an error."""

import os
import socket
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, Final

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from horae.live.sidecar import SideCar
from horae.storage.engine import Database
from tests.faults.lost_replies.call_sites import CALLED, CallSite, Sites
from tests.harness.network import Network
from tests.harness.postgres_protocol import Commit

TRANSACTIONS: Final = ("transact", "transact_at_once")


class Striking:
    """Lets the first call of each chosen site fail after its commit, and records which sites are called.

    With a network, the server's answer is lost on the way; otherwise the driver's error is raised after the commit.
    """

    def __init__(self, sites: Sites, chosen: Collection[CallSite], network: Network | None) -> None:
        self._sites, self._chosen, self._network = sites, chosen, network
        self.calls = Counter[CallSite]()
        self.struck = Counter[CallSite]()
        self._armed = set[int]()
        self._lock = threading.Lock()

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Take the place of the functions of `Database`, and of the live store's own file."""
        for owner, name in [
            *((Database, name) for name in CALLED if not name.endswith("_async")),
            (SideCar, "run"),
        ]:
            monkeypatch.setattr(
                owner,
                name,
                self._replacement(getattr(owner, name), is_transaction=name in TRANSACTIONS),
            )
        for name in CALLED:
            if name.endswith("_async"):
                monkeypatch.setattr(
                    Database, name, self._async_replacement(getattr(Database, name))
                )

    def is_lost(self, commit: Commit) -> bool:
        """Return whether the answer to this commit is lost: its connection was chosen just before."""
        with self._lock:
            armed = commit.client_port in self._armed
            self._armed.discard(commit.client_port)
        return armed

    def _replacement(
        self, original: Callable[..., Any], *, is_transaction: bool
    ) -> Callable[..., Any]:
        def call(database: Any, statement: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            site = self._struck_at(sys._getframe(1))  # noqa: SLF001 - the caller decides what is struck
            if site is None:
                return original(database, statement, *args, **kwargs)
            if self._network is not None:
                return original(
                    database,
                    self._arming(statement, is_transaction=is_transaction),
                    *args,
                    **kwargs,
                )
            original(database, statement, *args, **kwargs)
            raise lost_reply()

        return call

    def _async_replacement(self, original: Callable[..., Any]) -> Callable[..., Any]:
        async def call(
            database: Any, statement: Callable[..., Any], /, *args: Any, **kwargs: Any
        ) -> Any:
            site = self._struck_at(sys._getframe(1))  # noqa: SLF001 - as above
            if site is None:
                return await original(database, statement, *args, **kwargs)
            if self._network is not None:
                armed = self._arming(
                    statement, is_transaction=original.__name__ == "transact_async"
                )
                return await original(database, armed, *args, **kwargs)
            await original(database, statement, *args, **kwargs)
            raise lost_reply()

        return call

    def _struck_at(self, frame: Any) -> CallSite | None:
        """Record the call, and return its site if the answer to this call is to be lost."""
        site = self._sites.of_frame(frame)
        if site is None:
            return None
        with self._lock:
            self.calls[site] += 1
            if site not in self._chosen or self.struck[site]:
                return None
            self.struck[site] += 1
        return site

    def _arming(self, statement: Callable[..., Any], *, is_transaction: bool) -> Callable[..., Any]:
        def armed(connection: Connection, /, *args: Any, **kwargs: Any) -> Any:
            if not is_transaction:
                self._arm(connection)
            result = statement(connection, *args, **kwargs)
            if is_transaction:
                self._arm(connection)
            return result

        return armed

    def _arm(self, connection: Connection) -> None:
        driver: Any = connection.connection.driver_connection
        with socket.socket(fileno=os.dup(driver.fileno())) as duplicate:
            port = duplicate.getsockname()[1]
        with self._lock:
            self._armed.add(port)


def lost_reply() -> OperationalError:
    """Return an error as SQLAlchemy raises it for a driver that got no answer to its commit."""
    return OperationalError("COMMIT", {}, sqlite3.OperationalError("disk I/O error"))
