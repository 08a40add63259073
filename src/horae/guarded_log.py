"""Loggers whose records cannot stop the code that writes them.

Handlers and filters belong to the application, and some of their errors reach the caller of
`log.error(…)`: what a filter raises, and what a handler raises whose stream is closed. A node must
write the failure of a job to the database even if it cannot log it.
"""

import logging
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager, suppress
from traceback import print_exc
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
        if self.isEnabledFor(level):
            # The record names the caller, not this method.
            kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
            with _print_errors():
                super().log(level, msg, *args, **kwargs)

    @contextmanager
    def guard(
        self,
        message: str,
        *arguments: object,
        level: int = logging.WARNING,
        traceback: bool = False,
    ) -> Generator[None]:
        """Let the caller go on whatever the block raises: log it as the last argument, or with its
        traceback.

        For what the program can do without, and for callbacks.
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001 - the caller goes on whatever is wrong
            shown = () if traceback else (error,)
            self.log(level, message, *arguments, *shown, exc_info=traceback)

    def handle(self, record: logging.LogRecord) -> None:
        """Pass on a record that the caller has made."""
        with _print_errors():
            self.logger.handle(record)


def guarded_log(name: str) -> GuardedLog:
    """Return the logger of this name; logging to it never raises."""
    return GuardedLog(logging.getLogger(name))


@contextmanager
def _print_errors() -> Generator[None]:
    try:
        yield
    except Exception:  # noqa: BLE001 - handlers and filters are code of the application
        if logging.raiseExceptions:
            with suppress(Exception):  # stderr may be closed, which may be the very reason
                print_exc()
