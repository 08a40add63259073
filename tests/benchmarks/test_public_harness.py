"""The adapter for the public harness speaks its protocol and does its work."""

import json
import os
import signal
import subprocess
import sys

import pytest

from benchmarks.peers.environments import ROOT
from tests.harness.postgres import database_name

FOLDER = ROOT / "benchmarks/public_harness/horae-bench"


@pytest.mark.slow
@pytest.mark.postgres
def test_the_adapter_runs_what_it_is_told_and_reports_it(direct_url: str) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "DATABASE_URL": direct_url.replace("+psycopg", ""),
        "PRODUCER_PACING": "harness",
        "SAMPLE_EVERY_S": "1",
    }
    command = [sys.executable, str(FOLDER / "main.py")]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as adapter:
        assert adapter.stdin is not None
        assert adapter.stdout is not None
        try:
            descriptor = json.loads(adapter.stdout.readline())
            completed = 0.0
            metrics: set[str] = set()
            while not completed or "producer_target_rate" not in metrics:
                sample = json.loads(adapter.stdout.readline())
                metrics.add(sample["metric"])
                completed += sample["value"] * (sample["metric"] == "completion_rate")
                if sample["metric"] == "producer_target_rate":
                    adapter.stdin.write("ENQUEUE 20\n")
                    adapter.stdin.flush()
            adapter.send_signal(signal.SIGTERM)
            assert adapter.wait(30) == 0
        finally:
            adapter.kill()
    manifest = json.loads((FOLDER / "adapter.json").read_text())
    assert descriptor["kind"] == "descriptor"
    assert set(manifest["event_tables"]) <= set(descriptor["event_tables"])
    assert descriptor["db_name"] == database_name(direct_url)
    assert {"claim_p50_ms", "claim_p95_ms", "claim_p99_ms", "enqueue_rate"} <= metrics
    assert {"completion_rate", "queue_depth"} <= metrics
