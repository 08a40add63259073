"""A real `horae run` with an application, on a port that it keeps when it is restarted."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.harness.forked import ForkedProcess
from tests.harness.operating_system import free_loopback_port

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 30.0
"""Seconds after which a start, a stop or a request has failed."""
ON_SQLITE: Final = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
"""For tests of pages, which look the same whatever the database is."""
READY: Final = re.compile(r"horae \S+ is ready: .*(http://\S+/)$")


class Served:
    """One node with its API and dashboard. Its log output is in `log`, for the report of a failed test."""

    def __init__(self, app: str, database: str, folder: Path, *arguments: str) -> None:
        self.port = free_loopback_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self._arguments = [
            "run",
            app,
            "--database",
            database,
            "--port",
            str(self.port),
            "--grace",
            "0",
            *arguments,
        ]
        self._environment = {**os.environ, "HORAE_DATABASE": database, "HORAE_LOCAL_STAFF": "true"}
        self._log_file = folder / f"node-{self.port}.log"
        self._process: ForkedProcess | None = None

    @property
    def log(self) -> str:
        """Return its output on stderr so far."""
        return self._log_file.read_text(errors="replace") if self._log_file.exists() else ""

    def start(self) -> None:
        """Start it, and wait until it serves requests."""
        with self._log_file.open("a") as log:
            process = ForkedProcess(
                "horae",
                self._arguments,
                environment=self._environment,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._process = process
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert READY.match(ready.rstrip()), f"{ready!r}\n{self.log}"

    def stop(self) -> None:
        """Send SIGTERM and wait until it has ended; does nothing if it has ended already."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.terminate()
        try:
            process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise

    def kill(self) -> None:
        """Send SIGKILL, so that it cannot unregister."""
        assert self._process is not None
        process, self._process = self._process, None
        process.kill()
        process.communicate()

    def begin(self, job_type: str, **params: Any) -> int:
        """Start a job over HTTP, as another program would. Return its id."""
        answer = httpx.post(f"{self.url}api/jobs/types/{job_type}/", json=params, timeout=PATIENCE)
        assert answer.status_code == 202, answer.text
        identifier: int = answer.json()["id"]
        return identifier

    def read(self, path: str) -> Any:
        """Return the API's response for this path."""
        answer = httpx.get(f"{self.url}api/{path}", timeout=PATIENCE)
        assert answer.status_code == 200, answer.text
        return answer.json()
