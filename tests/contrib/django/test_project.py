"""The application of a project: its settings, its database, its tables and its connections."""

import gc
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection, connections

from horae import ConfigurationError, Horae, InvalidJobType
from horae.contrib.django import DjangoHorae
from horae.contrib.django.databases import url_of
from horae.storage.engine.database import Database
from tests.contrib.django.conftest import on_database, settings_of
from tests.contrib.django.shop import jobs
from tests.harness.applications import rows

pytestmark = pytest.mark.one_database

SERVER = {"ENGINE": "django.db.backends.postgresql", "NAME": "a shop"}


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({}, "postgresql:///a%20shop"),
        (
            {"USER": "ann@b", "PASSWORD": "p:/?", "HOST": "db", "PORT": "5433"},
            "postgresql://ann%40b:p%3A%2F%3F@/a%20shop?host=db&port=5433",
        ),
        (
            {"OPTIONS": {"sslmode": "require", "pool": True, "assume_role": "shop"}},
            "postgresql:///a%20shop?sslmode=require&options=-c+role%3Dshop",
        ),
        ({"HOST": "/run/postgresql"}, "postgresql:///a%20shop?host=%2Frun%2Fpostgresql"),
    ],
)
def test_the_url_of_a_server(given: dict[str, Any], url: str) -> None:
    with on_database({**SERVER, **given}):
        assert url_of("default") == url


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}, "'TEST': {'NAME'"),
        ({"ENGINE": "django.db.backends.dummy"}, "PostgreSQL or SQLite"),
    ],
)
def test_a_database_that_horae_cannot_use_is_named(given: dict[str, Any], text: str) -> None:
    with on_database(given), pytest.raises(ConfigurationError, match=text):
        url_of("default")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"concurency": 3}, "concurency: unknown setting.*concurrency"),
        ({"database": "sqlite:///x.db"}, "'using'"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        DjangoHorae(given)


def test_an_alias_that_does_not_exist_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"'jobs' is not in DATABASES.*'default'"):
        _ = DjangoHorae({"using": "jobs"}).jobs


def test_it_follows_the_alias(horae: DjangoHorae, tmp_path: Path) -> None:
    horae.jobs.start_many(jobs.ship, [{"number": 1}, {"number": 2}])
    schedules = horae.schedules
    with on_database({"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "other.db")}):
        assert jobs.ship.start(number=1).id == 1
        assert len(horae.jobs.list().jobs) == 1
        assert horae.schedules is not schedules
    assert len(horae.jobs.list().jobs) == 2


def test_migrate_brings_the_tables_along_and_says_so(
    database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = settings_of(Database(database_url))
    with on_database(given):
        call_command("migrate", verbosity=1, run_syncdb=True)
        assert "Horae's tables are up to date." in capsys.readouterr().out
        call_command("migrate", verbosity=1)
        assert "Horae" not in capsys.readouterr().out
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM horae_jobs")
            assert cursor.fetchone() == (0,)
        call_command("migrate", verbosity=0)


def test_another_database_is_refused(horae: DjangoHorae) -> None:
    with pytest.raises(ConfigurationError, match="leave out --database"):
        horae.settings = horae.settings.model_copy(update={"database": "sqlite:///other.db"})


def test_late_write_locks_are_warned_of(tmp_path: Path) -> None:
    given = {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "shop.db")}
    with on_database(given):
        assert [each.id for each in run_checks(databases=["default"])] == ["horae.W001"]
        assert run_checks() == []
    with on_database({**given, "OPTIONS": {"transaction_mode": "IMMEDIATE"}}):
        assert run_checks(databases=["default"]) == []


def test_a_transaction_of_django_is_refused_for_a_coroutine(horae: DjangoHorae) -> None:
    async def body() -> None: ...

    with pytest.raises(InvalidJobType, match="`def` in place of"):
        horae.job(name="in-coroutine", transaction="django")(body)
    with pytest.raises(InvalidJobType, match="'serializable', 'django'"):
        Horae("sqlite:///x.db").job(transaction="django ")(body)  # type: ignore[call-overload]


def test_the_command_line_is_a_command_of_django(sqlite_database: Database) -> None:
    environment = {**os.environ, "SHOP_DATABASE": json.dumps(settings_of(sqlite_database))}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "django", "horae", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    listed = run("types", "list")
    assert "order_and_ship" in listed.stdout, listed.stderr
    wrong = run("jobs", "start", "ship")
    assert wrong.returncode == 2
    assert "number" in wrong.stderr


def test_a_command_can_be_called(
    horae: DjangoHorae, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HORAE_APP", "horae.contrib.django:horae")
    job = horae.jobs.start(jobs.ship, number=1)
    call_command("horae", "jobs", "show", str(job.id))
    assert "ship" in capsys.readouterr().out


def test_bodies_work_after_the_server_has_ended_their_sessions(
    horae: DjangoHorae, database: Database, monkeypatch: Any
) -> None:
    """Connections that Django keeps are found to be broken before the next body uses them."""
    monkeypatch.setitem(connections.settings["default"], "CONN_MAX_AGE", None)
    with horae.node(concurrency=1).running():
        for number in range(2):
            values: dict[str, dict[str, Any]] = {
                "ship": {"number": 0},
                "order_and_ship": {"number": number},
                "count": {},
            }
            for name, given in values.items():
                horae.jobs.wait(horae.jobs.start(name, **given).id, timeout="20s")
            if not database.is_file:
                rows(horae, TERMINATE)
    connection.close()
    with warnings.catch_warnings():  # Django leaves the connections of ended threads open
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


TERMINATE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
    """
