"""Faults of nodes and of everything that they need, each a context manager over a scene: it lasts as long as its block."""

import signal
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from itertools import cycle
from typing import Final

from tests.faults.measure.scene import Scene
from tests.harness import file_faults, server_faults
from tests.harness.background import Repeated
from tests.harness.clocks import obeying, server_clock_stepped
from tests.harness.pgbouncer import PgBouncer
from tests.harness.postgres import PostgresServer, StopMode

HOURS: Final = 3600.0


@contextmanager
def node_killed(scene: Scene) -> Generator[None]:
    """Kill a node with SIGKILL, and start another one in its place."""
    scene.nodes[0].kill()
    scene.nodes[0].wait()
    scene.node(queues=scene.main_queues)
    yield


@contextmanager
def nodes_killed(scene: Scene, every: float) -> Generator[None]:
    """Kill one node after another, and replace each."""
    main = scene.main_nodes()
    numbers = cycle(range(len(main)))

    def kill() -> None:
        number = next(numbers)
        main[number].kill()
        main[number].wait()
        main[number] = scene.node(queues=scene.main_queues)

    with Repeated(kill, every):
        yield


@contextmanager
def node_stopped(scene: Scene) -> Generator[None]:
    """Stop a node with SIGSTOP, and continue it at the end of the block."""
    process = scene.nodes[0]
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


@contextmanager
def server_restarted(scene: Scene, mode: StopMode) -> Generator[None]:
    """Restart the server at once."""
    server(scene).restart(mode)
    yield


@contextmanager
def pool_exhausted(scene: Scene, seconds: float) -> Generator[None]:
    """Let one body on each node hold all connections that its services share."""
    scene.horae.jobs.start_many("hold_the_pool", [{"seconds": seconds}] * len(scene.main_nodes()))
    yield


@contextmanager
def network_silent(scene: Scene) -> Generator[None]:
    """Let the network between nodes and server lose everything, without an error on either side."""
    assert scene.network is not None
    scene.network.silence()
    try:
        yield
    finally:
        scene.network.resume()


@contextmanager
def network_cut(scene: Scene) -> Generator[None]:
    """Reset all connections between nodes and server, and refuse new ones."""
    assert scene.network is not None
    scene.network.refuse()
    scene.network.cut()
    try:
        yield
    finally:
        scene.network.resume()


@contextmanager
def pooler_reconnects(scene: Scene) -> Generator[None]:
    """Let the pooler replace all of its connections to the server, as for a fail-over."""
    pooler(scene).command("RECONNECT")
    yield


@contextmanager
def disk_full(scene: Scene) -> Generator[None]:
    """Fill the disk of the database; a server that has ended because of this is started when there is room again."""
    assert scene.disk is not None
    try:
        with file_faults.disk_full(scene.disk):
            yield
    finally:
        if scene.server is not None and scene.server.has_ended:
            scene.server.halt()
            scene.server.start()


@contextmanager
def writes_refused(scene: Scene) -> Generator[None]:
    """Let SQLite refuse every write, as on a file system that has become read-only."""
    with obeying(scene.control.file), scene.control.during(refuse_writes=True):
        yield


@contextmanager
def clocks_stepped(scene: Scene, seconds: float) -> Generator[None]:
    """Step the clocks of all processes of a machine with a SQLite file, and set them right again."""
    with obeying(scene.control.file), scene.control.during(clock_step=seconds):
        yield


@contextmanager
def node_clock_stepped(scene: Scene, seconds: float) -> Generator[None]:
    """Step the clocks of the nodes, and set them right again."""
    with scene.control.during(clock_step=seconds):
        yield


@contextmanager
def server_clock_wrong(scene: Scene, seconds: float) -> Generator[None]:
    """Step the clock of the server, and set it right again."""
    assert scene.server_clock is not None
    with server_clock_stepped(scene.server_clock, seconds):
        yield


@contextmanager
def machine_slept(scene: Scene, seconds: float) -> Generator[None]:
    """Stop all processes; when they continue, their clocks have moved by hours, and stay so."""
    with ExitStack() as stack:
        if scene.server is not None:
            stack.enter_context(server_faults.frozen(scene.server))
        else:
            scene.lasting.enter_context(obeying(scene.control.file))
        asleep = [node for node in scene.nodes if node.poll() is None]
        for node in asleep:
            node.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            scene.control.set(clock_step=seconds)
            stack.close()  # the clock of the server is set by a statement
            if scene.server_clock is not None:
                scene.server_clock.step(seconds)
            for node in asleep:
                node.send_signal(signal.SIGCONT)


@contextmanager
def interpreter_held(scene: Scene, seconds: float) -> Generator[None]:
    """Run a body that blocks all other threads of its node."""
    scene.horae.jobs.start("hold_the_interpreter", seconds=seconds)
    yield


def server(scene: Scene) -> PostgresServer:
    """Return the server of a scene that has one."""
    assert scene.server is not None
    return scene.server


def pooler(scene: Scene) -> PgBouncer:
    """Return the pooler of a scene that has one."""
    assert scene.pooler is not None
    return scene.pooler
