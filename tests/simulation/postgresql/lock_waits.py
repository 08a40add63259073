"""Statements that wait for a lock of another simulated session.

Such a statement must not hold up the simulation, which runs in one thread, and only the simulation may decide when
it goes on. So the server's process that executes it is stopped while it waits, and its simulated thread waits in virtual
time. When locks were released, the processes whose wait is over are continued one at a time, in an order that is
drawn from the seed, each until its statement has ended or waits again.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from select import POLLIN, poll
from typing import Any, Final

from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn

from tests.simulation import world
from tests.simulation.world import Lane

ASK_AFTER: Final = 3
"""Real milliseconds without an answer after which the server is asked whether the statement waits for a lock."""
BLOCKING: Final = (
    b"SELECT pid, array_to_string(pg_blocking_pids(pid), ' ') FROM unnest($1::int[]) AS pid"
)


@dataclass(eq=False, slots=True)
class WaitingStatement:
    """A statement that waits for a lock, of a thread that waits for its answer."""

    session: PGconn
    lane: Lane | None
    """None after its process was killed, or has closed the connection: the server executes it all the same."""
    answered: bool = False
    deadlocked: bool = False
    """Whether it was cancelled because it waits for a statement that waits for it."""

    @property
    def pid(self) -> int:
        """Return the number of the server's process that executes it."""
        return self.session.backend_pid


class LockWaits:
    """The statements of one database that wait for locks."""

    def __init__(self, observer: PGconn, recycle: Callable[[PGconn], None]) -> None:
        """`observer`: a session that only asks; `recycle`: what to do with a session whose client is gone."""
        self._observer, self._recycle = observer, recycle
        self.waiting: list[WaitingStatement] = []

    def waits(self, session: PGconn) -> bool:
        """Return whether the running statement of a session waits for a lock."""
        return bool(self._blockers([session.backend_pid])[session.backend_pid])

    def stop(self, session: PGconn, lane: Lane | None) -> WaitingStatement:
        """Stop the process of a session that waits for a lock, unless that closes a circle of waits."""
        statement = WaitingStatement(session, lane)
        self._stop(statement)
        return statement

    def _stop(self, statement: WaitingStatement) -> None:
        if self._closes_circle(statement.pid):
            statement.deadlocked = True
            self._observer.exec_params(
                b"SELECT pg_cancel_backend($1)", [str(statement.pid).encode()]
            )
            _await_answer(statement.session)
            statement.answered = True
            return
        while (
            _state_of(statement.pid) != "S"
        ):  # it must not be stopped while it holds a lock of the server's memory
            time.sleep(0.0001)
        os.kill(statement.pid, signal.SIGSTOP)
        self.waiting.append(statement)

    def settle(self) -> None:
        """Let the statements go on whose wait has ended: locks may have been released."""
        while self.waiting:
            blockers = self._blockers([each.pid for each in self.waiting])
            ready = [each for each in self.waiting if not blockers[each.pid]]
            if not ready:
                return
            self._continue(ready[0] if len(ready) == 1 else world.current().order.choice(ready))

    def _continue(self, statement: WaitingStatement) -> None:
        self.waiting.remove(statement)
        os.kill(statement.pid, signal.SIGCONT)
        while not has_answer(statement.session, ASK_AFTER):
            if self.waits(statement.session):
                self._stop(statement)
                if not statement.deadlocked:
                    return
        statement.answered = True
        if statement.lane is None:
            drain(statement.session)
            self._recycle(statement.session)
        else:
            statement.lane.wake()

    def abandon(self) -> None:
        """Let all processes go on: the database is not needed any more."""
        for statement in self.waiting:
            os.kill(statement.pid, signal.SIGCONT)
            statement.session.finish()
        self.waiting.clear()

    def _closes_circle(self, pid: int) -> bool:
        """Return whether a process waits for one that waits for it, perhaps by others."""
        blockers = self._blockers([pid, *(each.pid for each in self.waiting)])
        seen, to_visit = set[int](), list(blockers[pid])
        while to_visit:
            each = to_visit.pop()
            if each == pid:
                return True
            if each not in seen:
                seen.add(each)
                to_visit += blockers.get(each, ())
        return False

    def _blockers(self, pids: Iterable[int]) -> Mapping[int, Sequence[int]]:
        """Return for each process the processes that hold, or wait before it for, the lock that it waits for."""
        listed = "{" + ",".join(map(str, pids)) + "}"
        result = self._observer.exec_params(BLOCKING, [listed.encode()])
        assert result.status == ExecStatus.TUPLES_OK, result.error_message
        rows: Any = [
            (result.get_value(row, 0), result.get_value(row, 1)) for row in range(result.ntuples)
        ]
        return {int(pid): [int(each) for each in found.split()] for pid, found in rows}


def has_answer(session: PGconn, milliseconds: int) -> bool:
    """Wait some real milliseconds for the answer to the statement of a session; return whether it is there."""
    session.flush()
    if session.is_busy():
        poller = poll()
        poller.register(session.socket, POLLIN)
        if poller.poll(milliseconds):
            session.consume_input()
    return not session.is_busy()


def _await_answer(session: PGconn) -> None:
    while not has_answer(session, 1000):
        pass


def drain(session: PGconn) -> None:
    """Read and drop the rest of the answer to the statement of a session."""
    _await_answer(session)
    while session.get_result() is not None:
        pass


def _state_of(pid: int) -> str:
    """Return the state of a process as the kernel names it: "S" if it sleeps."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
