"""A short run of `make chaos` with a fixed seed, and tests of the rules that it checks."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos import __main__ as chaos
from tests.chaos.ledger import gaps
from tests.harness.postgres import PostgresServer

START = datetime(2026, 3, 29, 0, 59, 58, tzinfo=UTC)


def entry(offset: int, count: int = 1) -> Any:
    nominal = START + timedelta(seconds=offset)
    return SimpleNamespace(
        schedule_id=1, nominal_time=nominal, until=nominal + timedelta(seconds=count - 1), times=count
    )


def test_a_complete_ledger_has_no_gap() -> None:
    assert list(gaps([entry(0), entry(1, 5), entry(6)])) == []


@pytest.mark.parametrize("entries", [[entry(0), entry(2)], [entry(0, 2), entry(1)], [entry(0), entry(0)]])
def test_a_second_without_a_decision_or_with_two_is_found(entries: list[Any]) -> None:
    assert list(gaps(entries))


@pytest.mark.postgres
@pytest.mark.timeout(180)
def test_three_nodes_under_fire_on_postgresql(postgres_server: PostgresServer) -> None:
    url = postgres_server.create_database()
    findings, injector = chaos.run(url, seconds=10, seed=11, schedules=40, nodes=3, skewed=True)
    assert findings.violations == []
    assert findings.figures["fired"] > 0
    assert injector.injected.total() > 0


@pytest.mark.timeout(180)
def test_two_processes_under_fire_on_one_sqlite_file(tmp_path: Any) -> None:
    url = f"sqlite:///{tmp_path / 'horae.db'}"
    findings, injector = chaos.run(url, seconds=10, seed=11, schedules=20, nodes=2, skewed=False)
    assert findings.violations == []
    assert findings.figures["fired"] > 0
    assert injector.injected.total() > 0
