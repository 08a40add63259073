"""The databases of `tests/schedules`, with a clock that a test owns."""

from tests.schedules.conftest import clocked_database, clocked_postgres, driver

__all__ = ["clocked_database", "clocked_postgres", "driver"]
