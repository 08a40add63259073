"""Simulations on a real PostgreSQL server, and statements of simulated processes that wait for each other's locks."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import psycopg
import pytest

from tests.simulation import world as worlds
from tests.simulation.faults import Gate
from tests.simulation.plan import plan_of
from tests.simulation.postgresql.connection import SimulatedConnection, connect
from tests.simulation.postgresql.server import (
    DatabaseSource,
    SharedDatabase,
    prepared,
    simulation_server,
)
from tests.simulation.run import simulator
from tests.simulation.template import memory_folder
from tests.simulation.world import Clock, Lane, Process, Surroundings, World

pytestmark = pytest.mark.postgres

ADD = "UPDATE sim_effects SET part = part + 1 WHERE job = %s"


@pytest.fixture(scope="module")
def source() -> Iterator[DatabaseSource]:
    """Return a server for simulations."""
    with simulation_server() as server:
        yield prepared(server)


@pytest.mark.slow
def test_clusters_under_faults_keep_their_promises_and_a_seed_replays_exactly(
    source: DatabaseSource,
) -> None:
    with simulator(source=source) as simulations:
        first, other, again = (simulations.run(plan_of(seed)) for seed in (1003, 1004, 1003))
    assert (first.violations, other.violations) == ([], [])
    assert len(first.trace) > 100
    assert again.trace == first.trace


class Scene:
    """Processes that run on one database, which has a row for each of two jobs."""

    def __init__(self, shared: SharedDatabase) -> None:
        self.shared = shared
        self.world = World("locks", Surroundings(server=shared))
        worlds.enter(self.world)
        self.errors: dict[str, BaseException] = {}
        self.processes: dict[str, Process] = {}
        shared.reader().execute("INSERT INTO sim_effects VALUES (1, 1, 1, 0), (2, 1, 1, 0)")

    def start(self, name: str, act: Callable[[SimulatedConnection], None], at: float = 0.0) -> None:
        """Let a process do something on a connection of its own."""
        clock = Clock(self.world, started=0.0, rate=1.0, wall_offset=0.0)
        self.processes[name] = process = Process(self.world, name, "host", 1, clock)
        self.world.surroundings.processes.append(process)
        self.world.at(at, Lane(process, partial(self._run, name, act), name).start)

    def _run(self, name: str, act: Callable[[SimulatedConnection], None]) -> None:
        try:
            act(connect())
        except psycopg.Error as error:
            self.errors[name] = error

    def end(self, seconds: float = 60.0) -> Mapping[int, int]:
        """Let everything happen, end the processes, and return the numbers of both jobs."""
        self.world.run(lambda: False, seconds)
        for process in self.world.surroundings.processes:
            process.kill()
        self.world.end()
        self.shared.finish()
        rows: Any = self.shared.reader().execute("SELECT job, part FROM sim_effects").fetchall()
        return dict(rows)


@pytest.fixture
def scene(source: DatabaseSource) -> Iterator[Scene]:
    """Return an empty scene."""
    shared = SharedDatabase(*source, memory_folder())
    yield Scene(shared)
    shared.close()


def sleep(seconds: float) -> None:
    worlds.current().wait(seconds)


def hold(connection: SimulatedConnection, *jobs: int, pause: float = 1.0) -> None:
    """Change rows one after another, and commit."""
    for job in jobs:
        connection.execute(ADD, [job])
        sleep(pause)
    connection.commit()


def test_a_statement_waits_in_virtual_time_and_keeps_the_time_of_its_arrival(scene: Scene) -> None:
    times: list[Any] = []

    def follow(connection: SimulatedConnection) -> None:
        connection.autocommit = True
        query = f"{ADD} RETURNING sim.microseconds(statement_timestamp())"
        times.append(connection.execute(query, [1]).fetchone())
        times.append(scene.world.now)

    scene.start("first", lambda connection: hold(connection, 1, pause=5.0))
    scene.start("second", follow, at=2.0)
    assert scene.end() == {1: 2, 2: 0}
    assert times[0][0] / 1e6 - worlds.EPOCH == pytest.approx(2.0, abs=0.1)
    assert times[1] == pytest.approx(5.0, abs=0.1)


def test_the_transaction_that_closes_a_circle_of_waits_fails(scene: Scene) -> None:
    scene.start("first", lambda connection: hold(connection, 1, 2))
    scene.start("second", lambda connection: hold(connection, 2, 1), at=0.5)
    assert scene.end() == {1: 1, 2: 1}
    assert list(scene.errors) == ["second"]
    assert isinstance(scene.errors["second"], psycopg.errors.DeadlockDetected)


def test_a_statement_takes_effect_although_its_process_was_killed_while_it_waited(
    scene: Scene,
) -> None:
    def wait(connection: SimulatedConnection) -> None:
        connection.autocommit = True
        connection.execute(ADD, [1])

    scene.start("first", lambda connection: hold(connection, 1, pause=5.0))
    scene.start("second", wait, at=1.0)
    scene.world.at(2.0, scene.processes["second"].kill)
    assert scene.end() == {1: 2, 2: 0}


def test_a_process_that_is_killed_while_it_is_cut_off_keeps_its_locks_until_the_server_notices(
    scene: Scene,
) -> None:
    got: list[float] = []

    def follow(connection: SimulatedConnection) -> None:
        hold(connection, 1, pause=0.0)
        got.append(scene.world.now)

    def cut_and_kill() -> None:
        Gate.of(scene.processes["first"]).cut(60.0, fails=False)
        scene.processes["first"].kill()

    scene.start("first", lambda connection: hold(connection, 1, pause=5.0))
    scene.start("second", follow, at=2.0)
    scene.world.at(1.0, cut_and_kill)
    assert scene.end() == {1: 1, 2: 0}
    assert got == [pytest.approx(12.0, abs=0.1)]


def test_statements_whose_locks_are_released_at_once_continue_in_the_same_order_in_each_run(
    source: DatabaseSource,
) -> None:
    def ends() -> list[str]:
        shared = SharedDatabase(*source, memory_folder())
        scene, order = Scene(shared), list[str]()

        def follow(name: str, job: int, connection: SimulatedConnection) -> None:
            hold(connection, job, pause=0.0)
            order.append(name)

        scene.start("holder", lambda connection: hold(connection, 1, 2))
        for number in range(8):
            name = f"waiting {number}"
            scene.start(name, partial(follow, name, 1 + number % 2), at=0.1 + 0.01 * number)
        assert scene.end() == {1: 5, 2: 5}
        shared.close()
        return order

    assert ends() == ends()
