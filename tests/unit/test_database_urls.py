"""URLs of several servers: read as libpq reads them, completed, refused, shown and compared without connecting."""

import sys
from contextlib import closing

import pytest
from sqlalchemy import make_url

from horae.errors import ConfigurationError
from horae.storage.engine.database import Database
from horae.storage.engine.url import driver_arguments, normalised, shown


@pytest.mark.parametrize(
    ("url", "hosts", "ports"),
    [
        ("postgresql://h1:5433,h2:5434/d", "h1,h2", "5433,5434"),
        ("postgres://h1,h2/d", "h1,h2", "5432,5432"),
        ("postgresql://u:p,w@h1,h2:5434/d", "h1,h2", "5432,5434"),
        ("postgresql+psycopg://u@[::1]:5433,[fe80::2]/d", "::1,fe80::2", "5433,5432"),
        ("postgresql:///d?host=h1:5433&host=h2:5434", "h1,h2", "5433,5434"),
        ("postgresql:///d?host=h1,h2&port=5433,5434", "h1,h2", "5433,5434"),
    ],
)
def test_several_hosts_reach_the_driver_and_the_writable_one_is_looked_for(
    url: str, hosts: str, ports: str
) -> None:
    found = driver_arguments(normalised(url))
    assert (found["host"], found["port"], found["dbname"]) == (hosts, ports, "d")
    assert found["target_session_attrs"] == "read-write"
    again = normalised(
        normalised(url).render_as_string(hide_password=False)
    )  # as a child process receives it
    assert again == normalised(url) == normalised(normalised(url))


def test_what_the_url_says_about_the_server_that_it_looks_for_is_kept() -> None:
    assert (
        normalised("postgresql://h1,h2/d?target_session_attrs=any").query["target_session_attrs"]
        == "any"
    )
    assert "target_session_attrs" not in normalised("postgresql://h1/d").query
    assert "target_session_attrs" not in normalised("postgresql:///d?host=/run/postgresql").query


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("postgresql://h1:5433,h2:x/d", "'h1:5433,h2:x' is not a list of hosts"),
        ("postgresql://h1,/d", "'h1,' is not a list of hosts"),
        ("postgresql://u:p@h1,[::1/d", "'h1,\\[::1' is not a list of hosts"),
        ("postgresql:///d?host=h1,h2,h3&port=1,2", "the hosts and ports of the URL do not match"),
        (
            "postgresql:///d?host=h1:1&host=h2:2&port=3",
            "the hosts and ports of the URL do not match",
        ),
        ("mysql://h1,h2/d", "'mysql' is not supported"),
    ],
)
def test_malformed_lists_of_hosts_are_refused(url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        normalised(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "postgresql://u:hunter2@h1:5433,h2/d?sslpassword=hunter3",
            "postgresql+psycopg://u:***@h1:5433,h2:5432/d?sslpassword=***&target_session_attrs=read-write",
        ),
        (
            "postgresql://[::1],h2/d",
            "postgresql+psycopg://[::1]:5432,h2:5432/d?target_session_attrs=read-write",
        ),
    ],
)
def test_several_hosts_are_shown_as_written_and_passwords_are_not(url: str, expected: str) -> None:
    assert shown(url) == expected


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("postgresql+psycopg2://h1:5433,h2/d", True),
        ("postgresql+psycopg:///d?host=h1:5433&host=h2:5432", True),
        ("postgresql+psycopg://h1:5433/d", False),
        ("postgresql+psycopg:///d?host=h1:5433&host=h3:5432", False),
        ("postgresql+psycopg:///other?host=h1:5433&host=h2:5432", False),
    ],
)
def test_an_engine_leads_to_the_same_database_only_with_the_same_servers(
    url: str, same: bool
) -> None:
    with closing(Database("postgresql://h1:5433,h2:5432/d")) as database:
        assert database.is_at(normalised(url) if "," in url else make_url(url)) is same


def test_a_driver_that_is_not_installed_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'horae\[postgres\]'"):
        Database("postgresql://db/shop")
