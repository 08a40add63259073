"""The heartbeat of a node on PostgreSQL, in a process of its own: a program, run by its path, that needs only psycopg.

So neither a body that holds the node's interpreter, nor a pool without a free connection, nor a server that takes no
more of them can silence a node that works. It is told what to do by one line of JSON on its standard input, which keeps
passwords out of the list of processes, and says what it sees on its standard output, one line each:

- `beat SENT SUSPECTS`: answered; when it was sent, on the clock below, and how many other nodes are silent
- `dead`: the node's row is gone
- `lost CUT TEXT`: the connection is gone; CUT is 0 if the server had said so

A node that leaves kills it. It ends by itself with the process of the node, which it notices at once, and tells the
other nodes. It does not beat for a process that has been stopped.
"""

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias, TypedDict

INPUT: Final = 0
OUTPUT: Final = 1
ENDED_BY_SERVER: Final = "57P"  # the class of "the administrator ends this" and "the server stops"
PAUSES: Final = (0.1, 1.0)
LAST_PATIENCE: Final = 3.0
"""Seconds: shortest and longest between two tries to connect; for the last words after the node has ended."""


Question: TypeAlias = tuple[str, list[str]]
"""A statement with numbered parameters, and their values as text."""


class Told(TypedDict):
    """What the node says at the start. `path`: where it finds its modules; `connect`: arguments for psycopg."""

    path: list[str]
    node: int
    connect: dict[str, Any]
    lock: Question | None
    beat: Question
    ended: Question
    every: float
    patience: float


class NodeEnded(Exception):
    """There is nobody to beat for."""


class NoAnswer(Exception):
    """The server has not answered in time."""


def clock() -> float:
    """Seconds on a clock that never jumps, is the same in every process, and goes on while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def is_stopped(pid: int) -> bool:
    """Whether the process has been stopped by a signal or a debugger; False where the system does not tell."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in "Tt"


class Node:
    """The process that this one beats for."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.is_gone = True
        """Said once it has ended: whether the process has, and not only closed the pipe."""
        self._mourned = False
        self._poll = select.poll()
        self._poll.register(INPUT, select.POLLIN)
        self._handle: int | None = None
        with contextlib.suppress(AttributeError, OSError):  # not on every system; then the input alone tells
            self._handle = os.pidfd_open(pid)
            self._poll.register(self._handle, select.POLLIN)

    @property
    def has_ended(self) -> bool:
        """Whether its process is gone."""
        return os.getppid() != self.pid

    def wait(self, seconds: float, descriptor: int | None = None, events: int = select.POLLIN) -> bool:
        """Wait for the descriptor, and return whether it is ready; raises `NodeEnded`, once."""
        if descriptor is not None:
            self._poll.register(descriptor, events)
        try:
            ready = {found for found, _ in self._poll.poll(max(seconds, 0.0) * 1000)}
        finally:
            if descriptor is not None:
                self._poll.unregister(descriptor)
        if not self._mourned and self._is_over(ready):
            self._mourned = True
            self._poll.unregister(INPUT)
            if self._handle is not None:
                self._poll.unregister(self._handle)
            raise NodeEnded
        return descriptor in ready

    def _is_over(self, ready: set[int]) -> bool:
        if self._handle in ready or self.has_ended:
            return True
        if INPUT in ready:
            self.is_gone = self._ends_soon()
        return INPUT in ready

    def _ends_soon(self) -> bool:
        """Whether its process is about to be gone: the system closes its files a moment earlier."""
        deadline = clock() + LAST_PATIENCE
        while not self.has_ended and clock() < deadline:
            if self._handle is not None and select.select([self._handle], [], [], 0.05)[0]:
                return True
            time.sleep(0.01)
        return self.has_ended


class Line:
    """A connection on which an answer is waited for with one eye on the node."""

    def __init__(self, node: Node, arguments: dict[str, Any]) -> None:
        import psycopg  # noqa: PLC0415 - only now it is known where it lies

        self._node = node
        self.ended_by_server = False
        # Nothing is prepared: a pooler may lend another connection of the server to each statement.
        self._connection = psycopg.connect(**arguments, autocommit=True, prepare_threshold=None)
        self._connection.add_notice_handler(self._notice)

    def ask(self, question: Question, patience: float) -> list[str | None]:
        """The first column of the answer; raises what is wrong with the connection, `NodeEnded` or `NoAnswer`."""
        connection, deadline = self._connection.pgconn, clock() + patience
        text, values = question
        connection.send_query_params(text.encode(), [value.encode() for value in values])
        while connection.flush():
            self._wait(deadline, select.POLLOUT)
        return self._answer(deadline)

    def finish(self, patience: float) -> None:
        """Wait for the answer to a question that was left."""
        self._answer(clock() + patience)

    def _answer(self, deadline: float) -> list[str | None]:
        connection = self._connection.pgconn
        while connection.is_busy():
            self._wait(deadline, select.POLLIN)
            connection.consume_input()
        return [found for result in iter(connection.get_result, None) for found in self._read(result)]

    def rest(self, seconds: float) -> None:
        """Wait until it is time for the next beat, or something is wrong."""
        if self._node.wait(seconds, self._connection.pgconn.socket):
            self._connection.pgconn.consume_input()
            self._connection.pgconn.is_busy()  # reads a farewell

    def close(self) -> None:
        """Close it without waiting for anything."""
        self._connection.close()

    def _wait(self, deadline: float, events: int) -> None:
        if not self._node.wait(deadline - clock(), self._connection.pgconn.socket, events) and clock() >= deadline:
            raise NoAnswer("the server has not answered in time")

    def _read(self, result: Any) -> Iterator[str | None]:
        error = result.error_field(67)  # the SQLSTATE
        if error is not None:
            self.ended_by_server = error.decode().startswith(ENDED_BY_SERVER)
            raise OSError(result.error_message.decode(errors="replace").strip())
        for row in range(result.ntuples):
            value = result.get_value(row, 0)
            yield None if value is None else value.decode()

    def _notice(self, diagnostic: Any) -> None:
        if (diagnostic.sqlstate or "").startswith(ENDED_BY_SERVER):
            self.ended_by_server = True


class Heart:
    """Beats on one connection after another."""

    def __init__(self, told: Told, node: Node) -> None:
        self._told, self._node = told, node
        self._line: Line | None = None
        self._locked = told["lock"] is None
        self._pause = PAUSES[0]

    def beat_for_life(self) -> None:
        """Beat until the node has ended."""
        while True:
            try:
                self._beat_while_connected()
            except NodeEnded:
                self._end()
                return
            except Exception as error:  # noqa: BLE001 - whatever is wrong, a new connection may be right
                self._hang_up(error)
                self._node.wait(self._pause)
                self._pause = min(self._pause * 2, PAUSES[1])

    def _beat_while_connected(self) -> None:
        line = self._line = self._line or Line(self._node, self._told["connect"])
        next_beat = clock()
        while True:
            if (left := next_beat - clock()) > 0:
                line.rest(left)
                continue
            next_beat = max(next_beat + self._told["every"], clock())
            if not is_stopped(self._node.pid):
                self._beat(line)

    def _beat(self, line: Line) -> None:
        patience = self._told["patience"]
        if not self._locked and (lock := self._told["lock"]) is not None:
            self._locked = line.ask(lock, patience) == ["t"]
        sent = clock()
        answer = line.ask(self._told["beat"], patience)
        say(f"beat {sent:.6f} {answer[0]}" if answer else "dead")
        self._pause = PAUSES[0]

    def _hang_up(self, error: Exception) -> None:
        line, self._line = self._line, None
        self._locked = self._told["lock"] is None
        cut = line is not None and not line.ended_by_server
        if line is not None:
            line.close()
        text = " ".join(str(error).split()) or type(error).__name__
        say(f"lost {int(cut)} {text[:300]}")

    def _end(self) -> None:
        """Tell the others that the node's process is gone."""
        if not self._node.is_gone:
            return
        with contextlib.suppress(Exception):
            if self._line is None:
                self._line = Line(self._node, self._told["connect"])
            self._line.finish(LAST_PATIENCE)
            self._line.ask(self._told["ended"], LAST_PATIENCE)


def say(line: str) -> None:
    """Write a line, unless nobody has read for so long that there is no room."""
    with contextlib.suppress(BlockingIOError):
        os.write(OUTPUT, line.encode() + b"\n")


def hear() -> Told:
    """Read the first line of the input, and not a byte more."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(INPUT, 1)
        if not byte:
            raise NodeEnded
        line += byte
    told: Told = json.loads(line)
    return told


def main() -> None:
    """Beat until the node has ended."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # meant for the node, which ends this process
    os.set_blocking(OUTPUT, False)
    with contextlib.suppress(NodeEnded, BrokenPipeError):
        told = hear()
        sys.path[:] = told["path"]
        Heart(told, Node(told["node"])).beat_for_life()


if __name__ == "__main__":
    main()
