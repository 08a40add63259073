"""How `horae run` logs: text or JSON on stderr; every record knows its job, type, lease and node."""

import logging
import sys
from typing import Final, Literal

from pythonjsonlogger.json import JsonFormatter
from rich.console import Console
from rich.logging import RichHandler
from typing_extensions import override

from horae.types.logging import JobLogFilter

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

PLAIN: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
CHATTY: Final = ("aiosqlite", "alembic", "asyncio")
"""Libraries that say at each step what they do; a node's log is about jobs."""


def configure(log_format: LogFormat, log_level: LogLevel) -> None:
    """Log to stderr. Handlers that the application has set up stay, and learn what `JobLogFilter` adds."""
    root = logging.getLogger()
    root.setLevel(log_level.upper())
    if not root.handlers:
        root.addHandler(handler(log_format))
    for each in root.handlers:
        each.addFilter(JobLogFilter())
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)


def handler(log_format: LogFormat) -> logging.Handler:
    """Where records go: JSON for a collector, colours for a terminal, plain lines for everything else."""
    if log_format == "json":
        lines: logging.Handler = logging.StreamHandler()
        lines.setFormatter(json_formatter())
    elif sys.stderr.isatty():
        lines = RichHandler(console=Console(stderr=True), show_path=False, rich_tracebacks=False)
        lines.setFormatter(TextFormatter("%(message)s"))
    else:
        lines = logging.StreamHandler()
        lines.setFormatter(TextFormatter(PLAIN))
    return lines


def json_formatter() -> logging.Formatter:
    """One object a line: timestamp, level, logger, message, job, type, lease, node, what `extra` adds, exc_info."""
    return JsonFormatter(
        ["levelname", "name", "message"], rename_fields={"levelname": "level", "name": "logger"}, timestamp=True
    )


class TextFormatter(logging.Formatter):
    """Puts the job, where there is one, behind the message."""

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        message = super().formatMessage(record)
        job = getattr(record, "job", None)
        if job is None:
            return message
        kind, lease = getattr(record, "type", None), getattr(record, "lease", None)
        return f"{message} [job={job} type={kind} lease={lease} node={getattr(record, 'node', None)}]"
