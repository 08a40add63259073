"""The log of `horae run`: text or JSON on stderr; records have their job, type, lease and node."""

import logging
import sys
from typing import Final, Literal

from horae.guarded_log import guarded_log
from horae.settings import unknown_variables
from horae.types.logs import JobLogFilter, TextFormatter, lines_on_stderr

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

log = guarded_log("horae.cli")
CHATTY: Final = ("aiosqlite", "alembic", "asyncio")
"""Libraries that log every step; only their warnings are kept, because the log is about jobs."""


def configure(log_format: LogFormat, log_level: LogLevel) -> None:
    """Log to stderr, and warn of environment variables that are no settings.

    Handlers that the application has set up stay, and get the fields of `JobLogFilter`.
    """
    root = logging.getLogger()
    root.setLevel(log_level.upper())
    if not root.handlers:
        root.addHandler(handler(log_format))
    for each in root.handlers:
        each.addFilter(JobLogFilter())
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(capture=True)
    for text in unknown_variables():
        log.warning("%s", text)


def handler(log_format: LogFormat) -> logging.Handler:
    """Return a handler: JSON for a log collector, colours for a terminal, plain lines otherwise."""
    if log_format == "json" or not sys.stderr.isatty():
        return lines_on_stderr(as_json=log_format == "json")
    from rich.console import Console
    from rich.logging import RichHandler

    lines = RichHandler(console=Console(stderr=True), show_path=False, rich_tracebacks=False)
    lines.setFormatter(TextFormatter("%(message)s"))
    return lines
