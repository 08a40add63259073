"""A chain with a sealed secret and large values, in child processes of a node that is killed on the way."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from cryptography.fernet import Fernet

from horae import Horae
from tests.harness.node_processes import wait_until

APPLICATION: Final = """
import os
import time
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel

from horae import Horae, JobContext, JobType, Previous, Secret

horae = Horae()


class Login(BaseModel):
    text: str
    password: Annotated[str, Secret()]


@horae.register
class Read(JobType[Login]):
    # A child process makes an instance of its own.

    type = "read"
    params = Login
    isolation = "process"
    max_attempts = 3

    def run(self, job: JobContext[Login]) -> str:
        return job.params.text + job.params.password


@horae.job(isolation="process", max_attempts=3)
def measure(text: Previous[str], times: int) -> int:
    Path("begun").touch()
    while not Path("go").exists():
        time.sleep(0.01)
    return len(text) * times
"""
LONG: Final = "a long text " * 1000
HIDDEN: Final = "correct-horse-battery"


@contextmanager
def node(folder: Path, environment: dict[str, str]) -> Generator["subprocess.Popen[bytes]"]:
    command = [sys.executable, "-m", "horae", "run", "app:horae", "--no-api"]
    with (folder / "node.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_chain_goes_on_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "HORAE_DATABASE": f"sqlite:///{tmp_path}/horae.db",
        "HORAE_SECRET_KEYS": Fernet.generate_key().decode(),
        "HORAE_LARGE_VALUES": f"file://{tmp_path}/store",
        "HORAE_LARGE_VALUES_OVER": "2000",
    }
    (tmp_path / "app.py").write_text(APPLICATION)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(tmp_path))
    horae: Horae = __import__("app").horae
    try:
        chain = horae.jobs.chain(
            [("read", {"text": LONG, "password": HIDDEN}), ("measure", {"times": 2})]
        )
        environment = {**os.environ, **given}
        with node(tmp_path, environment) as first:
            wait_until((tmp_path / "begun").exists)
            os.killpg(first.pid, signal.SIGKILL)
        (tmp_path / "go").touch()
        with node(tmp_path, environment):
            found = horae.jobs.wait(chain[1].id, timeout="60s")
        assert found == 2 * (len(LONG) + len(HIDDEN))
        assert horae.jobs.wait(chain[0].id) == LONG + HIDDEN
        stored = [path for path in tmp_path.glob("horae.db*") if path.is_file()]
        assert not [path for path in stored if HIDDEN.encode() in path.read_bytes()]
    finally:
        horae.close()
        sys.modules.pop("app", None)
