"""Bodies in Django's transaction whose process is killed: their writes exist exactly if the job has finished."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from horae.contrib.django import DjangoHorae
from horae.storage.engine.database import Database
from tests.contrib.django.conftest import settings_of
from tests.contrib.django.shop import jobs
from tests.contrib.django.shop.models import Order
from tests.harness.applications import attempts_of
from tests.harness.node_processes import ROOT, wait_until

pytestmark = pytest.mark.one_database

MOMENTS = ("written", "settled", "committed")


@pytest.fixture
def nodes(database: Database, tmp_path: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The processes that a test has started; all are killed in the end."""
    started = list[subprocess.Popen[bytes]]()
    yield started
    for process in started:
        process.kill()
        process.communicate()


def started(database: Database, log: IO[bytes]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "SHOP_DATABASE": json.dumps(settings_of(database))}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.contrib.django.shop.node"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
    )


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_each_order_is_written_once(
    horae: DjangoHorae,
    database: Database,
    nodes: list[subprocess.Popen[bytes]],
    tmp_path: Path,
) -> None:
    """Three nodes are killed, each at another moment; a fourth one runs what is left."""
    with (tmp_path / "nodes.log").open("wb") as log:
        ids = list[int]()
        for number, moment in enumerate(MOMENTS):
            # It goes before the jobs of earlier nodes, which must not be killed again and again.
            job = horae.jobs.start(jobs.order_here, number=number, moment=moment, priority=number)
            ids.append(job.id)
            nodes.append(started(database, log))
            assert nodes[-1].wait(60) == -9
        in_child = [
            horae.jobs.start(jobs.order_in_child, number=10 + number, moment=moment).id
            for number, moment in enumerate(MOMENTS)
        ]
        nodes.append(started(database, log))
        wait_until(lambda: set(horae.jobs.count()) <= {"finished", "failed"}, within=120)
    states = {horae.jobs.get(job_id).state.value for job_id in ids + in_child}
    assert states == {"finished"}, [horae.jobs.get(job_id).error for job_id in ids + in_child]
    orders = {(order.number, order.shipped_by) for order in Order.objects.all()}
    assert orders == {*enumerate(ids), *enumerate(in_child, 10)}
    outcomes = [attempts_of(horae, job_id) for job_id in ids + in_child]
    assert all(each.count("finished") == 1 for each in outcomes)
    firsts = [each[0] for each in outcomes]  # a killed child is a failure of its job
    assert firsts == ["crashed", "crashed", "finished", "failed", "failed", "finished"]
