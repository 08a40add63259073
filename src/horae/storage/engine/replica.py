"""Reads lists from a standby of the primary while that is nearly up to date, and from the primary
otherwise.

A replica is behind its primary, by milliseconds or by hours. So it is used only after it has been
seen to contain what the primary had written a moment ago: while lists are read, a thread compares
the positions of both in the primary's log of changes. A user who has changed something reads from
the primary until the replica contains that change.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Concatenate, Final, NamedTuple, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, text

from horae.errors import ConfigurationError
from horae.forking import BuiltAnewInChild
from horae.guarded_log import guarded_log
from horae.scarcity import starts
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.engine.failures import first_line, is_transient
from horae.storage.engine.identity import identity_of
from horae.storage.engine.threads import Threads
from horae.storage.engine.url import PREFERS_STANDBY, normalised, shown

P = ParamSpec("P")
T = TypeVar("T")
SETTING: Final = "read_database (HORAE_READ_DATABASE)"
AGAIN_AFTER: Final = 30.0
"""Seconds between two warnings that the replica is not used."""
OPEN_COMPARISONS: Final = 64
"""Positions of the primary that are kept until the replica has reached them."""

_POSITION: Final = text("SELECT (pg_current_wal_lsn() - '0/0')::bigint")
_REPLICA: Final = text("""
    SELECT pg_is_in_recovery() AS follows,
        extract(epoch FROM pg_postmaster_start_time())::text AS started,
           CASE WHEN pg_is_in_recovery() THEN (pg_last_wal_replay_lsn() - '0/0')::bigint
                ELSE (pg_current_wal_lsn() - '0/0')::bigint END AS position
""")
_STARTED: Final = text("SELECT extract(epoch FROM pg_postmaster_start_time())::text")
_log = guarded_log("horae.database")


class Reads(Protocol):
    """Where a list is read: a `Database`, or a `ReadReplica` before one."""

    def autocommit(
        self,
        statement: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a `statement` that only reads, in one SQL statement."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplicaTiming:
    """When a replica is compared with the primary, and how far behind it may be; in seconds."""

    every: float = 0.5
    """Between two comparisons; none are made if no lists are read."""
    most_behind: float = 5.0
    """How old the newest state may be that the replica is known to contain."""
    answer_within: float = 2.0
    """How long the replica may take to answer a comparison, before its connections are closed."""
    unused_after: float = 10.0
    """How long no list may be read, before the comparisons end."""


class _State(NamedTuple):
    """`follows`: whether it is a standby; `position`: how far it is in the log of changes."""

    follows: bool
    position: int


class NotUsableError(Exception):
    """The replica cannot be used; the text says why."""


class ReadReplica(BuiltAnewInChild):
    """A replica before its primary. Thread-safe."""

    def __init__(
        self, primary: Database, url: str, timing: ReplicaTiming = ReplicaTiming()
    ) -> None:
        """Raise `ConfigurationError` for a URL that cannot be one of a replica; connects when a
        list is read.
        """
        self._primary, self._timing = primary, timing
        self._replica = Database(_url_of_replica(primary, url))
        self.shown = shown(self._replica.url)
        self._identity_checked = self._warned = False
        self._silent_until = 0.0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._asking = Threads(1, "horae-replica-check")
        self._closed = threading.Event()
        self._open = deque[tuple[float, int]](maxlen=OPEN_COMPARISONS)
        self._contains = float("-inf")
        self._usable = False
        self._read_at = self._began = time.monotonic()

    def autocommit(
        self,
        statement: Callable[Concatenate[Connection, P], T],
        /,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run a `statement` that only reads on the replica if that can be used now, otherwise on
        the primary.
        """
        if self.contains(float("-inf")):
            try:
                return self._replica.autocommit(statement, *args, **kwargs)
            except Exception as error:
                if not is_transient(error):
                    raise
                self._refuse(error)
        return self._primary.autocommit(statement, *args, **kwargs)

    def contains(self, changed_at: float) -> bool:
        """Return whether the replica can be used, and has what was committed before a moment of the
        monotonic clock.
        """
        self._read_at = time.monotonic()
        self._ensure_thread()
        return self._usable and self._contains >= changed_at

    def examine(self) -> int:
        """Return how many bytes the replica was behind, once it has caught up with them.

        Raises `NotUsableError` if that takes too long or lists would not be read from it, or what
        the database raises.
        """
        position = self._primary.autocommit(_position)
        deadline = time.monotonic() + self._timing.most_behind
        state = first = self._ask()
        if not first.follows:
            raise NotUsableError("it is the primary itself")
        while state.position < position:
            if time.monotonic() > deadline:
                raise NotUsableError(self._too_far_behind)
            self._closed.wait(self._timing.every)
            state = self._ask()
        return max(0, position - first.position)

    def close(self) -> None:
        """End the comparisons, and close the connections."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join(self._timing.answer_within)
        self._replica.hang_up()  # ends what still waits for a reply
        self._asking.shutdown()
        self._replica.close()

    def _ensure_thread(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            return
        with self._lock:
            if (self._thread is None or not self._thread.is_alive()) and not self._closed.is_set():
                self._thread = threading.Thread(target=self._run, name="horae-replica", daemon=True)
                starts(
                    self._thread
                )  # if not now, then with the next call; until then the primary is read

    def _run(self) -> None:
        self._began = time.monotonic()
        while time.monotonic() - self._read_at < self._timing.unused_after:
            self._compare()
            if self._closed.wait(self._timing.every):
                break
        self._usable = False  # what is known of it becomes old now

    def _compare(self) -> None:
        asked = time.monotonic()
        primary_answers = False
        with suppress(
            Exception
        ):  # a lost primary leaves nothing newer to read than what the replica has
            self._open.append((asked, self._primary.autocommit(_position)))
            primary_answers = True
        try:
            position = self._ask().position
        except Exception as error:  # noqa: BLE001 - whatever it is, the primary can be read
            self._refuse(error)
            return
        while self._open and self._open[0][1] <= position:
            self._contains = self._open.popleft()[0]
        if not primary_answers:
            return
        if time.monotonic() - max(self._contains, self._began) > self._timing.most_behind:
            self._refuse(NotUsableError(self._too_far_behind))
        elif self._contains >= self._began:
            self._accept()

    @property
    def _too_far_behind(self) -> str:
        return f"it is more than {self._timing.most_behind:g} s behind"

    def _ask(self) -> "_State":
        """Return the state of the replica; on an error, calls that wait for its reply fail, and go
        to the primary.
        """
        asked = self._asking.submit(self._state_there)
        try:
            return asked.result(self._timing.answer_within)
        except Exception as error:
            self._replica.hang_up()
            if isinstance(error, TimeoutError):
                raise NotUsableError("it has not answered in time") from None
            raise

    def _state_there(self) -> "_State":
        if not self._identity_checked:
            if identity_of(self._replica) != identity_of(self._primary):
                raise NotUsableError("it is not a replica of this database")
            self._identity_checked = True
        follows, started, position = self._replica.autocommit(_state)
        if not follows and started != self._primary.autocommit(_start):
            raise NotUsableError("it is not a standby server")
        if position is None:
            raise NotUsableError("it does not tell its position in the log of changes")
        return _State(follows, position)

    def _accept(self) -> None:
        self._usable = True
        if self._warned:
            self._warned = False
            self._silent_until = 0.0
            _log.info("lists are read from the replica (%s) again", self.shown)

    def _refuse(self, error: Exception) -> None:
        self._usable = False
        now = time.monotonic()
        if now < self._silent_until or self._closed.is_set():
            return
        self._silent_until, self._warned = now + AGAIN_AFTER, True
        why = first_line(error)
        _log.warning(
            "lists are read from the primary until the replica (%s) can be used: %s",
            self.shown,
            why,
        )


def _url_of_replica(primary: Database, url: str) -> str:
    parsed = normalised(url, SETTING, PREFERS_STANDBY)
    if {primary.dialect, parsed.get_backend_name()} != {POSTGRESQL}:
        raise ConfigurationError(
            f"{SETTING}: only a PostgreSQL database has replicas; unset it for SQLite"
        )
    return parsed.render_as_string(hide_password=False)


def _position(connection: Connection) -> int:
    return int(connection.execute(_POSITION).scalar_one())


def _start(connection: Connection) -> str:
    return str(connection.execute(_STARTED).scalar_one())


def _state(connection: Connection) -> tuple[bool, str, int | None]:
    follows, started, position = connection.execute(_REPLICA).one()
    return follows, started, position
