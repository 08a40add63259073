"""A real Celery worker in a process of its own."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

from typing_extensions import override

from tests.harness.body_log import LOG_VARIABLE
from tests.harness.forked import ForkedProcess
from tests.harness.program import Program

ROOT: Final = Path(__file__).parents[2]
READY: Final = " ready."
"""What a worker logs when it takes messages."""
IMPORTED: Final = (
    "celery.bin.celery",
    "celery.bin.worker",
    "kombu.transport.redis",
    "horae.contrib.celery",
)
"""What a worker imports."""
NONE: Final[Mapping[str, str]] = MappingProxyType({})


class CeleryWorker(Program):
    """A worker that runs inside `with`; `kill` ends the processes of its pool as well."""

    NAME: ClassVar[str] = "celery"

    def __init__(  # noqa: PLR0913 - the options of a worker
        self,
        folder: Path,
        database: str,
        broker: str,
        *,
        pool: str = "prefork",
        concurrency: int = 2,
        application: str = "tests.contrib.celery_application",
        log: Path | None = None,
        environment: Mapping[str, str] = NONE,
        options: tuple[str, ...] = (),
    ) -> None:
        """`folder`: of its own log; `log`: the log of the bodies."""
        super().__init__(folder / f"worker-{time.monotonic_ns()}.log")
        self._environment = {
            "HORAE_DATABASE": database,
            "CELERY_BROKER_URL": broker,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
            **({} if log is None else {LOG_VARIABLE: str(log)}),
            **environment,
        }
        self._arguments = [
            "-A",
            f"{application}:app",
            "worker",
            "-P",
            pool,
            "-c",
            str(concurrency),
            "-l",
            "info",
            "-n",
            f"{self._log_file.stem}@test",
            "--without-mingle",
            "--without-gossip",
            *options,
        ]
        self._starts = 0
        """How many starts the log tells of before the current one."""

    @property
    def children(self) -> list[int]:
        """The ids of the processes of its pool."""
        assert self.process is not None
        found = (
            Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        )
        return [int(pid) for pid in found if b"celery" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def run_to_its_end(self) -> int:
        """Start a worker that is to refuse its start; return its exit code."""
        self.process = self._launch()
        try:
            return self._ended()
        finally:
            self.kill()

    def stop(self) -> int:
        """Stop the worker in the usual way: it finishes its jobs; return its exit code."""
        assert self.process is not None
        self.process.terminate()
        try:
            return self._ended()
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGUSR1)  # Celery writes what each thread does
            time.sleep(1.0)
            raise self._failure("did not stop") from None

    @override
    def _launch(self) -> Any:
        self._starts = self.log.count(READY)
        with self._log_file.open("ab") as log:
            return ForkedProcess(
                "celery",
                self._arguments,
                environment={**os.environ, **self._environment},
                stdout=log,
                stderr=log,
                imported=IMPORTED,
                new_session=True,
            )

    @override
    def _is_ready(self) -> bool:
        return self.log.count(READY) > self._starts
