"""A child process as its node sees it: started, sent messages, waited for.

Everything here runs on the node's loop. `multiprocessing` starts the child, because it prepares the
main module, the import path and the interpreter's options there, as users know it from process
pools; asyncio reads and writes the pipe.
"""

import asyncio
import atexit
import os
import signal
import socket
import time
from contextlib import ExitStack, suppress
from multiprocessing import get_context, resource_tracker
from multiprocessing.context import SpawnProcess
from typing import Any, Final

from typing_extensions import override

from horae.runtime.bodies import RunEnvironment
from horae.runtime.executors import messages
from horae.runtime.executors.application import ChildSetup
from horae.runtime.executors.child import PIPE_LOST, main
from horae.runtime.executors.messages import Message

LIVENESS_CHECK: Final = 0.5
"""Seconds between two checks whether a silent child is alive.

Usually the end of its pipe shows its death at once.
"""
EXIT_CODE_WITHIN: Final = 1.0
"""Seconds after the end of a process in which its exit code may become known.

A thread that starts another process collects the codes of all ended ones, and stores them a moment
later. In a program that waits for all of its children itself, the code never becomes known.
"""
LONGEST_MESSAGE: Final = 1 << 40
"""Bytes; no limit in practice, because `max_result_bytes` of a job type bounds its results."""

ADVICE: Final = "a main module must start its work under `if __name__ == '__main__':`"
"""Why a process most often ends before it has imported anything of the application."""

_spawn = get_context("spawn")  # a fork would copy the node's locks and connections


class ChildProcess:
    """One child process and the node's end of the pipe to it."""

    def __init__(self, process: SpawnProcess, pipe: socket.socket) -> None:
        self.ready = False
        """Whether the process has started and reads messages."""
        self.terminated = False
        """Whether the node has ended the process by force."""
        self.ending = False
        """Whether the process was asked to end."""
        self.ended = False
        """Whether the process was seen to have ended."""
        self.step = ""
        """What the process does while it starts."""
        self.is_late = False
        """Whether the start has taken longer than a job waits for it."""
        self.given_up: str | None = None
        """Why the node has ended the process during its start, if it did."""
        self.jobs = 0
        """Number of bodies that the process has run."""
        self.memory = 0
        """Bytes of memory that the process used after the last body."""
        self.spoilt = False
        """Whether a body could not begin in the process, maybe for what an earlier one did to it.
        """
        self.started: asyncio.Future[Message | None]
        """A future that is done with the message of the ready child, or with None if it died."""
        self._process = process
        self._pipe = pipe
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    @override
    def __str__(self) -> str:
        """Return how messages name the process while it starts."""
        return f"child process {self.pid}" + (f" ({self.step})" if self.step else "")

    @property
    def pid(self) -> int | None:
        """The process id."""
        return self._process.pid

    @property
    def had_sigterm(self) -> bool:
        """Whether SIGTERM has ended the process, as when all processes of a service are stopped."""
        return self._process.exitcode == -signal.SIGTERM

    def send(self, kind: str, **fields: Any) -> None:
        """Send a message without waiting.

        Nothing is raised if the child is gone: `receive` notices that.
        """
        if self._writer is not None:
            self._writer.write(messages.encode(kind, **fields))

    async def receive(self) -> Message | None:
        """Return the next message; None if the child or its pipe is gone, or after a bad one."""
        with suppress(OSError, ValueError):
            if self._reader is None:
                self._reader, self._writer = await asyncio.open_connection(
                    sock=self._pipe, limit=LONGEST_MESSAGE
                )
            while True:
                # A process that the child forked may keep the pipe open. After the death, read once
                # more what was sent before it.
                alive = self._is_alive()
                with suppress(TimeoutError):
                    async with asyncio.timeout(LIVENESS_CHECK):
                        return messages.decode(await self._reader.readline())
                if not alive:
                    return None
        return None

    def terminate(self) -> None:
        """End the process with SIGTERM."""
        self.terminated = True
        self._process.terminate()

    def kill(self) -> None:
        """End the process with SIGKILL."""
        self.terminated = True
        self._process.kill()

    def give_up(self, reason: str) -> None:
        """End the process with SIGKILL, because it has not started in time."""
        self.given_up = reason
        self._process.kill()

    def end(self) -> None:
        """Ask the process to end."""
        self.ending = True
        self.send("end")

    async def wait(self, patience: float) -> str:
        """Wait until the process has ended; kill it after `patience` seconds. Return its end."""
        deadline, killed = time.monotonic() + patience, False
        try:
            while self._is_alive():
                if time.monotonic() >= deadline:
                    self._process.kill()
                    killed = True
                await asyncio.sleep(0.005)
            self.ended = True
            _children.discard(self)
            code = await self._exit_code()
        finally:
            self.close()
        if killed:
            code = PIPE_LOST
        if self.ready:
            return _describe_exit(code)
        how = (
            _describe_exit(code)
            if self.given_up is None
            else f"the process of the job was ended: {self.given_up}"
        )
        if self.step:
            return f"{how}, while it was starting ({self.step})"
        return f"{how}, while it was starting; {ADVICE}"

    def close(self) -> None:
        """Close the pipe, which ends the child unless it is ending already."""
        if self._writer is None:
            self._pipe.close()
        else:
            self._writer.close()

    def end_before(self, deadline: float) -> None:
        """Kill the process now, or at the deadline if it was asked to end. Blocks until then."""
        if self.ending:
            self._process.join(max(0.0, deadline - time.monotonic()))
        self._process.kill()

    async def _exit_code(self) -> int | None:
        """Return the exit code of the ended process, as soon as it is known."""
        latest = time.monotonic() + EXIT_CODE_WITHIN
        while True:
            code = self._process.exitcode
            if code is not None or time.monotonic() >= latest:
                return code
            await asyncio.sleep(0.005)

    def _is_alive(self) -> bool:
        if self._process.exitcode is not None:
            return False
        try:  # a program that waits for all its children may have collected the exit code
            os.kill(self._process.pid or 0, 0)
        except ProcessLookupError:
            return False
        return True


_children: Final[set[ChildProcess]] = set()
# The exit of a fork must not kill the children of its parent.
os.register_at_fork(after_in_child=_children.clear)


def start_child(environment: RunEnvironment, setup: ChildSetup) -> ChildProcess:
    """Start a child, which sends `ready` once it is set up.

    Raises OSError past the system's limits, or without a working directory.
    """
    resource_tracker.ensure_running()  # started now, because its own start would unblock the signal
    ours, theirs = socket.socketpair()
    with theirs, ExitStack() as on_failure:
        on_failure.callback(ours.close)
        # `daemon=True` would forbid the child to start processes of its own.
        process = _spawn.Process(
            target=main,
            args=(environment.database.arguments, environment.node, setup, theirs),
            daemon=False,
        )
        # A Ctrl-C must not break the start; later the process ignores the signal.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process.start()
        except FileNotFoundError as error:  # `multiprocessing` tells the child where to work
            raise FileNotFoundError(
                "the working directory of the node was deleted; start the node again in another one"
            ) from error
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        on_failure.pop_all()
    child = ChildProcess(process, ours)
    _children.add(child)
    return child


@atexit.register
def _end_with_the_program() -> None:
    """Kill the remaining children: `multiprocessing` would wait for them.

    This hook is registered after that of `multiprocessing`, and so called before it.
    """
    deadline = time.monotonic() + 1.0
    for child in sorted(_children, key=lambda child: child.ending):
        child.end_before(deadline)


def _describe_exit(code: int | None) -> str:
    if code is None:
        return "the process of the job ended"
    if code == PIPE_LOST:
        return "the process of the job lost its connection to the node"
    if code == -signal.SIGKILL:
        return (
            "the process of the job was killed by signal 9 (SIGKILL), as the system does when"
            " memory runs out"
        )
    if code < 0:
        return f"the process of the job was killed by signal {-code} ({signal.strsignal(-code)})"
    return f"the process of the job ended with exit code {code} before the job did"
