"""The harness's side of the conversation with an adapter, which may hang, crash or babble."""

import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from benchmarks.peers.environments import ROOT

START_WITHIN = 60.0
"""Seconds that an adapter has to connect and to create its tables."""
GRACE = 15.0
"""Seconds beyond its own bound after which an adapter that does not answer is killed."""
STOP_WITHIN = 10.0
"""Seconds in which an adapter must end when its input ends."""
SETTINGS = ("CELERY", "DBOS", "DJANGO", "HORAE", "PG", "PROCRASTINATE")
"""How variables begin that would change what is measured; adapters do not get them."""
END_OF_LOG = 600
"""Characters of the log that an error shows."""


class AdapterFailed(RuntimeError):
    """An adapter ended, did not answer in time, or answered with an error."""


class Conversation:
    """One adapter's process, which leads a group with its worker; used in a `with` statement."""

    def __init__(
        self, name: str, command: list[str], environment: Mapping[str, str], log: Path
    ) -> None:
        """`environment`: what is added to that of this process; `log`: gets what is printed."""
        self.name = name
        self._command, self._log = command, log
        own = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        self._environment = {**own, **environment, "PYTHONPATH": str(ROOT)}
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        try:
            self._answer(START_WITHIN)
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._process is not None:
            with suppress(subprocess.TimeoutExpired, BrokenPipeError):
                _pipe(self._process.stdin).close()
                self._process.wait(STOP_WITHIN)
        self.kill()

    def ask(self, verb: str, count: int, within: float) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            AdapterFailed: there was none within the bound and its grace, or it was an error; an
                adapter that did not answer is killed, with its worker.
        """
        if self._process is None:
            raise AdapterFailed(f"{self.name}: has ended before")
        request = json.dumps({"verb": verb, "count": count, "within": within})
        try:
            stdin = _pipe(self._process.stdin)
            stdin.write(request.encode() + b"\n")
            stdin.flush()
            answer = self._answer(within + GRACE)
        except BrokenPipeError:
            answer = {"error": "the adapter has ended"}
        except AdapterFailed:
            self.kill()
            raise
        if "error" in answer:
            self.kill()
            raise AdapterFailed(f"{self.name}, {verb}: {answer['error']}{self._said()}")
        return answer

    def kill(self) -> None:
        """End the adapter and its worker; does nothing if that was done before."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(BrokenPipeError):
                _pipe(pipe).close()

    def _answer(self, within: float) -> dict[str, Any]:
        line = self._line(time.monotonic() + within)
        try:
            answer = json.loads(line)
        except ValueError:
            raise AdapterFailed(f"{self.name}: answered {line[:80]!r}, which is no JSON") from None
        if not isinstance(answer, dict):
            raise AdapterFailed(f"{self.name}: answered {line[:80]!r}, which is no JSON object")
        return answer

    def _line(self, deadline: float) -> bytes:
        assert self._process is not None
        stdout = _pipe(self._process.stdout)
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise AdapterFailed(f"{self.name}: no answer in time{self._said()}")
                read = os.read(stdout.fileno(), 65536)
                if not read:
                    raise AdapterFailed(f"{self.name}: the adapter has ended{self._said()}")
                self._unread += read
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _said(self) -> str:
        said = self._log.read_text(errors="replace").strip()[-END_OF_LOG:]
        return f"; its log ends: {said}" if said else ""


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
