"""Programs that run beside the tests: how each is started, awaited, killed, and ended with the tests."""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Final, Self

from typing_extensions import override

from tests.harness.operating_system import EndGuard, Workplace, free_loopback_port

PATIENCE: Final = 60.0
"""Seconds to wait for a start or a stop."""
PAUSE: Final = 0.01
"""Seconds between two checks whether a program is ready."""
END_OF_LOG: Final = 3000
"""Characters of the log that an error shows."""


class ProgramFailed(RuntimeError):
    """A program did not start or stop; the message ends with its log."""


class Program(ABC):
    """A program that runs inside `with`, in a session of its own; it can be killed, frozen, and started again."""

    NAME: ClassVar[str]
    """What its errors and its folder are named after."""

    def __init__(self, log_file: Path = Path(os.devnull)) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._guard: EndGuard | None = None
        self._log_file = log_file

    def __enter__(self) -> Self:
        try:
            self._prepare()
            self.start()
        except BaseException:
            self._finish()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._finish()

    @property
    def log(self) -> str:
        """What the program has logged so far."""
        return self._log_file.read_text(errors="replace") if self._log_file.exists() else ""

    def start(self) -> None:
        """Start the program, for the first time or after it has ended, and wait until it is ready."""
        self.process = self._launch()
        self._guard = self._guarded(self.process)
        deadline = time.monotonic() + PATIENCE
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise self._failure("did not start")
            time.sleep(PAUSE)

    def kill(self) -> None:
        """End the program and what it has started without warning; does nothing if it was ended already."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self._ended()

    @contextmanager
    def frozen(self) -> Generator[None]:
        """Stop the process with SIGSTOP, which closes none of its connections; continue it at the end of the block."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def _prepare(self) -> None:  # noqa: B027 - not every program needs it
        """Do what is necessary before the first start."""

    def _finish(self) -> None:
        """End the program at the end of `with`."""
        self.kill()

    @abstractmethod
    def _launch(self) -> subprocess.Popen[bytes]:
        """Start the process, which writes to the log file."""

    @abstractmethod
    def _is_ready(self) -> bool:
        """Return whether the process that was launched last can be used."""

    def _guarded(self, process: subprocess.Popen[bytes]) -> EndGuard:
        return EndGuard(process.pid)

    def _ended(self) -> int:
        """Wait for the end of the process, and return its exit code; raises `subprocess.TimeoutExpired`."""
        assert self.process is not None
        code = self.process.wait(PATIENCE)
        if self._guard is not None:
            self._guard.dismiss()
        self.process = self._guard = None
        return code

    def _failure(self, what: str) -> ProgramFailed:
        return ProgramFailed(f"{self.NAME} {what}; its log ends:\n{self.log[-END_OF_LOG:]}")


class Server(Program):
    """A server with a temporary folder and a free loopback port of its own; root runs it as an ordinary user."""

    def __init__(self, disk: Path | None = None) -> None:
        """`disk`: the folder in which its own is made."""
        super().__init__()
        self._disk = disk
        self.folder = Path()
        self.port = 0

    def stop(self) -> None:
        """Stop the server for good and remove its data; does nothing if it is stopped already."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    @override
    def _prepare(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"horae-{self.NAME}-", dir=self._disk))
        self._log_file = self.folder / "server.log"
        self._workplace = Workplace.prepare(self.folder)
        self.port = free_loopback_port()

    @override
    def _finish(self) -> None:
        self.stop()

    @override
    def _guarded(self, process: subprocess.Popen[bytes]) -> EndGuard:
        return EndGuard(process.pid, self.folder)
