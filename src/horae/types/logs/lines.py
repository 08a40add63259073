"""Formats log records as text or as JSON, with the job if there is one."""

import logging
from types import TracebackType
from typing import Any, Final

from pythonjsonlogger.json import JsonFormatter
from typing_extensions import override

from horae.domain.storable import escaped, shortened
from horae.redaction import traceback_text
from horae.types.logs.shown_errors import AttemptFailed

ExceptionInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
)
LONGEST_PART: Final = 100_000
"""Maximum number of characters written of a message or a traceback; bodies log any length."""
PLAIN = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class TextFormatter(logging.Formatter):
    """Appends the job, if there is one, to the message."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        # A line break in a message or in a traceback must not look like a record of its own.
        first, *others = (escaped(line) for line in super().format(record).split("\n"))
        return "\n    ".join([first, *others])

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = shortened(record.message, LONGEST_PART)
        message = super().formatMessage(record)
        job = getattr(record, "job", None)
        if job is None:
            return message
        kind, lease = getattr(record, "type", None), getattr(record, "lease", None)
        return (
            f"{message} [job={job} type={kind} lease={lease} node={getattr(record, 'node', None)}]"
        )

    @override
    def formatException(self, ei: ExceptionInfo) -> str:
        return traceback_of(ei)


class _JsonFormatter(JsonFormatter):
    @override
    def process_log_record(self, log_data: dict[str, Any]) -> dict[str, Any]:
        shown = super().process_log_record(log_data)
        return {
            key: shortened(value, LONGEST_PART) if isinstance(value, str) else value
            for key, value in shown.items()
        }

    @override
    def formatException(self, ei: ExceptionInfo) -> str:
        return traceback_of(ei)


def traceback_of(info: ExceptionInfo) -> str:
    """Return a traceback without the values that errors repeat."""
    if isinstance(info[1], AttemptFailed):
        return shortened(info[1].stored, LONGEST_PART)
    return "" if info[1] is None else shortened(traceback_text(info[1]).rstrip("\n"), LONGEST_PART)


def json_formatter() -> logging.Formatter:
    """Return a formatter that writes one JSON object a line.

    Its keys: timestamp, level, logger, message, job, type, lease, node, exc_info, and those of
    `extra`.
    """
    return _JsonFormatter(
        ["levelname", "name", "message"],
        rename_fields={"levelname": "level", "name": "logger"},
        timestamp=True,
    )


def lines_on_stderr(*, as_json: bool) -> logging.Handler:
    """Return a handler that writes to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(json_formatter() if as_json else TextFormatter(PLAIN))
    return handler


def logs_json() -> bool:
    """Return whether this process logs JSON."""
    return any(
        isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger().handlers
    )
