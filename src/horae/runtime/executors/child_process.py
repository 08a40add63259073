"""A child process as its parent sees it: started, spoken to, and buried."""

import atexit
import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Final

from horae.runtime.bodies.runner import RunEnvironment
from horae.runtime.executors import messages
from horae.runtime.executors.child import PIPE_LOST, main

FAREWELL: Final = 1.0
"""Seconds that children have at the program's exit if they were told to end before."""

_spawn = get_context("spawn")  # a fork would copy the node's locks and connections


@dataclass(eq=False, slots=True)
class ChildProcess:
    """One child and our end of the pipe to it."""

    process: SpawnProcess
    pipe: Connection
    ready: bool = False
    """Whether it has started and hears orders."""
    ending: bool = False
    """Whether it was told to end."""

    def send(self, kind: str, **fields: object) -> None:
        """Say something; whether the child still hears it shows in what it answers."""
        with suppress(OSError):
            messages.send(self.pipe, kind, **fields)

    def bury(self, patience: float) -> str:
        """Wait until the process has ended, by force after `patience` seconds; tells how it ended."""
        deadline, lost = time.monotonic() + patience, False
        while (code := self.process.exitcode) is None and self._exists():
            if time.monotonic() >= deadline:
                self.process.kill()
                lost = True
            time.sleep(0.002)
        self.process.join(0)
        self.pipe.close()
        _living.discard(self)
        return _describe_exit(PIPE_LOST if lost else code, ready=self.ready)

    def _exists(self) -> bool:
        """Asked where the exit code is missing: a program that waits for every child may have collected it."""
        try:
            os.kill(self.process.pid or 0, 0)
        except ProcessLookupError:
            return False
        return True


_living: Final[set[ChildProcess]] = set()
os.register_at_fork(after_in_child=_living.clear)  # they are not the children of a fork, whose end must not kill them


def start_child(environment: RunEnvironment) -> ChildProcess:
    """Start a child; it says `ready` once it hears. Raises OSError past the system's limits."""
    database = environment.database
    url = database.url.render_as_string(hide_password=False)
    ours, theirs = Pipe()
    with theirs:
        # No daemon in the sense of `multiprocessing`: that one could not start processes of its own.
        process = _spawn.Process(
            target=main, args=(url, database.busy_timeout, database.told_pooler, environment.node, theirs), daemon=False
        )
        process.start()
    child = ChildProcess(process, ours)
    _living.add(child)
    return child


@atexit.register
def _end_with_the_program() -> None:
    """Kill what is left: `multiprocessing` would wait for it. Registered after its own hook, so called before."""
    deadline = time.monotonic() + FAREWELL
    for child in sorted(_living, key=lambda child: child.ending):
        if child.ending:
            child.process.join(max(0.0, deadline - time.monotonic()))
        child.process.kill()


def _describe_exit(code: int | None, *, ready: bool) -> str:
    if code is None:
        how = "the process of the job ended"
    elif code == PIPE_LOST:
        how = "the process of the job lost its connection to the node"
    elif code == -signal.SIGKILL:
        how = "the process of the job was killed by signal 9 (SIGKILL), as the system does when memory runs out"
    elif code < 0:
        how = f"the process of the job was killed by signal {-code} ({signal.strsignal(-code)})"
    else:
        how = f"the process of the job ended with exit code {code} before the job did"
    if ready:
        return how
    return f"{how}, while it was starting; a main module must start its work under `if __name__ == '__main__':`"
