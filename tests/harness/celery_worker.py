"""A real Celery worker in a process of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Final, Self

from tests.harness.body_log import LOG_VARIABLE
from tests.harness.operating_system import EndGuard

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 30.0
"""Seconds to wait for a start or a stop."""
PAUSE: Final = 0.02
"""Seconds between two looks at the log of a worker that starts."""
NONE: Final[Mapping[str, str]] = MappingProxyType({})


class CeleryWorker:
    """A worker that runs inside `with`, with its child processes in a session of their own."""

    def __init__(  # noqa: PLR0913 - the options of a worker
        self, folder: Path, database: str, broker: str, *, pool: str = "prefork", concurrency: int = 2,
        application: str = "tests.contrib.celery_application", log: Path | None = None,
        environment: Mapping[str, str] = NONE, options: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        """`folder`: of its own log; `log`: the log of the bodies."""
        self._file = folder / f"worker-{time.monotonic_ns()}.log"
        self._environment = {
            **os.environ, "HORAE_DATABASE": database, "CELERY_BROKER_URL": broker,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            **({} if log is None else {LOG_VARIABLE: str(log)}), **environment,
        }  # fmt: skip
        self._command = [
            sys.executable, "-m", "celery", "-A", f"{application}:app", "worker", "-P", pool, "-c", str(concurrency),
            "-l", "info", "-n", f"{self._file.stem}@test", "--without-mingle", "--without-gossip", *options,
        ]  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None
        self._guard: EndGuard | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def log(self) -> str:
        """What the worker has logged."""
        return self._file.read_text(errors="replace") if self._file.exists() else ""

    @property
    def children(self) -> list[int]:
        """The ids of the processes of its pool."""
        assert self.process is not None
        found = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in found if b"celery" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def start(self) -> None:
        """Start the worker, and wait until it takes messages."""
        started = self.log.count(" ready.")
        with self._file.open("ab") as output:
            self.process = subprocess.Popen(
                self._command,
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._guard = EndGuard(self.process.pid, self._file.with_suffix(".none"))
        deadline = time.monotonic() + PATIENCE
        while self.log.count(" ready.") == started:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"the worker did not start:\n{self.log[-3000:]}")
            time.sleep(PAUSE)

    def run_to_its_end(self) -> int:
        """Start a worker that is to refuse its start; return its exit code."""
        with self._file.open("ab") as output:
            return subprocess.run(
                self._command, cwd=ROOT, env=self._environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, start_new_session=True, timeout=PATIENCE, check=False,
            ).returncode  # fmt: skip

    def stop(self) -> int:
        """Stop the worker in the usual way: it finishes its jobs; return its exit code."""
        assert self.process is not None
        self.process.terminate()
        if self._guard is not None:
            self._guard.dismiss()
            self._guard = None
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGUSR1)  # Celery writes what each thread does
            time.sleep(1.0)
            raise RuntimeError(f"the worker did not stop:\n{self.log[-20_000:]}") from None

    def kill(self) -> None:
        """Kill the worker and all its processes; does nothing if it has ended."""
        if self.process is None:
            return
        if self._guard is not None:
            self._guard.dismiss()
            self._guard = None
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE)
