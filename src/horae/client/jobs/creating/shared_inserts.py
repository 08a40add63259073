"""Callers that start jobs at the same time share one INSERT and one commit.

A caller who is alone inserts at once. Callers who come while `MOST_AT_ONCE` inserts are under way
wait, and the first insert that ends lets the first of them insert the jobs of all. Each caller
returns after the commit that contains its jobs.
"""

import threading
from collections import deque
from collections.abc import Sequence
from typing import Final

from horae.errors import DatabaseBusy, Unavailable
from horae.forking import BuiltAnewInChild
from horae.storage.engine import Database, is_of_data
from horae.storage.jobs import Inserted, JobRow, creation
from horae.wakeup import WakeupChannel, work

MOST_AT_ONCE: Final = 2
"""Maximum number of inserts under way at the same time; one in a file, which has one writer."""
MOST_ROWS: Final = 1000
"""Maximum number of jobs in one insert."""


class _Start:
    """The jobs of one caller. `turn` is locked until the caller inserts, or all is decided."""

    __slots__ = ("error", "inserted", "leads", "rows", "thread", "turn")

    def __init__(self, rows: Sequence[JobRow], thread: int) -> None:
        self.rows, self.thread = rows, thread
        self.turn = threading.Lock()
        self.turn.acquire()
        self.leads: Sequence[_Start] = ()
        self.inserted: Sequence[Inserted] | None = None
        self.error: Exception | None = None


class SharedInserts(BuiltAnewInChild):
    """Inserts plain jobs, those of several callers by one statement. Thread-safe."""

    def __init__(self, database: Database, wakeup: WakeupChannel) -> None:
        self._database, self._wakeup = database, wakeup
        self.most_at_once = 1 if database.is_file else MOST_AT_ONCE
        # Reentrant, because a signal handler may start a job while this thread is starting one.
        self._lock = threading.RLock()
        self._inserting = set[int]()  # the threads that insert
        self._waiting = deque[_Start]()

    def insert(self, rows: Sequence[JobRow]) -> Sequence[Inserted]:
        """Insert jobs that need no guard, send the hint, and return their values in order.

        Raises what the database raises: if an answer was lost, for all who share the insert. Raises
        `DatabaseBusy` if the inserts of others last longer than the database's time limit.
        """
        start, at_once, thread = None, False, threading.get_ident()
        try:
            with self._lock:
                # If the thread has a place already, Ctrl-C ended a call that had not given it back.
                if thread in self._inserting or len(self._inserting) < self.most_at_once:
                    self._inserting.add(thread)
                    at_once = True
                else:
                    start = _Start(rows, thread)
                    self._waiting.append(start)
            if start is None:
                return self._add(rows)
            if not start.turn.acquire(timeout=self._database.busy_timeout):
                self._leave(start)
        except BaseException:  # a Ctrl-C may come, also at the end of the block above
            if start is not None:
                with self._lock:
                    is_waiting = start in self._waiting
                    if is_waiting:
                        self._waiting.remove(start)
                if not is_waiting and start.leads:
                    self._lead(start.leads)
            raise
        finally:
            if at_once:
                self._pass_on()
        if start.leads:
            self._lead(start.leads)
        if start.error is not None:
            raise start.error
        return self._add(rows) if start.inserted is None else start.inserted

    def _add(self, rows: Sequence[JobRow]) -> Sequence[Inserted]:
        hint, notification = work(len(rows)), None
        if len(rows) > 1:
            inserted = self._database.write_one(creation.add_shared, rows)
        elif rows[0].may_start_now:
            notification = self._wakeup.piggyback(hint)
            add = creation.add_at_once
            inserted = [self._database.write_one(add, rows[0], notification)]
        else:
            inserted = [self._database.write_one(creation.add_alone, rows[0])]
        self._wakeup.send(hint, piggybacked=notification is not None)
        return inserted

    def _lead(self, starts: Sequence[_Start]) -> None:
        """Insert the jobs of all these callers, then let the next ones insert theirs."""
        error: Exception | None = Unavailable(
            "the thread that inserted the job was interrupted; the job may have started"
        )
        try:
            inserted = iter(self._add([row for start in starts for row in start.rows]))
            for start in starts:
                start.inserted = [next(inserted) for _ in start.rows]
            error = None
        except Exception as raised:  # noqa: BLE001 - raised to each of the callers
            error = raised
        finally:
            # A value that the database refuses concerns one of them: each inserts its own jobs.
            # After any other error the jobs may have been inserted.
            if error is None or len(starts) == 1 or not is_of_data(error):
                for start in starts:
                    start.error = error
            self._pass_on()
            for start in starts[1:]:
                start.turn.release()

    def _pass_on(self) -> None:
        """Let the first of the waiting callers insert the jobs of those behind it as well."""
        with self._lock:
            taken: list[_Start] = []
            rows = 0
            while self._waiting and (not taken or rows + len(self._waiting[0].rows) <= MOST_ROWS):
                taken.append(self._waiting.popleft())
                rows += len(taken[-1].rows)
            self._inserting.discard(threading.get_ident())
            if not taken:
                return
            self._inserting.add(taken[0].thread)
            taken[0].leads = taken
        taken[0].turn.release()

    def _leave(self, start: _Start) -> None:
        """Raise `DatabaseBusy`, or wait on if another caller inserts the jobs by now."""
        with self._lock:
            if start in self._waiting:
                self._waiting.remove(start)
                raise DatabaseBusy(
                    "the inserts of other callers have lasted for"
                    f" {self._database.busy_timeout:g} s; try again later"
                )
        start.turn.acquire()
