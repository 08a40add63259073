"""Nodes that are killed without warning: their jobs are rescued in seconds, none is lost, none finishes twice."""

import os
from pathlib import Path
from typing import Final

import pytest

from horae.storage.engine import Database
from tests.harness.chaos import Chaos
from tests.harness.figures import figure

KILLS: Final = int(os.environ.get("TEST_KILLS", "3"))
"""Kills: three in continuous integration, 50 in the acceptance run."""

SEED: Final = int(os.environ.get("TEST_SEED", "20260101"))
RESCUED_WITHIN: Final = 3.0 if KILLS >= 50 else 15.0
"""Seconds. The short run is no measurement, because other tests run beside it."""


@pytest.mark.slow
@pytest.mark.timeout(120 + 20 * KILLS)
@pytest.mark.parametrize(
    "database",
    [
        "sqlite",
        # By day, the kills below show on PostgreSQL that jobs are rescued.
        pytest.param("postgresql", marks=[pytest.mark.postgres, pytest.mark.nightly]),
    ],
    indirect=True,
)
def test_jobs_of_a_killed_node_are_rescued(database: Database, tmp_path: Path) -> None:
    with Chaos(database, tmp_path, SEED) as chaos:
        for _ in range(KILLS):
            chaos.kill()
        chaos.finish()
        figure(f"{database.dialect}: {chaos.summary()}")
        assert chaos.findings() == []
    assert max(chaos.recoveries) < RESCUED_WITHIN


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "database",
    [
        # By day, the kills above show on SQLite that each finished job has one effect.
        pytest.param("sqlite", marks=pytest.mark.nightly),
        pytest.param("postgresql", marks=pytest.mark.postgres),
    ],
    indirect=True,
)
def test_each_finished_job_has_one_effect_under_kills(database: Database, tmp_path: Path) -> None:
    with Chaos(database, tmp_path, SEED + 1, silence=1.0) as chaos:
        for fault in (
            chaos.kill_quickly,
            chaos.stop_and_go_on,
            chaos.kill_quickly,
            chaos.kill_quickly,
        ):
            chaos.feed()
            fault()
            chaos.kill_quickly()
        chaos.finish()
        figure(f"{database.dialect}: {chaos.summary()}")
        assert chaos.findings() == []
