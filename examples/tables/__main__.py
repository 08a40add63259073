"""The application and a node beside it, on a SQLite file or on HORAE_DATABASE. Ctrl-C ends both."""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn

from examples.tables.app import app, horae
from examples.tables.tables import DATABASE, create_tables

NODE = (
    sys.executable,
    "-m",
    "horae",
    "run",
    "examples.tables.app:horae",
    "--port",
    "0",
    "--log-level",
    "warning",
)
LAST_REQUESTS = 2
"""Seconds that requests have to end at shutdown; the event stream of a page would never end by itself."""


def main() -> None:
    """Serve until a signal arrives."""
    arguments = argparse.ArgumentParser(prog="python -m examples.tables", description=__doc__)
    arguments.add_argument("--port", type=int, default=8000)
    port: int = arguments.parse_args().port
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    create_tables()
    horae.open()  # creates the tables of Horae in a new SQLite file
    with node():
        print(f"Tables: http://127.0.0.1:{port}/", flush=True)
        uvicorn.run(app, port=port, log_level="warning", timeout_graceful_shutdown=LAST_REQUESTS)


@contextmanager
def node() -> Generator[None]:
    """Run a node in a separate process, which prints the address of its dashboard."""
    environment = {**os.environ, "HORAE_DATABASE": DATABASE}
    # In a new session: Ctrl-C must only reach this process, which then stops the node in order.
    process = subprocess.Popen(NODE, env=environment, start_new_session=True)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
