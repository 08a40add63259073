"""Keeps a node's heartbeat on PostgreSQL going, and measures how good the node's own contact is.

Usually a helper process sends the heartbeats (`storage/nodes/heartbeat_process.py`). If it has
ended, cannot be started or is late, a thread takes over. Another thread receives the results of
both and compares times: a node that has had no answer for too long stops its bodies before other
nodes run their jobs.
"""

import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from sqlalchemy import Connection

from horae.domain.cluster import Contact, Isolation, LivenessLimits
from horae.errors import DatabaseReadOnly
from horae.guarded_log import guarded_log
from horae.resource_shortage import try_start
from horae.runtime.liveness.heartbeat_helper import Helper, start_helper
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import HeartbeatTiming
from horae.storage.engine import Database
from horae.storage.nodes import NodeRecord, clock, nodes

USED_UP: Final = "; is the pooler up, and has it more sessions than bodies hold in transactions?"

log = guarded_log("horae.runtime")


@dataclass(frozen=True, slots=True)
class Watcher:
    """The callbacks of a heartbeat, called on its threads.

    `died`: others have declared this node dead. `suspected`: another node is silent. `isolated`:
    contact is lost, and bodies up to this level must stop. `regained`: contact is back; others may
    have taken jobs of this node meanwhile.
    """

    died: Callable[[], None] = lambda: None
    suspected: Callable[[], None] = lambda: None
    isolated: Callable[[Isolation], None] = lambda _level: None
    regained: Callable[[], None] = lambda: None


class Heartbeat:
    """Sends the heartbeat of one node, and supervises its contact with the database."""

    def __init__(
        self,
        database: Database,
        record: NodeRecord,
        limits: LivenessLimits,
        timing: HeartbeatTiming,
        watcher: Watcher,
    ) -> None:
        """`record`: the row of the node, which has just been registered."""
        self._database, self._record, self._watcher = database, record, watcher
        self._limits, self._timing = limits, timing
        self._contact = Contact(limits, clock())
        self._level = Isolation.NONE
        self._stopped = threading.Event()
        self._helper: Helper | None = None
        self._helper_at, self._restart_in = clock(), self._timing.restart.shortest
        self._checked_at = self._fresh_from = clock()
        self._bridge: threading.Thread | None = None
        self._helper_beat_at = -math.inf
        self._unavailable, self._read_only = ThrottledWarning(), ThrottledWarning()
        self._refused = False
        self._thread = threading.Thread(target=self._run, name="horae-heartbeat", daemon=True)

    def start(self) -> None:
        """Start the heartbeat."""
        self._ensure_helper(clock())
        self._thread.start()

    def stop(self) -> None:
        """Stop the heartbeat, without waiting for anything that may hang."""
        self._stopped.set()
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.dismiss()

    def beat_within(self, connection: Connection) -> Callable[[], None]:
        """Send an overdue heartbeat in an open transaction; return what to call after the commit.

        If other clients use all connections that the server allows, the node's open ones may be the
        only ones left.
        """
        if self._stopped.is_set() or not self._contact.overdue(clock()):
            return lambda: None
        sent = clock()
        return partial(self._take_answer, sent, nodes.heartbeat(connection, self._record.id))

    def seconds_of_contact(self) -> float:
        """Return the seconds of uninterrupted contact."""
        return self._contact.watched(clock())

    @property
    def is_stale(self) -> bool:
        """Whether this node's own heartbeat is late, so that it must not judge others."""
        return self._contact.silent_for(clock()) > self._limits.lock

    @property
    def descriptors(self) -> tuple[int, ...]:
        """The pipes to the helper, which a forked child must not keep open."""
        helper = self._helper
        return () if helper is None else helper.descriptors

    def _run(self) -> None:
        while not self._stopped.is_set():
            helper = self._helper
            if helper is None:
                self._stopped.wait(self._timing.round)
            else:
                self._receive(helper)
            if not self._stopped.is_set():
                self._check(clock())

    def _receive(self, helper: Helper) -> None:
        for word, rest in helper.messages(self._timing.round):
            match word:
                case "beat":
                    sent, _, suspects = rest.partition(" ")
                    self._helper_beat_at = clock()
                    self._restart_in = self._timing.restart.shortest
                    self._take_answer(float(sent), int(suspects))
                case "dead":
                    self._die()
                case "lost":
                    cut, _, text = rest.partition(" ")
                    self._lose(text, cut=cut == "1")
                case "read-only":
                    self._lose(rest, refused=True)
                case _:
                    self._helper = None
                    helper.dismiss()
                    self._postpone_helper(clock())
                    self._lose(rest)

    def _lose(self, text: str, *, cut: bool = True, refused: bool = False) -> None:
        """Note that a heartbeat failed, so that others may declare this node dead.

        `cut`: the connection has ended; `refused`: the database accepts no writes.
        """
        self._helper_beat_at = -math.inf
        self._refused = refused
        if self._stopped.is_set():
            return
        # Behind a pooler there is no lock that could be free: only silence counts.
        self._contact.lose(cut=cut and self._record.lock_key is not None)
        if refused:
            self._read_only.warn(
                "the heartbeat cannot be written, because the database accepts no writes: %s", text
            )
        else:
            self._unavailable.warn("the heartbeat cannot be written: %s", text)

    def _take_answer(self, sent: float, suspects: int | None) -> None:
        regained = self._contact.answer(sent)
        self._unavailable.settle()
        self._read_only.settle()
        self._refused = False
        if suspects is None:
            self._die()
        elif not self._stopped.is_set():
            if regained:
                self._watcher.regained()
            if suspects:
                self._watcher.suspected()

    def _die(self) -> None:
        if not self._stopped.is_set():
            self.stop()
            self._watcher.died()

    def _check(self, now: float) -> None:
        if now - self._checked_at > self._limits.margin:
            self._fresh_from = now + self._timing.awake
        self._checked_at = now
        self._database.end_overdue_calls(time.monotonic())
        self._ensure_helper(now)

        # Without a helper nothing holds the lock, so others would not wait long for a heartbeat.
        is_due = self._helper is None or self._contact.overdue(now)
        if is_due and (self._bridge is None or not self._bridge.is_alive()):
            self._bridge = threading.Thread(
                target=self._beat_here, name="horae-heartbeat-bridge", daemon=True
            )
            try_start(self._bridge)  # otherwise the next round starts it

        level = self._contact.isolation(now)
        if level is Isolation.NONE:
            # A heartbeat that was sent in time may have been answered late.
            if self._level is not Isolation.NONE:
                self._level = Isolation.NONE
                self._watcher.regained()
        elif level > self._level and now >= self._fresh_from:
            self._level = level
            what, advice = "no contact with the database", ""
            if self._refused:
                what = "the database has accepted no writes"
            elif self._record.lock_key is None:  # as behind a pooler
                advice = USED_UP
            log.error("%s for %.1f s%s", what, self._contact.silent_for(now), advice)
            self._database.hang_up()
            self._watcher.isolated(level)

    def _ensure_helper(self, now: float) -> None:
        if self._helper is None and now >= self._helper_at and not self._stopped.is_set():
            try:
                self._helper = start_helper(self._database, self._record, self._limits)
            except OSError as error:
                self._postpone_helper(now)
                log.warning("cannot start a process for the heartbeat yet: %s", error)
            else:
                if self._helper is None:
                    self._helper_at = math.inf
                    log.info(
                        "no Python interpreter found for a heartbeat process; bodies may delay the"
                        " heartbeat"
                    )

    def _postpone_helper(self, now: float) -> None:
        self._helper_at = now + self._restart_in
        self._restart_in = self._timing.restart.after(self._restart_in)

    def _beat_here(self) -> None:
        """Send heartbeats in this process until the helper does."""
        node, key = self._record.id, self._record.lock_key
        while self._is_needed():
            # A new connection may work, whatever is wrong with this one.
            with self._unavailable.guard("the heartbeat cannot be written: %s"):
                try:
                    with self._database.own_connection() as connection:
                        while self._is_needed():
                            # Hold the lock until the connection ends; only this node and its
                            # helper ever take it.
                            held = connection.info
                            if key is not None and not held.get("horae_locked"):
                                held["horae_locked"] = nodes.take_lock(connection, key)
                            self._beat_with(partial(nodes.heartbeat, connection, node))
                            self._stopped.wait(self._limits.beat)
                except DatabaseReadOnly as error:
                    self._lose(str(error), refused=True)
            if self._is_needed():
                with suppress(Exception):  # there is no new connection, but perhaps an open one
                    self._beat_with(lambda: self._database.autocommit(nodes.heartbeat, node))
                self._stopped.wait(self._limits.beat / 2)

    def _is_needed(self) -> bool:
        late = clock() - self._helper_beat_at > 1.5 * self._limits.beat
        return late and not self._stopped.is_set()

    def _beat_with(self, beat: Callable[[], int | None]) -> None:
        sent = clock()
        self._take_answer(sent, beat())
