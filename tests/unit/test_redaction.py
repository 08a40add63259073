"""Secrets are in no error, no URL and no message about a setting."""

import logging
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import pytest
from pydantic import BaseModel, SecretStr, TypeAdapter, field_validator
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.exc import IntegrityError

from horae.client.jobs.creating.new_job import new_job
from horae.errors import ConfigurationError, InvalidParameters
from horae.redaction import MASK, MOST_FRAMES, cleaner, error_text, shown_url, traceback_text
from horae.settings import settings
from horae.storage.engine.url import normalised, shown
from horae.types.function import JobFunction
from horae.types.logs.lines import LONGEST_PART, PLAIN, TextFormatter, json_formatter
from horae.types.options.start_options import StartOptions
from horae.types.parameters.secret import Secret, secret_values

HIDDEN: Final = "correct'horse\nbätteries"
PASSWORD: Final = "hunter2"


def refused() -> Exception:
    try:
        TypeAdapter(dict[str, int]).validate_python({"a": PASSWORD, "b": PASSWORD * 50})
    except ValueError as error:
        return error
    raise AssertionError


def failed_insert() -> Exception:
    engine = create_engine("sqlite://", poolclass=NullPool)  # closes the connection at the end
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE t (a TEXT UNIQUE)"))
        for _ in range(2):
            try:
                connection.execute(text("INSERT INTO t VALUES (:a)"), {"a": PASSWORD})
            except IntegrityError as error:
                return error
    raise AssertionError


def caused_by(cause: Exception) -> Exception:
    error = RuntimeError("it did not work")
    error.__cause__ = cause
    return error


def grouped_with(one: Exception) -> Exception:
    return ExceptionGroup(
        "several", [ValueError("another"), ExceptionGroup("inner", [caused_by(one)])]
    )


@pytest.mark.parametrize("make", [refused, failed_insert])
@pytest.mark.parametrize("wrapped", [lambda error: error, caused_by, grouped_with])
def test_errors_do_not_repeat_values(
    make: Callable[[], Exception], wrapped: Callable[[Exception], Exception]
) -> None:
    error = wrapped(make())
    assert PASSWORD in "".join(
        [str(make()), *logging.Formatter().formatException((type(error), error, None))]
    )
    assert PASSWORD not in error_text(error) + traceback_text(error)


def test_a_redacted_message_still_names_the_problem() -> None:
    assert re.search(
        r"ValidationError: 2 validation errors .*\na\n  Input should be a valid integer",
        error_text(refused()),
    )
    assert "UNIQUE constraint failed: t.a" in error_text(failed_insert())


def test_known_secrets_are_found_however_they_are_written() -> None:
    clean = cleaner([HIDDEN, PASSWORD, PASSWORD + "00", "abc"])
    for written in (
        HIDDEN,
        repr(HIDDEN),
        repr({"a": HIDDEN}),
        ascii(HIDDEN),
        f"a {PASSWORD} b",
        f"{PASSWORD}00",
    ):
        cleaned = clean(written)
        assert MASK in cleaned
        assert "horse" not in cleaned
        assert PASSWORD not in cleaned
        assert "00" not in cleaned
    assert clean("abc") == "abc"


class Account(BaseModel):
    name: str
    key: Annotated[str, Secret()]


class Login(BaseModel):
    user: str
    password: SecretStr = SecretStr("")
    pin: Annotated[int, Secret()] = 0
    accounts: list[Account] = []
    nested: Annotated[dict[str, Any], Secret()] = {}


def test_the_secrets_of_stored_parameters_are_known_also_where_they_no_longer_fit() -> None:
    stored = (
        '{"user": "ada", "password": "one", "pin": 4711, "accounts": [{"name": "n", "key": "two"}, 7],'
        ' "nested": {"a": ["three", null, true]}, "unknown": "x"}'
    )
    # A parameter that the model no longer has may be a secret under its former name.
    assert sorted(secret_values(Login, stored)) == ["4711", "one", "three", "two", "x"]
    for odd in (None, "[]", "no JSON", '{"accounts": 5}'):
        assert list(secret_values(Login, odd)) == []


def test_the_error_of_a_call_holds_no_input_not_even_as_its_cause() -> None:
    class Refusing(BaseModel):
        number: int
        other: str

        @field_validator("other")
        @classmethod
        def check(cls, given: str) -> str:
            assert given == "x"
            return given

    @JobFunction
    def take(number: int, inner: Refusing) -> None: ...

    with pytest.raises(InvalidParameters) as caught:
        new_job(
            take.job_type,
            StartOptions(),
            {"number": PASSWORD, "inner": {"number": PASSWORD, "other": "y"}},
        )
    printed = logging.Formatter().formatException((type(caught.value), caught.value, None))
    assert PASSWORD not in printed


@pytest.mark.parametrize("formatter", [TextFormatter(PLAIN), json_formatter()])
def test_logs_do_not_repeat_values(formatter: logging.Formatter) -> None:
    error = caused_by(refused())
    record = logging.LogRecord(
        "horae", logging.ERROR, "", 1, "oh", None, (type(error), error, error.__traceback__)
    )
    line = formatter.format(record)
    assert "it did not work" in line
    assert PASSWORD not in line


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:hunter2@host/name",
        "postgresql://ada:hunter2@host:5432/name?sslmode=require",
        "postgresql://host/name?user=ada&password=hunter2",
        "postgresql://host/name?sslpassword=hunter2&sslmode=require",
        "postgresql://host/name?sslmode=require&passfile=hunter2",
        "postgresql://ada:hun%40ter2hunter2@host/name",
    ],
)
def test_urls_are_shown_without_passwords(url: str) -> None:
    assert "hunter2" not in shown(url)
    assert "hunter2" not in shown_url(url)
    assert "host" in shown(url)
    assert ("sslmode=require" in shown(url)) == ("sslmode" in url)


@pytest.mark.parametrize(
    "malformed",
    [
        "postgresql://ada:hunter2@host:port/name",
        "postgresql:/ada:hunter2@host",
        "host=h password=hunter2",
        "postgresql//ada:hunter2@host",
        "ada:hunter2",
        "pg sql://ada:hunter2@h",
        "postgresql://ada:hunter2@[::1/name",
    ],
)
def test_malformed_urls_are_not_repeated(malformed: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        normalised(malformed)
    printed = logging.Formatter().formatException((type(caught.value), caught.value, None))
    assert "hunter2" not in printed


@pytest.mark.parametrize(
    "toml", ["tokens = {alice='hunter2'}", "tokens = [['hunter2']]", "database = ['hunter2']"]
)
def test_errors_about_settings_do_not_show_passwords(
    toml: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "horae.toml"
    file.write_text(toml)
    monkeypatch.setenv("HORAE_CONFIG", str(file))
    name = toml.partition(" ")[0]
    with pytest.raises(
        ConfigurationError, match=rf"{name}.* \(HORAE_{name.upper()}.*\): the value is not allowed"
    ) as caught:
        settings()
    printed = logging.Formatter().formatException((type(caught.value), caught.value, None))
    assert "hunter2" not in printed


def test_a_message_cannot_forge_a_log_line() -> None:
    record = logging.LogRecord(
        "horae", logging.INFO, "", 1, "%s", ("ada\n2026 INFO horae.audit: forged\r\x1b[2J",), None
    )
    record.job, record.type = 7, "work\n2026 INFO horae.audit: forged"
    record.exc_info = (ValueError, ValueError("no\n2026 INFO horae.audit: forged\x1b[2J"), None)
    record.stack_info = "Stack:\n2026 INFO horae.audit: forged\x85"
    written = TextFormatter(PLAIN).format(record)
    _, *others = written.split("\n")
    assert written.count("forged") == 4
    assert all(line.startswith("    ") for line in others)
    assert written.replace("\n", "").isprintable()


@pytest.mark.parametrize("formatter", [TextFormatter(PLAIN), json_formatter()])
def test_a_record_has_a_bounded_length(formatter: logging.Formatter) -> None:
    long = "x" * 3 * LONGEST_PART
    record = logging.LogRecord("horae", logging.INFO, "", 1, "%s", (long,), None)
    record.exc_info = (ValueError, ValueError(long), None)
    written = formatter.format(record)
    assert written.count("characters left out") == 2
    assert len(written) < 3 * LONGEST_PART


def test_of_a_very_long_traceback_the_innermost_frames_are_written() -> None:
    def first(left: int) -> None:
        second(left)

    def second(left: int) -> None:
        if left == 0:
            raise ValueError("the innermost")
        first(left - 1)

    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * MOST_FRAMES)
    try:
        with pytest.raises(ValueError, match="the innermost") as caught:
            first(2 * MOST_FRAMES)
    finally:
        sys.setrecursionlimit(before)
    written = traceback_text(caught.value)
    assert written.count("in first") == written.count("in second") == MOST_FRAMES // 2
    assert written.endswith("ValueError: the innermost\n")
