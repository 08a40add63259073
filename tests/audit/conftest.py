"""The databases of `tests/schedules`, with a clock that a test owns."""

from tests.schedules.conftest import clocked_database, driver

__all__ = ["clocked_database", "driver"]
