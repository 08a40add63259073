"""The log lines of one attempt: the first and last are kept, those between are counted."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from horae.domain.jobs import LEVELS, LONGEST_LINE, Claim, KeepLogs, LogLine
from horae.domain.storable import storable
from horae.redaction import hidden_urls, traceback_text
from horae.types.attempt import Attempt

GAP_EVERY: Final = 1.0
"""Seconds between two counts of dropped lines that are written while a job still logs."""
LAST_PART: Final = 10
"""One in this many of the kept lines and bytes is reserved for the end of an attempt."""

Send: TypeAlias = Callable[[Sequence[LogLine]], bool]
Clean: TypeAlias = Callable[[str], str]
_Waiting: TypeAlias = tuple[datetime, int, str, str, int]
"""Its time, level, logger and text, and the size of the text in bytes."""


class JobLines:
    """The lines of one attempt. Any thread of the body may add some."""

    def __init__(self, claim: Claim, keep: KeepLogs, clean: Clean, send: Send) -> None:
        """`clean` removes secrets; `send` returns whether lines are accepted, and never waits."""
        self._claim, self._clean, self._send = claim, clean, send
        self._level = LEVELS[keep.level]
        self._last_lines, self._last_bytes = keep.lines // LAST_PART, keep.bytes // LAST_PART
        self._lines, self._bytes = keep.lines - self._last_lines, keep.bytes - self._last_bytes
        self._number = 0
        self._gap: LogLine | None = None
        self._gap_sent = 0.0
        self._dropped = 0
        self._last: deque[_Waiting] = deque()
        self._size_of_last = 0
        self._lock = threading.Lock()
        self._closed = False

    def add(self, record: logging.LogRecord) -> None:
        """Keep a record, or count it."""
        if record.levelno < self._level or self._closed:
            return
        text, at = text_of(record), datetime.fromtimestamp(record.created, UTC)
        size = len(text) if text.isascii() else len(text.encode(errors="replace"))
        waiting = (at, record.levelno, record.name, text, size)
        with self._lock:
            if self._gap is None and self._lines > 0 and size <= self._bytes:
                self._lines -= 1
                self._bytes -= size
                self._dropped += not self._send([self._line(waiting)])
                return
            if self._gap is None:
                self._gap = self._new_gap()
            self._last.append(waiting)
            self._size_of_last += size
            while self._last and (
                len(self._last) > self._last_lines or self._size_of_last > self._last_bytes
            ):
                *_, size = self._last.popleft()
                self._size_of_last -= size
                self._dropped += 1
            now = time.monotonic()
            if self._dropped and now - self._gap_sent > GAP_EVERY:
                self._gap_sent = now
                self._send([self._gap._replace(dropped=self._dropped)])

    def close(self) -> None:
        """Write the last lines, and how many were dropped before them; ignore what comes later."""
        with self._lock:
            self._closed = True
            lines = [self._line(waiting) for waiting in self._last]
            if self._dropped:
                gap = self._gap or self._new_gap()
                lines.insert(0, gap._replace(dropped=self._dropped))
            self._last.clear()
            if lines:
                self._send(lines)

    def _new_gap(self) -> LogLine:
        return self._line(
            (datetime.fromtimestamp(time.time(), UTC), LEVELS["warning"], "horae.job", "", 0)
        )

    def _line(self, waiting: _Waiting) -> LogLine:
        at, level, logger, text, _ = waiting
        claim, number = self._claim, self._number
        self._number += 1
        message = storable(self._clean(text))
        return LogLine(
            claim.id, claim.lease, number, claim.attempt, at, level, storable(logger[:200]), message
        )


def text_of(record: logging.LogRecord) -> str:
    """Return the message of a record with the traceback of its exception, cut if it is too long."""
    try:
        text = record.getMessage()
    except Exception:  # noqa: BLE001 - arguments that do not fit, which handlers report
        text = str(record.msg)
    if record.exc_info and record.exc_info[1] is not None:
        text = f"{text}\n{traceback_text(record.exc_info[1]).rstrip()}"
    if len(text) > LONGEST_LINE:
        text = f"{text[:LONGEST_LINE]} … ({len(text) - LONGEST_LINE} more characters)"
    return hidden_urls(text)


_opening: Final = threading.Lock()


class _Capture:
    """A factory of log records that also keeps those of jobs.

    Unlike a handler it sees loggers without propagation.
    """

    def __init__(
        self, current: ContextVar[Attempt | None], before: Callable[..., logging.LogRecord]
    ) -> None:
        self._current, self._before = current, before

    def __call__(self, *args: Any, **kwargs: Any) -> logging.LogRecord:
        record = self._before(*args, **kwargs)
        attempt = self._current.get()
        if (
            attempt is None
            or attempt.log_book is None
            or not record.name
            or hasattr(record, "_horae_kept")
        ):
            return record
        # The mark keeps a second factory, installed around this one, from keeping the line twice.
        vars(record)["_horae_kept"] = True
        lines = attempt.log_lines
        if lines is None:
            with _opening:
                if attempt.log_lines is None:
                    attempt.log_lines = attempt.log_book.open(attempt) or _NOTHING
                lines = attempt.log_lines
        lines.add(record)
        return record


class _Nothing:
    """Stands for the lines of an attempt of which none are kept."""

    def add(self, record: logging.LogRecord) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


_NOTHING: Final = _Nothing()


def capture(current: ContextVar[Attempt | None]) -> None:
    """Keep the records of bodies from now on, in this process. Idempotent."""
    factory = logging.getLogRecordFactory()
    if not isinstance(factory, _Capture):
        logging.setLogRecordFactory(_Capture(current, factory))
