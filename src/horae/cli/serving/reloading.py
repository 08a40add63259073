"""`horae run --reload`: runs the node in a child process, which is replaced when code changes.

A new process, and not modules imported again: what the application has opened, registered and
patched when it was imported belongs to the old code.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from horae.errors import ConfigurationError
from horae.guarded_log import guarded_log

FLAG: Final = "--reload"

log = guarded_log("horae.cli")


def command_without_reload(command: Sequence[str]) -> list[str]:
    """Return the command of the child: that of this process, without the flag."""
    return [sys.executable, *(each for each in command[1:] if each != FLAG)]


class Reloading:
    """The parent process: one child at a time, which ends in order before the next one starts."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self._command, self._folder = command, folder
        self._stop = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._told = False

    def run(self) -> int:
        """Run until a signal; return the exit code of the last child.

        Raises `ConfigurationError` without `horae[reload]`.
        """
        try:
            from watchfiles import PythonFilter, watch
        except ModuleNotFoundError as error:
            raise ConfigurationError(
                "--reload needs its package: pip install 'horae[reload]'"
            ) from error
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        # The child starts after the first look, so that no change is missed.
        looks = watch(
            self._folder,
            watch_filter=PythonFilter(),
            stop_event=self._stop,
            rust_timeout=200,
            yield_on_timeout=True,
            raise_interrupt=False,
        )
        for changes in looks:
            child = self._child
            if changes or child is None:
                if changes:
                    changed = sorted({os.path.relpath(path, self._folder) for _, path in changes})
                    log.info("changed: %s; restarting", ", ".join(changed))
                self._end()
                if not self._stop.is_set():
                    self._child = subprocess.Popen(self._command)  # noqa: S603 - the user's own
                    self._told = False
            elif not self._told and child.poll() is not None:
                self._told = True
                log.warning(
                    "the process ended with %d; the next change starts it", child.returncode
                )
        return self._end()

    def _end(self) -> int:
        """End the child in order: its bodies may finish within the grace period."""
        child = self._child
        if child is None:
            return 0
        if not self._told and child.poll() is None:
            self._told = True
            child.terminate()
        return child.wait()

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        # A terminal sends Ctrl-C to the child, too, for which a second signal would be the order to
        # leave its jobs behind.
        if number == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty():
            self._told = True
        self._stop.set()
