"""DBOS: workflows without steps on a queue, which is looked at as often as its options allow."""

import signal
import threading

import psycopg
from dbos import DBOS, DBOSClient

from benchmarks.peers.protocol import Adapter, Place, ran, stamped

ADDRESS = Place.from_environment().database.replace("postgresql:", "postgresql+psycopg:")
VERSION = "peers"
POLL = 0.02
"""Seconds between two looks at the queue; its default is one second."""


@DBOS.workflow(name="noop")
def noop() -> None:
    ran()


@DBOS.workflow(name="stamp")
def stamp(asked_at: int) -> None:
    stamped(asked_at)


def _launch() -> None:
    DBOS(
        config={
            "name": "peers",
            "system_database_url": ADDRESS,
            "application_version": VERSION,
            "log_level": "WARNING",
        }
    )
    DBOS.launch()


class DbosAdapter(Adapter):
    def prepare(self) -> None:
        _launch()  # creates the tables
        DBOS.destroy()
        self._client = DBOSClient(system_database_url=ADDRESS)
        self._connection = psycopg.connect(self.place.database, autocommit=True)

    def clear(self) -> None:
        self._connection.execute("TRUNCATE dbos.workflow_status CASCADE")

    def enqueue(self, count: int) -> None:
        options = _options("noop")
        for _ in range(count):
            self._client.enqueue(options)

    def stamp(self, asked_at: int) -> None:
        self._client.enqueue(_options("stamp"), asked_at)

    def unfinished(self) -> int:
        query = (
            "SELECT count(*) FROM dbos.workflow_status"
            " WHERE status NOT IN ('SUCCESS', 'ERROR', 'CANCELLED')"
        )
        (count,) = self._connection.execute(query).fetchone()
        return count

    def close(self) -> None:
        self._client.destroy()
        self._connection.close()


def _options(name: str) -> dict[str, str]:
    return {"queue_name": "peers", "workflow_name": name, "app_version": VERSION}


def work() -> None:
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    _launch()
    DBOS.register_queue("peers", polling_interval_sec=POLL)
    ended.wait()
    DBOS.destroy()


ADAPTER = DbosAdapter
