"""Loggers whose records cannot stop the code that writes them.

Handlers and filters belong to the application, and some of their errors reach the caller of
`log.error(…)`: what a filter raises, and what a handler raises whose stream is closed. A node must
write the failure of a job to the database even if it cannot log it.
"""

import logging
import traceback
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager, suppress
from typing import Any

from typing_extensions import override


class GuardedLog(logging.LoggerAdapter[logging.Logger]):
    """A logger that prints what handlers and filters raise, as `logging` does for formatting."""

    @override
    def process(
        self, msg: Any, kwargs: MutableMapping[str, Any]
    ) -> tuple[Any, MutableMapping[str, Any]]:
        return msg, kwargs

    @override
    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        kwargs["stacklevel"] = (
            kwargs.get("stacklevel", 1) + 1
        )  # the record names the caller, not this method
        try:
            super().log(level, msg, *args, **kwargs)
        except Exception:  # noqa: BLE001 - code of the application
            _print_error()

    @contextmanager
    def any_error(
        self, message: str, *args: object, level: int = logging.WARNING, traceback: bool = False
    ) -> Generator[None]:
        """Log what the block raises, after the message, and go on.

        For what the program can do without, whatever is wrong with it.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001 - this is what it is for
            self.log(level, f"{message}: %s", *args, error, exc_info=traceback, stacklevel=3)

    def handle(self, record: logging.LogRecord) -> None:
        """Pass on a record that the caller has made."""
        try:
            self.logger.handle(record)
        except Exception:  # noqa: BLE001 - code of the application
            _print_error()


def guarded_log(name: str) -> GuardedLog:
    """Return the logger of this name; logging to it never raises."""
    return GuardedLog(logging.getLogger(name))


def _print_error() -> None:
    if logging.raiseExceptions:
        with suppress(Exception):  # stderr may be closed, which may be the very reason
            traceback.print_exc()
