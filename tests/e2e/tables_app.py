"""The example `examples/tables` as its users start it: `python -m examples.tables`, with a node beside it."""

import os
import re
from pathlib import Path
from typing import Any, Final

import httpx

from tests.e2e.serving import PATIENCE
from tests.harness.forked import ForkedProcess
from tests.harness.node_processes import wait_until
from tests.harness.operating_system import free_loopback_port

NODE_READY: Final = re.compile(r"^horae \S+ is ready: .*(http://\S+/)$", re.MULTILINE)


class TablesApp:
    """The application, and the dashboard of its node, which shows its schedules to an operator."""

    def __init__(self, database: str, folder: Path) -> None:
        port = free_loopback_port()
        self.url = f"http://127.0.0.1:{port}/"
        self._log_file = folder / "tables.log"
        with self._log_file.open("w") as log:
            environment = {**os.environ, "HORAE_DATABASE": database}
            self._process = ForkedProcess(
                "examples.tables",
                ["--port", str(port)],
                environment=environment,
                stdout=log,
                stderr=log,
            )
        self.test = 0
        """The number of the test that uses it."""
        self._operator = httpx.Client()
        self._base = ""
        self._link = wait_until(self._node_link)
        wait_until(self._answers)

    @property
    def log(self) -> str:
        """Return the output of both processes so far."""
        return self._log_file.read_text(errors="replace")

    def stop(self) -> int:
        """Send SIGTERM, which also ends the node. Return the exit code."""
        self._operator.close()
        self._process.terminate()
        try:
            return self._process.wait(PATIENCE)
        finally:
            self._process.kill()

    def user(self, name: str) -> str:
        """Return the name under which a user signs in, of whom no earlier test has left anything."""
        return f"{name}{self.test}"

    def run_schedule(self, name: str) -> None:
        """Run a declared schedule by hand, as its operator would, and wait until that has finished."""
        schedules = self._operate("GET", "schedules/")["schedules"]
        identifier = next(each["id"] for each in schedules if each["name"] == name)
        job = self._operate("POST", f"schedules/{identifier}/run/")["id"]
        state = wait_until(lambda: self._ended(job))
        assert state == "finished"

    def _ended(self, job: int) -> str | None:
        state: str = self._operate("GET", f"jobs/{job}/")["state"]
        return state if state in ("finished", "failed", "cancelled") else None

    def _operate(self, method: str, path: str) -> Any:
        if not self._base:  # the link that the node prints signs in one client, once
            self._operator.post(self._link, headers={"Origin": self._link.partition("/api/")[0]})
            self._base = self._link.partition("/api/")[0].rstrip("/")
        body: dict[str, str] | None = {} if method == "POST" else None
        answer = self._operator.request(
            method, f"{self._base}/api/{path}", json=body, headers={"Origin": self._base}
        )
        assert answer.is_success, answer.text
        return answer.json()

    def _node_link(self) -> str:
        self._look_alive()
        ready = NODE_READY.search(self.log)
        return ready[1] if ready else ""

    def _answers(self) -> bool:
        self._look_alive()
        try:
            return httpx.get(f"{self.url}api/session").is_success
        except httpx.TransportError:
            return False

    def _look_alive(self) -> None:
        assert self._process.poll() is None, self.log
