"""Chooses by the settings where live state is kept, how hints travel and where lists are read.

The client library of Redis is imported only if a setting names a Redis server.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

from horae.live import DatabaseLiveStore, LiveStore
from horae.optional_packages import packages_required
from horae.settings import Settings
from horae.storage.engine import Database, ReadReplica, identity_of, normalised
from horae.wakeup import LocalChannel, SilentChannel, WakeupChannel

if TYPE_CHECKING:
    from horae.redis_access.access import RedisAccess


def opened_database(settings: Settings, **options: int) -> Database:
    """Return the database of the settings, which connects when it is first used."""
    return Database(
        settings.database,
        busy_timeout=settings.busy_timeout.total_seconds(),
        pooler=settings.pooler,
        prepared_statements=settings.prepared_statements,
        **options,
    )


class Adapters:
    """The live store and the wake-up channel of one application; both may use one Redis server."""

    def __init__(self, settings: Settings, database: Database) -> None:
        """Raise `ConfigurationError` for an unusable Redis server, before connecting to it."""
        self._settings, self._database = settings, database
        self._servers: dict[str, RedisAccess] = {}
        if (url := settings.read_database) is None:
            self.replica = None
        else:
            self.replica = ReadReplica(database, url.get_secret_value())
        self.live: LiveStore = DatabaseLiveStore(database)
        if (server := settings.redis_live or settings.redis) is not None:
            access = self._access(server.get_secret_value())
            from horae.live.redis import RedisLiveStore

            self.live = RedisLiveStore(access, self.live)
        self.wakeup = self._wakeup()

    @property
    def redis_servers(self) -> "Collection[RedisAccess]":
        """The Redis servers that the settings name."""
        return self._servers.values()

    def close(self) -> None:
        """Close the channel, the store and the replica, but not the database."""
        if self.replica is not None:
            self.replica.close()
        self.wakeup.close()
        self.live.close()

    def _wakeup(self) -> WakeupChannel:
        given = self._settings
        if not given.hints:
            return SilentChannel()
        server = given.redis_hints or (given.redis if given.hints_database is None else None)
        if server is not None:
            access = self._access(server.get_secret_value())
            from horae.wakeup.redis import RedisChannel

            return RedisChannel(access)
        if self._database.is_file:
            return LocalChannel(identity_of(self._database))
        from horae.wakeup.postgres import PostgresChannel

        if given.hints_database is not None:
            direct = normalised(given.hints_database.get_secret_value(), "hints_database")
            return PostgresChannel(direct, database=self._database.url)
        return PostgresChannel(self._database.url, listens=not self._database.pooled)

    def _access(self, url: str) -> "RedisAccess":
        """Return the access to a server, one for each URL, so that a failure is logged once."""
        with packages_required(
            {"redis"},
            "redis (HORAE_REDIS): the client library of Redis is not installed: pip install"
            " 'horae[redis]'",
        ):
            from horae.redis_access.access import RedisAccess
        if url not in self._servers:
            # No other database has the same prefix: each has a job 1, and a cancel is found by the
            # id of its job. A given prefix replaces the hash of an SQLite file, which processes may
            # know by different paths.
            prefix = self._settings.redis_prefix
            if prefix is None or not self._database.is_file:
                prefix = f"{prefix or 'horae'}:{identity_of(self._database)}"
            self._servers[url] = RedisAccess(url, prefix)
        return self._servers[url]
