"""The faults of the soak, one function each, chosen by a seed; each ends with what it broke in order again."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeVar

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from benchmarks.soak.nodes import EndedInOrder, SoakNode
from tests.harness.network import Network
from tests.harness.node_processes import wait_until
from tests.harness.postgres import PostgresServer

T = TypeVar("T")

RESCUE_WITHIN: Final = 120.0
"""Seconds after which the wait for a rescue is given up."""
HELD_BY: Final = text("SELECT count(*) FROM horae_jobs WHERE node_id = :node")
TERMINATE: Final = text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND random() < 0.5"
)
NODES_OF: Final = text("SELECT id FROM horae_nodes WHERE pid = :pid")


@dataclass(frozen=True)
class Disturbance:
    """The time of a fault, by the clock of this machine, until its effects were over."""

    fault: str
    began: float
    ended: float


@dataclass
class Faults:
    """Makes faults for the nodes and the server. `network` is the connection of the last node, on PostgreSQL.

    `deadly`: whether nodes are also suspended for longer than they may be silent, which takes some time.
    """

    engine: Engine
    nodes: list[SoakNode]
    server: PostgresServer | None
    network: Network | None
    draw: Random
    deadly: bool = True
    made: Counter[str] = field(default_factory=Counter[str])
    disturbances: list[Disturbance] = field(default_factory=list[Disturbance])
    rescues: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    ends: list[EndedInOrder] = field(default_factory=list[EndedInOrder])
    failed: list[str] = field(default_factory=list[str])
    """Faults whose effects did not pass: a node that did not start again, jobs that were not rescued."""

    def make_one(self) -> None:
        """Make a random fault and wait until its direct effects are over."""
        kinds: dict[Callable[[], None], int] = {
            self.kill: 5,
            self.stop_briefly: 2,
            self.stop_for_long: 2 if self.deadly else 0,
            self.replace: 2,
            self.hold_a_lock: 2,
            self.stay_in_a_transaction: 1,
        }
        if self.server is not None:
            kinds |= {self.restart_server: 1, self.crash_server: 1, self.terminate_backends: 2}
        if self.network is not None:
            kinds |= {self.silence: 1, self.cut: 1}
        [fault] = self.draw.choices(list(kinds), list(kinds.values()))
        name, began = fault.__name__.replace("_", " "), time.time()
        self.made[name] += 1
        try:
            fault()
        except TimeoutError as error:
            self.failed.append(f"{name}: {error}")
        except DBAPIError:
            self.made[f"{name} (not possible)"] += 1  # such as a lock that others held for too long
        finally:
            self.disturbances.append(Disturbance(name, began, time.time()))

    def kill(self) -> None:
        """Kill a node with SIGKILL, start another, and measure how long its jobs wait for their rescue."""
        node = self._one_to_kill()
        node.ready()
        held, name = self._ids_of(node.current.pid), node.current.name
        node.kill()
        began = time.monotonic()
        node.start()
        wait_until(lambda: not self._held_by(held), RESCUE_WITHIN)
        self.rescues.append((name, time.monotonic() - began))

    def stop_briefly(self) -> None:
        """Stop a node for a moment, with SIGSTOP."""
        self._stop(self.draw.uniform(0.2, 2.0))

    def stop_for_long(self) -> None:
        """Stop a node until it counts as dead, with SIGSTOP."""
        self._stop(self.draw.uniform(11.0, 14.0))

    def replace(self) -> None:
        """End a node in order and start another, as a deployment does."""
        node = self._one_to_kill()
        node.ready()
        self.ends.append(node.end())
        node.start()

    def hold_a_lock(self) -> None:
        """Hold a lock that writers of jobs need."""
        with self.engine.connect() as connection:
            statement = (
                "LOCK TABLE horae_jobs IN EXCLUSIVE MODE" if self.server else "BEGIN IMMEDIATE"
            )
            connection.execute(text(statement))
            time.sleep(self.draw.uniform(0.5, 3.0))
            connection.rollback()

    def stay_in_a_transaction(self) -> None:
        """Keep a transaction open that has read, so that no row that is deleted meanwhile can be reused."""
        with self.engine.connect() as connection:
            if self.server is None:
                connection.execute(text("BEGIN"))  # the driver begins no transaction for a SELECT
            connection.execute(text("SELECT count(*) FROM horae_jobs"))
            time.sleep(self.draw.uniform(2.0, 6.0))
            connection.rollback()

    def restart_server(self) -> None:
        """Restart the server in order."""
        self._server.restart("fast")

    def crash_server(self) -> None:
        """Restart the server so that it recovers as after a crash."""
        self._server.restart("immediate")

    def terminate_backends(self) -> None:
        """End about half of all connections."""
        with self.engine.connect() as connection:
            connection.execute(TERMINATE)

    def silence(self) -> None:
        """Let the network of one node lose everything for a moment, without an error."""
        assert self.network is not None
        self.network.silence()
        time.sleep(self.draw.uniform(0.5, 4.0))
        self.network.resume()

    def cut(self) -> None:
        """Reset all connections of one node."""
        assert self.network is not None
        self.network.cut()

    @property
    def _server(self) -> PostgresServer:
        assert self.server is not None
        return self.server

    def _one_to_kill(self) -> SoakNode:
        return self.draw.choice([node for node in self.nodes if node.may_be_killed])

    def _stop(self, seconds: float) -> None:
        node = self.draw.choice(self.nodes)
        node.ready()
        node.stop()
        try:
            time.sleep(seconds)
        finally:
            node.go_on()

    def _ids_of(self, pid: int) -> list[str]:
        return self._ask(
            lambda connection: [row.id for row in connection.execute(NODES_OF, {"pid": pid})]
        )

    def _held_by(self, nodes: list[str]) -> int:
        return self._ask(
            lambda connection: sum(
                connection.scalar(HELD_BY, {"node": node}) or 0 for node in nodes
            )
        )

    def _ask(self, question: Callable[[Connection], T]) -> T:
        """Ask the database, again if the connection was one that a restart of the server has ended."""
        try:
            return self._asked(question)
        except DBAPIError:
            return self._asked(question)

    def _asked(self, question: Callable[[Connection], T]) -> T:
        with self.engine.connect() as connection:
            return question(connection)
