"""Answers while the database is unavailable: the request was not at fault, and may be repeated."""

import json
import sqlite3

import psycopg
import pytest
from psycopg import errors
from sqlalchemy.exc import DBAPIError

from horae.api.problems import response_to, status_of
from horae.errors import DatabaseAccessDenied, DatabaseUnavailable


@pytest.mark.parametrize(
    "origin",
    [
        errors.ReadOnlySqlTransaction(),
        errors.AdminShutdown(),
        errors.TooManyConnections(),
        errors.ProtocolViolation(),
        psycopg.ProgrammingError(),
        sqlite3.OperationalError("disk I/O error"),
    ],
    ids=repr,
)
def test_a_database_that_cannot_serve_is_unavailable(origin: Exception) -> None:
    base = psycopg.Error if isinstance(origin, psycopg.Error) else sqlite3.Error
    error = DBAPIError.instance("SELECT 1", (), origin, base)
    assert isinstance(error, DBAPIError)
    assert status_of(error) == (503, "ERROR_UNAVAILABLE")


@pytest.mark.parametrize(
    ("origin", "detail"),
    [
        (errors.AdminShutdown("gone"), "the database does not answer"),
        (
            errors.InsufficientPrivilege("permission denied for table horae_sessions"),
            "the database refuses this; see the log",
        ),
        (errors.UndefinedColumn("no column"), "the database refuses this; see the log"),
    ],
    ids=repr,
)
def test_a_database_that_refuses_has_answered(
    origin: psycopg.Error, detail: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As it does to a role that lacks a privilege."""
    error = DBAPIError.instance("SELECT 1", (), origin, psycopg.Error)
    assert isinstance(error, DBAPIError)
    response = response_to(error)
    assert response.status_code == 503
    assert json.loads(bytes(response.body))["detail"].startswith(detail)
    assert str(origin) in caplog.text
    assert str(origin) not in bytes(response.body).decode()


def test_values_that_cannot_be_stored_are_our_fault() -> None:
    error = DBAPIError.instance("SELECT 1", (), errors.CheckViolation(), psycopg.Error)
    assert isinstance(error, DBAPIError)
    assert status_of(error) == (500, "ERROR_INTERNAL")


def test_only_the_log_names_the_role_and_the_table(caplog: pytest.LogCaptureFixture) -> None:
    error = DatabaseAccessDenied("role shop lacks the privilege INSERT on horae_jobs")
    response = response_to(error)
    assert response.status_code == 503
    assert json.loads(bytes(response.body))["detail"] == (
        "the database refuses this; see the log of the server"
    )
    assert f"the database refuses a request: {error}" in caplog.text


@pytest.mark.parametrize("answers", [True, False])
def test_only_the_log_names_the_server(*, answers: bool, caplog: pytest.LogCaptureFixture) -> None:
    error = DatabaseUnavailable(
        "postgresql://node@db.example/shop", "no route to host", answers=answers
    )
    response = response_to(error)
    assert response.status_code == 503
    assert "db.example" not in bytes(response.body).decode()
    assert "no route" not in bytes(response.body).decode()
    assert str(error) in caplog.text
