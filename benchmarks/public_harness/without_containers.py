"""Starts the public harness in its own environment, with processes in the place of containers.

The harness asks Docker for a PostgreSQL server and for its adapters. Here the server is the one
that this project's tests use, with the harness's own `postgres.conf`; Horae and Procrastinate are
started by their interpreters. What is measured, and how, stays the harness's own.
"""

import os
import sys
from pathlib import Path

from tests.harness.postgres import PostgresServer

# Not before, because the harness has a package `tests` as well, which would hide the project's.
sys.path.append(os.environ["HARNESS"])
from bench_harness import adapters, orchestrator

HERE = Path(__file__).parent
CHECKOUT = Path(adapters.SCRIPT_DIR)


def server_settings() -> dict[str, str]:
    """Return the settings in the harness's configuration file."""
    found = {}
    for line in (CHECKOUT / "postgres.conf").read_text().splitlines():
        name, sign, value = line.partition("#")[0].partition("=")
        if sign and name.strip() != "listen_addresses":  # the server listens on loopback only
            found[name.strip()] = value.strip().strip("'")
    return found


def run_as_process(bench_dir: Path, python: str, paths: str) -> adapters.AdapterEntry:
    """Return an adapter that is a Python program, to be started by this interpreter."""

    def launch(manifest: adapters.AdapterManifest, overrides: dict) -> adapters.LaunchSpec:
        return adapters.LaunchSpec(
            argv=[python, str(bench_dir / "main.py")],
            env={**adapters._base_env(manifest, overrides), "PYTHONPATH": paths},  # noqa: SLF001 - as its own adapters do
        )

    return adapters.AdapterEntry(bench_dir, lambda _skip: None, launch)


def main() -> int:
    adapters.ADAPTERS["horae"] = run_as_process(
        HERE / "horae-bench", os.environ["HORAE_PYTHON"], str(HERE.parents[1])
    )
    adapters.ADAPTERS["procrastinate"] = run_as_process(
        CHECKOUT / "procrastinate-bench", os.environ["PROCRASTINATE_PYTHON"], ""
    )
    with PostgresServer(server_settings()) as server:
        adapters.PG_USER, adapters.PG_PORT = "postgres", server.port
        orchestrator.start_postgres = lambda _image: None
        orchestrator.stop_postgres = lambda _image: None
        orchestrator._compose_stop_postgres = lambda _image: server.halt()  # noqa: SLF001 - the calls of Docker
        orchestrator._compose_start_postgres = lambda _image: server.start()  # noqa: SLF001 - the calls of Docker
        return orchestrator.main()


if __name__ == "__main__":
    sys.exit(main())
