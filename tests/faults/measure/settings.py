"""Makes the scene that a scenario needs: the database, and the network, disk or clock that will fail."""

import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from tests.faults.measure.scenarios import Need, Scenario
from tests.faults.measure.scene import GRACE, Scene, opened
from tests.harness.clocks import FAKETIME, LibraryClock, SchemaClock, ServerClock
from tests.harness.file_faults import small_disk
from tests.harness.network import Network
from tests.harness.pgbouncer import PgBouncer
from tests.harness.postgres import THROW_AWAY, PostgresServer

DISK: Final = {"sqlite": 24, "postgresql": 160, "pgbouncer": 160}
"""Megabytes of a small disk."""
SESSIONS: Final = 60
"""Sessions of the server that a pooler has: more than bodies hold in transactions."""


@contextmanager
def prepared(
    kind: str,
    scenario: Scenario,
    folder: Path,
    *,
    silence: float | None = None,
    grace: float = GRACE,
) -> Generator[Scene]:
    """Open a scene for the scenario, on its own database of this kind; see `Scene` for the options.

    `kind` is `sqlite`, `postgresql`, or `pgbouncer` for PostgreSQL behind that pooler.
    """
    folder.mkdir(parents=True)
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(DISK[kind])) if Need.DISK in scenario.needs else None
        if kind == "sqlite":
            url = f"sqlite:///{disk or folder}/horae.db"
            yield stack.enter_context(
                opened(Scene(url, folder, disk=disk, silence=silence, grace=grace))
            )
            return
        clock: ServerClock | None = None
        environment = dict[str, str]()
        if Need.SERVER_CLOCK in scenario.needs and FAKETIME.exists():
            clock = LibraryClock(_readable_folder(stack))
            environment.update(clock.environment)
        settings = {**THROW_AWAY, **scenario.settings}
        server = stack.enter_context(PostgresServer(settings, disk=disk, environment=environment))
        url = server.create_database()
        if Need.SERVER_CLOCK in scenario.needs and clock is None:
            clock = SchemaClock(url)
        behind = kind == "pgbouncer" or Need.POOLER in scenario.needs
        pooler = (
            stack.enter_context(PgBouncer(server.port, default_pool_size=SESSIONS))
            if behind
            else None
        )
        port = server.port if pooler is None else pooler.port
        network = stack.enter_context(Network(port)) if Need.NETWORK in scenario.needs else None
        scene = Scene(url, folder, server, network, pooler, disk, clock, silence, grace)
        yield stack.enter_context(opened(scene))


def _readable_folder(stack: ExitStack) -> Path:
    """Return a folder that other users can read, and that is removed in the end."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="horae-clock-")))
    folder.chmod(0o755)
    return folder
