"""Keeps the log lines of bodies: a thread writes them in batches, so logging is never blocked.

They are written on a connection of their own, so a rollback of the job keeps them. What the
database does not accept in time is dropped and counted.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from horae.domain.jobs import KeepLogs, LogLine
from horae.forking import BuiltAnewInChild
from horae.guarded_log import guarded_log
from horae.redaction import cleaner
from horae.resource_shortage import try_start
from horae.runtime.throttled_warning import ThrottledWarning
from horae.storage.engine import Database, is_transient
from horae.storage.jobs import logs
from horae.types import Attempt
from horae.types.logs import JobLines, capture_lines

MOST_WAITING: Final = 20_000
"""Maximum number of lines that wait to be written: some megabytes."""
AT_ONCE: Final = 500
"""Number of lines that are written in one statement."""
PAUSE: Final = 1.0
"""Seconds before a failed write is repeated."""

Write: TypeAlias = Callable[[Sequence[LogLine]], None]
log = guarded_log("horae.runtime")


class LogWriter(BuiltAnewInChild):
    """Writes lines on a thread, which starts with the first line. Thread-safe."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._waiting: deque[LogLine] = deque()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._news, self._closing = threading.Event(), threading.Event()
        self._written = threading.Event()
        self._written.set()
        self._unavailable = ThrottledWarning()

    def send(self, lines: Sequence[LogLine]) -> bool:
        """Queue lines for writing; return False if too many wait already."""
        if len(self._waiting) >= MOST_WAITING or self._closing.is_set():
            return False
        with self._lock:
            self._waiting.extend(lines)
            self._written.clear()
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="horae-job-logs", daemon=True)
                # Without a thread the next line tries again.
                self._thread = thread if try_start(thread) else None
        self._news.set()
        return True

    def flush(self, seconds: float) -> bool:
        """Wait until what was sent before is written; return False if that takes too long."""
        return self._written.wait(seconds)

    def close(self, seconds: float) -> None:
        """Write what waits, within this time; accept nothing more."""
        self._closing.set()
        self._news.set()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._waiting:
                log.warning("%d log lines of jobs could not be written in time", len(self._waiting))

    def _run(self) -> None:
        while True:
            self._news.wait()
            self._news.clear()
            while self._waiting:
                batch = [self._waiting[place] for place in range(min(AT_ONCE, len(self._waiting)))]
                try:
                    self._write(batch)
                    self._unavailable.settle()
                except Exception as error:  # noqa: BLE001 - the lines of a job must not end anything
                    if is_transient(error):
                        self._unavailable.warn("log lines of jobs cannot be written yet: %s", error)
                        if self._closing.wait(PAUSE):
                            return
                        continue
                    self._unavailable.warn(
                        "log lines of jobs were refused and are dropped: %s", error
                    )
                for _ in batch:
                    self._waiting.popleft()
            with self._lock:
                if not self._waiting:
                    self._written.set()
            if self._closing.wait(0.1):  # meanwhile further lines gather
                if not self._waiting:
                    return
                self._news.set()


def writer_to(database: Database) -> LogWriter:
    """Return a writer to the table of log lines, with a transaction for each batch."""
    return LogWriter(lambda lines: database.transact(logs.write, lines))


class KeptLogs:
    """The log lines of the bodies of a node, or of a child process."""

    def __init__(self, writer: LogWriter, usual: KeepLogs | None) -> None:
        """`usual`: what is kept of jobs whose type does not say; None keeps nothing."""
        self.writer, self.usual = writer, usual
        capture_lines()

    def open(self, attempt: Attempt) -> JobLines | None:
        """Return where the lines of an attempt go; None if none are kept."""
        job_type = attempt.job_type
        kept = job_type.kept_logs
        keep = self.usual if kept is True else kept
        if not isinstance(keep, KeepLogs):
            return None
        clean = cleaner(job_type.parameters.secrets_in(attempt.claim.params))
        return JobLines(attempt.claim, keep, clean, self.writer.send)
