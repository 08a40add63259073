"""The faults, one function each: what happens to the nodes or the server while they work."""

import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import psycopg

from tests.faults.measure.scene import Scene
from tests.harness.postgres import PostgresServer

Scenario = Callable[[Scene, PostgresServer | None], str]


def killed_in_a_backlog(scene: Scene, _server: PostgresServer | None, *, seconds: float = 0.0, jobs: int = 4000) -> str:
    """Kill one of two nodes with SIGKILL while it runs jobs that are tried once."""
    victim = scene.node()
    scene.horae.jobs.start_many("once" if seconds else "once_async", [{"seconds": seconds}] * jobs)
    scene.until_begun(jobs // 10)
    victim.kill()
    held = scene.node()
    scene.until_over()
    held.terminate()
    return ""


def killed_in_short_bodies(scene: Scene, server: PostgresServer | None) -> str:
    """Kill a node with bodies of 20 ms on threads."""
    return killed_in_a_backlog(scene, server, seconds=0.02, jobs=600)


def read_only(scene: Scene, server: PostgresServer | None, *, seconds: float) -> str:
    """Let the server refuse every write for a while, as in a fail-over."""
    assert server is not None
    scene.node()
    scene.node()
    scene.horae.jobs.start_many("once", [{"seconds": 0.3}] * 100)
    scene.until_begun(20)
    _set(server, "on")
    time.sleep(seconds)
    _set(server, "off")
    return f"over {scene.until_over():.1f} s later"


def _set(server: PostgresServer, read_only_: str) -> None:
    with psycopg.connect(server.url().replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("SET default_transaction_read_only = off")
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {read_only_}".encode())
        connection.execute("SELECT pg_reload_conf()")


def frozen_server(scene: Scene, server: PostgresServer | None) -> str:
    """Stop every process of the server for 13 s, then continue it."""
    assert server is not None
    for _ in range(3):
        scene.node()
    scene.horae.jobs.start_many("once", [{"seconds": 1.0}] * 45)
    scene.until_begun(15)
    pids = _processes_of(server)
    _signal(pids, signal.SIGSTOP)
    time.sleep(13)
    _signal(pids, signal.SIGCONT)
    return f"over {scene.until_over():.1f} s later, {scene.node_count()} of 3 nodes listed"


def restarted_server(scene: Scene, server: PostgresServer | None) -> str:
    """Restart the server in order, with 12 s between."""
    assert server is not None
    for _ in range(3):
        scene.node()
    scene.horae.jobs.start_many("once", [{"seconds": 1.0}] * 15)
    scene.until_begun(15)
    server.halt("fast")
    time.sleep(12)
    server.start()
    return f"over {scene.until_over():.1f} s later"


def stopped_without_a_server(scene: Scene, server: PostgresServer | None) -> str:
    """Send SIGTERM to a node with a grace of 3 s while the server is stopped."""
    assert server is not None
    node = scene.node(grace="3s")
    scene.horae.jobs.start_many("once", [{"seconds": 1.0}] * 5)
    scene.until_begun(5)
    server.halt("immediate")
    began = time.monotonic()
    node.terminate()
    try:
        node.wait(30)
    except subprocess.TimeoutExpired:
        return "NOT ENDED within 30 s"
    finally:
        server.start()
    took = time.monotonic() - began
    scene.node()
    scene.until_over()
    return f"ended after {took:.1f} s"


def interpreter_held(scene: Scene, _server: PostgresServer | None) -> str:
    """Run a body that blocks all other threads for 15 s; it and the other bodies must finish as usual."""
    scene.node()
    scene.node()
    scene.horae.jobs.start_many("hold_the_interpreter", [{"seconds": 15.0}])
    scene.horae.jobs.start_many("once", [{"seconds": 0.2}] * 40)
    return f"over after {scene.until_over():.1f} s"


def attacked(scene: Scene, _server: PostgresServer | None) -> str:
    """Run bodies that try to end their node; every other job must finish, on the same node."""
    node = scene.node()
    for kind in ("SystemExit", "KeyboardInterrupt", "loop.stop", "cancel all"):
        scene.horae.jobs.start("attack", kind=kind)
        scene.horae.jobs.start_many("once_async", [{"seconds": 0.05}] * 10)
        time.sleep(0.5)
    over = scene.until_over()
    return f"node {'lives' if node.poll() is None else 'HAS ENDED'}, over {over:.1f} s later"


def _processes_of(server: PostgresServer) -> list[int]:
    postmaster = int((server.folder / "data" / "postmaster.pid").read_text().splitlines()[0])
    children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    return [*map(int, children), postmaster]


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        subprocess.run(["kill", f"-{number.value}", str(pid)], check=False)


EVERYWHERE: Final[Mapping[str, Scenario]] = {
    "killed in a backlog": killed_in_a_backlog,
    "killed in short bodies": killed_in_short_bodies,
    "interpreter held for 15 s": interpreter_held,
    "attacked by bodies": attacked,
}
ON_POSTGRESQL: Final[Mapping[str, Scenario]] = {
    "read-only for 1 s": lambda scene, server: read_only(scene, server, seconds=1.0),
    "read-only for 6 s": lambda scene, server: read_only(scene, server, seconds=6.0),
    "frozen for 13 s": frozen_server,
    "away for 12 s": restarted_server,
    "SIGTERM without a server": stopped_without_a_server,
}
