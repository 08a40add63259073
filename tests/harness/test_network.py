"""The proxy that loses answers to commits: the server has committed, and the client cannot know."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import psycopg
import pytest
from sqlalchemy import make_url

from tests.harness.network import Network
from tests.harness.node_processes import wait_until
from tests.harness.postgres import PostgresServer
from tests.harness.postgres_protocol import Commit

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(postgres_server: PostgresServer) -> Iterator[str]:
    url = postgres_server.create_database()
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute("CREATE TABLE answers (answer int)")
    yield url.replace("+psycopg", "")
    postgres_server.drop_database(url)


@pytest.fixture
def network(postgres_server: PostgresServer) -> Iterator[Network]:
    with Network(postgres_server.port) as network:
        yield network


def answers(url: str) -> list[int]:
    with psycopg.connect(url) as connection:
        return [
            answer for (answer,) in connection.execute("SELECT answer FROM answers ORDER BY answer")
        ]


def through(network: Network, url: str) -> str:
    return make_url(url).set(port=network.port).render_as_string()


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("prepared", [True, False])
def test_the_server_commits_and_the_client_gets_an_error(
    url: str, network: Network, *, autocommit: bool, prepared: bool
) -> None:
    seen: list[Commit] = []

    def is_third(commit: Commit) -> bool:
        seen.append(commit)
        return len(seen) == 3

    threshold = 0 if prepared else None
    with (
        network.losing_answers(is_third),
        psycopg.connect(through(network, url), autocommit=autocommit) as connection,
    ):
        connection.prepare_threshold = threshold
        for answer in (1, 2):
            connection.execute("INSERT INTO answers VALUES (%s)", [answer])
            connection.commit()

        def third() -> None:
            connection.execute("INSERT INTO answers VALUES (%s)", [3])
            connection.commit()

        with pytest.raises(psycopg.OperationalError):
            third()
    assert answers(url) == [1, 2, 3]
    assert network.lost == 1
    assert len(seen) == 3
    assert all("INSERT INTO answers" in " ".join(commit.statements) for commit in seen)


def test_reads_and_rollbacks_are_no_commits(url: str, network: Network) -> None:
    with (
        network.losing_answers(lambda _: True),
        psycopg.connect(through(network, url)) as connection,
    ):
        connection.execute("INSERT INTO answers VALUES (1)")
        connection.execute("SELECT 1")
        connection.rollback()
    assert answers(url) == []
    assert network.lost == 0


def test_answers_get_lost_while_requests_arrive(url: str, network: Network) -> None:
    with (
        psycopg.connect(through(network, url), autocommit=True) as connection,
        ThreadPoolExecutor(1) as threads,
    ):
        network.silence(requests=False)
        insert = threads.submit(connection.execute, "INSERT INTO answers VALUES (1)")
        wait_until(lambda: answers(url) == [1])
        assert not insert.done()
        network.resume()
        insert.result(timeout=30)


def test_requests_get_lost(url: str, network: Network) -> None:
    with (
        psycopg.connect(through(network, url), autocommit=True) as connection,
        ThreadPoolExecutor(1) as threads,
    ):
        network.silence(answers=False)
        insert = threads.submit(connection.execute, "INSERT INTO answers VALUES (1)")
        assert answers(url) == []
        network.resume()
        insert.result(timeout=30)
    assert answers(url) == [1]


def test_a_slow_network_takes_its_time_in_each_direction(url: str, network: Network) -> None:
    with psycopg.connect(through(network, url), autocommit=True) as connection:
        network.delay = 0.05
        began = time.monotonic()
        connection.execute("SELECT 1")
        assert time.monotonic() - began >= 0.1


def test_of_reset_requests_half_arrive(url: str, network: Network) -> None:
    for answer in (1, 2):
        with psycopg.connect(through(network, url), autocommit=True) as connection:
            with network.resetting(1.0, Random(1)), pytest.raises(psycopg.OperationalError):
                connection.execute(f"INSERT INTO answers VALUES ({answer})".encode())
            assert network.resets == answer
    wait_until(lambda: answers(url) == [1])
