"""Answers while the database is unavailable: the request was not at fault, and may be repeated."""

import sqlite3

import psycopg
import pytest
from psycopg import errors
from sqlalchemy.exc import DBAPIError

from horae.api.problems import status_of


@pytest.mark.parametrize(
    "origin",
    [errors.ReadOnlySqlTransaction(), errors.AdminShutdown(), errors.TooManyConnections(), errors.ProtocolViolation(),
     psycopg.ProgrammingError(), sqlite3.OperationalError("disk I/O error")],
    ids=repr,
)  # fmt: skip
def test_a_database_that_cannot_serve_is_unavailable(origin: Exception) -> None:
    base = psycopg.Error if isinstance(origin, psycopg.Error) else sqlite3.Error
    error = DBAPIError.instance("SELECT 1", (), origin, base)
    assert isinstance(error, DBAPIError)
    assert status_of(error) == (503, "ERROR_UNAVAILABLE")


def test_values_that_cannot_be_stored_are_our_fault() -> None:
    error = DBAPIError.instance("SELECT 1", (), errors.CheckViolation(), psycopg.Error)
    assert isinstance(error, DBAPIError)
    assert status_of(error) == (500, "ERROR_INTERNAL")
