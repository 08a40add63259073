"""A short run of `make chaos` with a fixed seed."""

from pathlib import Path
from typing import Final

import pytest

from tests.chaos import __main__ as chaos
from tests.harness.postgres import PostgresServer

SILENCE: Final = 3.0
"""Seconds after which a node counts as dead here."""


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(180)
def test_three_nodes_under_fire_on_postgresql(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url = postgres_server.create_database()
    verdict = chaos.run(
        url, tmp_path, seconds=7, seed=11, schedules=40, nodes=3, skewed=True, silence=SILENCE
    )
    assert verdict.findings == []
    assert verdict.figures["fired"] > 0
    assert verdict.injected.total() > 0


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_two_processes_under_fire_on_one_sqlite_file(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'horae.db'}"
    verdict = chaos.run(
        url, tmp_path, seconds=7, seed=11, schedules=20, nodes=2, skewed=False, silence=SILENCE
    )
    assert verdict.findings == []
    assert verdict.figures["fired"] > 0
    assert verdict.injected.total() > 0
