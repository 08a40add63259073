"""The heartbeat of a node on PostgreSQL, in a process of its own: a program, run by its path, that
needs only psycopg.

So heartbeats continue even if a body blocks the node's interpreter, the pool has no free
connection, or the server accepts no new ones. The configuration is one line of JSON on standard
input, which keeps passwords out of the list of processes. The program reports on standard output,
in lines:

- `beat SENT SUSPECTS`: a heartbeat was written; when it was sent, on the clock below, and how many
  nodes are silent
- `dead`: the node's row is gone
- `lost CUT TEXT`: the connection was lost; CUT is 0 if the server has closed it with a message
- `read-only TEXT`: the server accepts no writes, so the connection was closed

A node that leaves kills this process. If the node's process ends, this one notices it at once,
notifies the other nodes and exits. It sends no heartbeats for a process that is stopped by a signal
or debugger.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final, TypeAlias, TypedDict

INPUT: Final = 0
"""The file descriptor of standard input."""
OUTPUT: Final = 1
"""The file descriptor of standard output."""
ENDED_BY_SERVER: Final = "57P"
"""The start of the SQLSTATEs of connections that the server or its administrator has ended."""
REFUSED_WRITE: Final = "25006"
"""The SQLSTATE of a write to a server that is a standby or set to read-only transactions."""
REFUSED_SESSION: Final = "session is read-only"
"""A part of the error if no server of a connection attempt accepts writes."""
RECONNECT_PAUSES: Final = (0.1, 1.0)
"""The shortest and the longest pause between two attempts to connect, in seconds."""
SHUTDOWN_TIMEOUT: Final = 3.0
"""Seconds to notify the other nodes after the node has ended, for each statement."""

RawStatement: TypeAlias = tuple[str, list[str]]
"""A statement with numbered parameters, and their values as text."""


class HelperConfig(TypedDict):
    """The configuration from the node.

    `path`: where to find modules; `connect`: arguments for psycopg.

    `bounds`: how the server notices that this process is gone; None, like `lock`, if no session is
    this process's own.
    """

    path: list[str]
    node: int
    connect: dict[str, Any]
    bounds: RawStatement | None
    lock: RawStatement | None
    beat: RawStatement
    ended: RawStatement
    every: float
    timeout: float


class NodeEnded(Exception):
    """The node's process has ended."""


class NoReply(Exception):
    """The server has not replied in time."""


def clock() -> float:
    """Return seconds on a monotonic clock, common to all processes, that advances during sleep."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def is_stopped(pid: int) -> bool:
    """Return whether a signal or debugger has stopped the process; False if unknown."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in "Tt"


class NodeProcess:
    """The process of the node, which this process watches."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.is_gone = True
        """Valid after `NodeEnded`: whether the process has ended, and not only closed the pipe."""
        self._has_raised = False
        self._poll = select.poll()
        self._poll.register(INPUT, select.POLLIN)
        self._handle: int | None = None
        # Not every system has pidfd; without it only the end of the input tells.
        with contextlib.suppress(AttributeError, OSError):
            self._handle = os.pidfd_open(pid)
            self._poll.register(self._handle, select.POLLIN)

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended."""
        return os.getppid() != self.pid

    def wait(
        self, seconds: float, descriptor: int | None = None, events: int = select.POLLIN
    ) -> bool:
        """Wait for the descriptor, and return whether it is ready; raises `NodeEnded` once."""
        if descriptor is not None:
            self._poll.register(descriptor, events)
        try:
            ready = {found for found, _ in self._poll.poll(max(seconds, 0.0) * 1000)}
        finally:
            if descriptor is not None:
                self._poll.unregister(descriptor)
        if not self._has_raised and self._is_over(ready):
            self._has_raised = True
            self._poll.unregister(INPUT)
            if self._handle is not None:
                self._poll.unregister(self._handle)
            raise NodeEnded
        return descriptor in ready

    def _is_over(self, ready: set[int]) -> bool:
        if self._handle in ready or self.has_ended:
            return True
        if INPUT not in ready:
            return False
        # When the process ends, the system closes its files a moment earlier.
        deadline = clock() + SHUTDOWN_TIMEOUT
        while not self.has_ended and clock() < deadline:
            if self._handle is not None and select.select([self._handle], [], [], 0.05)[0]:
                self.is_gone = True
                return True
            time.sleep(0.01)
        self.is_gone = self.has_ended
        return True


class ReadOnlyServer(Exception):
    """The server accepts no writes."""


class ServerConnection:
    """A connection to the server, which watches the node while it waits for a reply."""

    def __init__(self, node: NodeProcess, arguments: dict[str, Any]) -> None:
        import psycopg  # noqa: PLC0415 - `HelperConfig.path` tells where it is installed

        self._node = node
        self.ended_by_server = False
        # No prepared statements: behind a pooler each statement may run in another session of the
        # server.
        self._connection = psycopg.connect(**arguments, autocommit=True, prepare_threshold=None)

        def notice(diagnostic: Any) -> None:
            if (diagnostic.sqlstate or "").startswith(ENDED_BY_SERVER):
                self.ended_by_server = True

        self._connection.add_notice_handler(notice)

    def execute(self, statement: RawStatement, timeout: float) -> list[str | None]:
        """Execute a statement and return its first column; raises `NodeEnded` or `NoReply`."""
        connection, deadline = self._connection.pgconn, clock() + timeout
        text, values = statement
        connection.send_query_params(text.encode(), [value.encode() for value in values])
        while connection.flush():
            self._wait(deadline, select.POLLOUT)
        return self._reply(deadline)

    def finish(self, timeout: float) -> None:
        """Wait for the reply to a statement that was interrupted."""
        self._reply(clock() + timeout)

    def _reply(self, deadline: float) -> list[str | None]:
        connection = self._connection.pgconn
        while connection.is_busy():
            self._wait(deadline, select.POLLIN)
            connection.consume_input()
        found: list[str | None] = []
        for result in iter(connection.get_result, None):
            error = result.error_field(67)  # the SQLSTATE
            if error is not None:
                code, text = error.decode(), result.error_message.decode(errors="replace").strip()
                self.ended_by_server = code.startswith(ENDED_BY_SERVER)
                raise ReadOnlyServer(text) if code == REFUSED_WRITE else OSError(text)
            values = (result.get_value(row, 0) for row in range(result.ntuples))
            found.extend(None if value is None else value.decode() for value in values)
        return found

    def wait(self, seconds: float) -> None:
        """Wait until the next heartbeat is due, or the connection fails."""
        if self._node.wait(seconds, self._connection.pgconn.socket):
            self._connection.pgconn.consume_input()
            # This processes a message that the server is closing the connection.
            self._connection.pgconn.is_busy()

    def close(self) -> None:
        """Close the connection without waiting."""
        self._connection.close()

    def _wait(self, deadline: float, events: int) -> None:
        if (
            not self._node.wait(deadline - clock(), self._connection.pgconn.socket, events)
            and clock() >= deadline
        ):
            raise NoReply("the server has not replied in time")


class HeartbeatLoop:
    """Sends heartbeats, and connects again when a connection is lost."""

    def __init__(self, config: HelperConfig, node: NodeProcess) -> None:
        self._config, self._node = config, node
        self._connection: ServerConnection | None = None
        self._pause = 0.0
        """Seconds before the next attempt to connect."""

    def run(self) -> None:
        """Send heartbeats until the node has ended."""
        while True:
            try:
                self._node.wait(self._pause)
                self._beat_while_connected()
            except NodeEnded:
                self._end()
                return
            except Exception as error:  # noqa: BLE001 - a new connection may cure any error
                cut = False
                if self._connection is not None:
                    cut = not self._connection.ended_by_server
                    self._connection.close()
                    self._connection = None

                text = (" ".join(str(error).split()) or type(error).__name__)[:300]
                if isinstance(error, ReadOnlyServer) or REFUSED_SESSION in str(error):
                    report(f"read-only {text}")
                else:
                    report(f"lost {int(cut)} {text}")

                shortest, longest = RECONNECT_PAUSES
                self._pause = min(max(self._pause * 2, shortest), longest)

    def _beat_while_connected(self) -> None:
        config, timeout = self._config, self._config["timeout"]
        connection = self._connection = ServerConnection(self._node, config["connect"])
        if (bounds := config["bounds"]) is not None:
            connection.execute(bounds, timeout)
        lock = config["lock"]
        next_beat = clock()
        while True:
            if (left := next_beat - clock()) > 0:
                connection.wait(left)
                continue
            next_beat = max(next_beat + config["every"], clock())
            if is_stopped(self._node.pid):
                continue
            if lock is not None and connection.execute(lock, timeout) == ["t"]:
                lock = None  # it is held until the connection ends
            sent = clock()
            answer = connection.execute(config["beat"], timeout)
            report(f"beat {sent:.6f} {answer[0]}" if answer else "dead")
            self._pause = 0.0

    def _end(self) -> None:
        """Notify the other nodes that the node's process has ended."""
        if not self._node.is_gone:
            return
        with contextlib.suppress(Exception):
            if self._connection is None:
                self._connection = ServerConnection(self._node, self._config["connect"])
            self._connection.finish(SHUTDOWN_TIMEOUT)
            self._connection.execute(self._config["ended"], SHUTDOWN_TIMEOUT)


def report(line: str) -> None:
    """Write a line of output; drop it if the pipe is full because the node does not read."""
    with contextlib.suppress(BlockingIOError):
        os.write(OUTPUT, line.encode() + b"\n")


def read_config() -> HelperConfig:
    """Read the first line of the input, and no byte after it."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(INPUT, 1)
        if not byte:
            raise NodeEnded
        line += byte
    config: HelperConfig = json.loads(line)
    return config


def main() -> None:
    """Send heartbeats until the node has ended."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The signals are meant for the node, which ends this process itself.
        signal.signal(number, signal.SIG_IGN)
    os.set_blocking(OUTPUT, False)
    with contextlib.suppress(NodeEnded, BrokenPipeError):
        config = read_config()
        sys.path[:] = config["path"]
        HeartbeatLoop(config, NodeProcess(config["node"])).run()


if __name__ == "__main__":
    main()
