"""A clock that a test controls, on both databases: it replaces the time in all statements of Horae."""

from datetime import UTC, datetime, timedelta
from typing import Final

import pytest
from sqlalchemy import text

from horae.domain.times import EPOCH, MICROSECOND
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import POSTGRESQL
from horae.storage.engine.sqlite import opening

MONDAY: Final = datetime(2026, 3, 2, 10, tzinfo=UTC)
"""Where the clock stands when a test begins: ten o'clock, far from any change of the clocks."""

# A function of this name in a schema before `pg_catalog` takes the place of the server's own clock.
OWN_CLOCK: Final = """
CREATE SCHEMA clock;
CREATE TABLE clock.hand (moment timestamptz NOT NULL);
INSERT INTO clock.hand VALUES (now());
CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT moment FROM clock.hand';
DO $$ BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = clock, pg_catalog, public', current_database());
END $$;
"""
"""Replaces the clock of a PostgreSQL database, for sessions that begin from now on."""


class Clock:
    """Stands still until it is moved."""

    def __init__(self, database: Database, patch: pytest.MonkeyPatch) -> None:
        """A PostgreSQL database must have been taken over."""
        self._database, self.now = database, MONDAY
        if database.dialect != POSTGRESQL:
            patch.setattr(opening, "now", lambda: (self.now - EPOCH) // MICROSECOND)
        self.set(MONDAY)

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> datetime:
        """Move the clock, back too; the moment that it shows then."""
        return self.set(
            self.now + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        )

    def set(self, moment: datetime) -> datetime:
        """Put the clock somewhere."""
        self.now = moment
        if self._database.dialect == POSTGRESQL:
            with self._database.engine.begin() as connection:
                connection.execute(
                    text("UPDATE clock.hand SET moment = :moment"), {"moment": moment}
                )
        return moment
