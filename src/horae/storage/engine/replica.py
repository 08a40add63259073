"""A read replica for lists: a standby of the primary, whose lag the operator answers for."""

import time
from typing import Final, NamedTuple, ParamSpec, Protocol, TypeVar

from sqlalchemy import text
from sqlalchemy.exc import TimeoutError as PoolTimeout

from horae.errors import ConfigurationError
from horae.guarded_log import guarded_log
from horae.storage.engine.database import Database, Statement
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.engine.failures import DATABASE_ERRORS, first_line, is_transient
from horae.storage.engine.url import PREFERS_STANDBY, normalised, shown

P = ParamSpec("P")
T = TypeVar("T")
SETTING: Final = "read_database (HORAE_READ_DATABASE)"
PAUSE: Final = 30.0
"""Seconds for which lists are read from the primary after the replica has failed."""

_IS_IN_RECOVERY: Final = text("SELECT pg_is_in_recovery()")
_POSITION: Final = text("SELECT pg_current_wal_lsn()::text")
_LAG: Final = text("""
    SELECT pg_is_in_recovery(),
           CASE WHEN pg_last_wal_replay_lsn() >= CAST(:position AS pg_lsn) THEN 0
                ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp()) END
""")
_log = guarded_log("horae.database")


class Reads(Protocol):
    """Where a list is read: a `Database`, or a `ReadReplica` in front of one."""

    def autocommit(self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a `statement` that only reads, and that executes one SQL statement."""
        ...


class ReplicaState(NamedTuple):
    """What `horae doctor` says about a replica."""

    in_recovery: bool
    lag: float | None
    """Seconds by which the replica is behind the primary; None before its first transaction."""


class ReadReplica:
    """Reads from a replica, or from the primary while the replica fails. Thread-safe."""

    def __init__(self, primary: Database, url: str) -> None:
        """Raise `ConfigurationError` for a URL that cannot belong to a replica; connect later."""
        parsed = normalised(url, SETTING, PREFERS_STANDBY)
        if {primary.dialect, parsed.get_backend_name()} != {POSTGRESQL}:
            raise ConfigurationError(
                f"{SETTING}: only a PostgreSQL database has replicas; unset it for SQLite"
            )
        self._primary = primary
        self._replica = Database(parsed)
        self.shown = shown(self._replica.url)
        self._is_checked = False
        self._paused_until = float("-inf")

    def autocommit(self, statement: Statement[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a `statement` that only reads on the replica, or on the primary while that fails."""
        if time.monotonic() >= self._paused_until:
            try:
                if not self._is_checked:
                    if not self._replica.autocommit(lambda it: it.scalar(_IS_IN_RECOVERY)):
                        _log.warning(
                            "lists are read from a server that is no standby: %s", self.shown
                        )
                    self._is_checked = True
                return self._replica.autocommit(statement, *args, **kwargs)
            except (*DATABASE_ERRORS, PoolTimeout) as error:
                if not is_transient(error):
                    raise
                self._paused_until = time.monotonic() + PAUSE
                _log.warning(
                    "lists are read from the primary for %g s, because the replica (%s) failed: %s",
                    PAUSE,
                    self.shown,
                    first_line(error),
                )
        return self._primary.autocommit(statement, *args, **kwargs)

    def state(self) -> ReplicaState:
        """Return the state of the replica; raises what its database raises."""
        position = self._primary.autocommit(lambda connection: connection.scalar(_POSITION))
        in_recovery, lag = self._replica.autocommit(
            lambda connection: connection.execute(_LAG, {"position": position}).one()
        )
        return ReplicaState(in_recovery, None if lag is None else float(lag))

    def close(self) -> None:
        """Close the connections, without waiting for a reply of the replica."""
        self._replica.give_up_calls()
        self._replica.close()
