"""The points of a body at which its process may be killed, and the kill itself.

A killed body does not get an exception, so that no `finally` or `except` of it runs, as after `kill
-9`. It runs on a thread of its own, which stops at the point for good; the thread is left behind
until the process ends.
"""

import inspect
import threading
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import override

from horae.foreign_files import FOREIGN

STATEMENT, COMMIT, AWAIT, PROGRESS, END = "statement", "commit", "await", "progress", "end"


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A point at which the body was killed: its number from 1, its kind, and where.

    `kind`: `statement` and `commit` (before it), `await` (while it waits), `progress` (at the
    call), or `end` (the body has returned). `where`: file and line of the application; None if no
    code of it runs there. `detail`: what was about to happen, such as the beginning of the
    statement.
    """

    number: int
    kind: str
    where: str | None
    detail: str

    @override
    def __str__(self) -> str:
        """Return the point as a report shows it."""
        detail = f" {self.detail}" if self.detail else ""
        return f"point {self.number}, {self.kind}{detail}" + (
            f" at {self.where}" if self.where else ""
        )


@dataclass
class Tracer:
    """Counts the points that a body passes, and kills it at one of them.

    `own_file`: where the body is defined.
    """

    own_file: str
    kill_at: int | None = None
    points: list[CrashPoint] = field(default_factory=list[CrashPoint])
    stopped: threading.Event = field(default_factory=threading.Event)
    """The body has been killed, or has ended."""
    killed: bool = False
    failure: BaseException | None = None
    """The error that kept the attempt from being run at all."""
    _thread: int | None = None
    _body: Any = None

    def begin(self) -> None:
        """Watch this thread from now on."""
        self._thread = threading.get_ident()

    def statement(self, text: str) -> None:
        """Pass the point before a statement."""
        self.reach(STATEMENT, " ".join(text.split())[:60])

    def commit(self) -> None:
        """Pass the point before a commit."""
        self.reach(COMMIT)

    def progress(self) -> None:
        """Pass the point of a progress call, unless Horae itself calls."""
        if threading.get_ident() == self._thread and self._place() is not None:
            self.reach(PROGRESS)

    def end(self, detail: str) -> None:
        """Pass a point after the body."""
        self.reach(END, detail)

    def reach(self, kind: str, detail: str = "") -> None:
        """Count a point, and stop this thread for good if it is the one to be killed at."""
        if threading.get_ident() != self._thread or self.killed:
            return
        place = self._place()
        if kind == STATEMENT and place is None:
            detail = "by which Horae ends the job"
        self.points.append(CrashPoint(len(self.points) + 1, kind, place, detail))
        if len(self.points) == self.kill_at:
            self.killed = True
            self.stopped.set()
            threading.Event().wait()

    def trace(self, body: Any) -> Awaitable[Any]:
        """Return a coroutine body with a point wherever it waits."""
        self._body = body
        return _Awaited(body, lambda: self.reach(AWAIT))

    def _place(self) -> str | None:
        """Return the innermost line of the application that is running."""
        frame = inspect.currentframe()
        while frame is not None:
            name = frame.f_code.co_filename
            if name == self.own_file or not name.startswith(FOREIGN):
                return f"{name}:{frame.f_lineno}"
            frame = frame.f_back
        # A coroutine waits, or runs a statement outside its own frames.
        found, body = None, self._body
        while (frame := getattr(body, "cr_frame", None)) is not None:
            name = frame.f_code.co_filename
            if name == self.own_file or not name.startswith(FOREIGN):
                found = f"{name}:{frame.f_lineno}"
            body = body.cr_await
        return found


class _Awaited:
    """Runs a coroutine, and calls a function each time that it waits for something."""

    def __init__(self, coroutine: Any, waits: Callable[[], None]) -> None:
        self._coroutine, self._waits = coroutine, waits

    def __await__(self) -> Generator[Any, Any, Any]:
        value: Any = None
        error: BaseException | None = None
        while True:
            try:
                pending = (
                    self._coroutine.send(value) if error is None else self._coroutine.throw(error)
                )
            except StopIteration as end:
                return end.value
            value, error = None, None
            self._waits()
            try:
                value = yield pending
            except BaseException as raised:  # noqa: BLE001 - passed on to the body
                error = raised
