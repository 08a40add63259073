"""Secret parameters are encrypted with the application's keys wherever they are stored."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, Final

import pytest
from cryptography.fernet import Fernet
from pydantic import BaseModel, SecretStr

from horae import ConfigurationError, Horae, Job, JobContext, JobFailed, JobState, JobType, Secret
from horae.storage.engine.database import Database
from tests.harness.applications import application
from tests.harness.nodes import running_node

HIDDEN: Final = "correct-horse-battery"
OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()
seen: list[Any] = []


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    seen.clear()


def log_in(
    user: str, password: Annotated[SecretStr, Secret()], codes: Annotated[list[int], Secret()]
) -> None:
    seen.append((user, password.get_secret_value(), codes))


class Login(BaseModel):
    password: Annotated[str, Secret()]


class Failing(JobType[Login]):
    """Has hooks that see the job."""

    type = "failing"
    params = Login

    def run(self, job: JobContext[Login]) -> None:
        raise PermissionError(f"{job.params.password} is wrong")

    def on_error(self, job: Job, error: BaseException) -> None:
        seen.append(job.params)


def declared(database: Database, *keys: str) -> Any:
    """An application on the database with these keys."""
    return application(database, **({"secret_keys": keys} if keys else {}))


def declare(horae: Horae) -> Horae:
    horae.job()(log_in)
    horae.register(Failing)
    return horae


def start(horae: Horae) -> Job:
    return horae.jobs.start("log_in", user="ann", password=HIDDEN, codes=[4711])


def stored(horae: Horae, table: str = "horae_jobs") -> list[str]:
    """Return the parameters in the rows of a table."""
    with horae.components.database.engine.connect() as connection:
        rows = connection.exec_driver_sql(f"SELECT CAST(params AS TEXT) FROM {table} ORDER BY id")
        return [text for (text,) in rows]


async def test_each_way_to_a_job(database: Database) -> None:
    with declared(database, OLD) as horae:
        declare(horae)
        one = start(horae)
        horae.jobs.start_many("log_in", [{"user": "bob", "password": HIDDEN, "codes": [1, 2]}])
        horae.schedules.add(
            "log_in", every="1h", config={"user": "eve", "password": HIDDEN, "codes": []}
        )
        horae.schedules.run_now("log_in")
        assert not any(HIDDEN in text or "4711" in text for text in stored(horae))
        assert HIDDEN not in "".join(stored(horae, "horae_schedules"))
        assert json.loads(stored(horae)[0])["user"] == "ann"
        async with running_node(horae):
            await horae.aio.jobs.wait(one, timeout="20s")
            for job in (await horae.aio.jobs.list()).jobs:
                await horae.aio.jobs.wait(job.id, timeout="20s")
    assert {user: (password, codes) for user, password, codes in seen} == {
        "ann": (HIDDEN, [4711]),
        "bob": (HIDDEN, [1, 2]),
        "eve": (HIDDEN, []),
    }


async def test_rotation(database: Database) -> None:
    """A new key writes while the old one still reads; without the old one the job fails, and the next one runs."""
    with declared(database, OLD) as horae:
        start(declare(horae))
        lost = start(horae)
    with declared(database, NEW, OLD) as horae:
        declare(horae)
        fresh = start(horae)
        horae.jobs.cancel(lost.id)
        async with running_node(horae):
            await horae.aio.jobs.wait(fresh, timeout="20s")
    with declared(database, NEW) as horae:
        declare(horae)
        assert HIDDEN not in str(horae.jobs.get(fresh.id))
        repeated, next_one = horae.jobs.retry(lost.id), start(horae)
        async with running_node(horae):
            await horae.aio.jobs.wait(next_one, timeout="20s")
            with pytest.raises(JobFailed):
                await horae.aio.jobs.wait(repeated, timeout="20s")
        error = horae.jobs.get(repeated.id).error or ""
        assert "sealed with a key that is not among the secret_keys" in error
    assert len(seen) == 3


async def test_no_keys_here(database: Database) -> None:
    with declared(database, OLD) as horae:
        job = start(declare(horae))
    with declared(database) as horae:
        plain = start(declare(horae))
        async with running_node(horae):
            with pytest.raises(JobFailed):
                await horae.aio.jobs.wait(job.id, timeout="20s")
            await horae.aio.jobs.wait(plain, timeout="20s")
        assert "has no secret_keys" in (horae.jobs.get(job.id).error or "")
        assert HIDDEN in stored(horae)[-1]
    with declared(database, OLD) as horae:  # what was stored before there were keys is still read
        again = declare(horae).jobs.retry(job.id)
        with horae.components.database.engine.begin() as connection:
            connection.exec_driver_sql(
                f"UPDATE horae_jobs SET params = (SELECT params FROM horae_jobs WHERE id = {plain.id})"
                f" WHERE id = {again.id}"
            )
        async with running_node(horae):
            await horae.aio.jobs.wait(again, timeout="20s")
    assert len(seen) == 2


async def test_errors_and_hooks(database: Database) -> None:
    with declared(database, OLD) as horae:
        job = declare(horae).jobs.start("failing", password=HIDDEN)
        async with running_node(horae):
            with pytest.raises(JobFailed):
                await horae.aio.jobs.wait(job, timeout="20s")
            await horae.aio.jobs.wait(start(horae), timeout="20s")
        found, (attempt,) = horae.jobs.get(job.id), horae.jobs.attempts(job.id)
        assert HIDDEN not in f"{found.error}{found.human_readable_error}{attempt.traceback}"
        assert "PermissionError" in (found.error or "")
        assert found.state is JobState.FAILED
    assert {"password": HIDDEN} in seen


def test_a_repeated_put_changes_nothing(database: Database) -> None:
    """The same secret is another text each time that it is encrypted."""
    config = {"user": "eve", "password": HIDDEN, "codes": [1]}
    with declared(database, OLD) as horae:
        declare(horae)
        outcomes = [
            horae.schedules.put(
                "nightly", "log_in", every="1h", config={**config, "codes": codes}
            ).outcome
            for codes in ([1], [1], [2])
        ]
    assert outcomes == ["created", "unchanged", "changed"]


def test_nothing_in_the_file(tmp_path: Path) -> None:
    """Not in the database, its journal, or any other file beside it."""
    with application_in(tmp_path, secret_keys=[OLD]) as horae:
        declare(horae)
        start(horae)
        horae.schedules.add(
            "log_in", every="1h", config={"user": "e", "password": HIDDEN, "codes": [4711]}
        )
        horae.schedules.alter("log_in", every="2h")
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        assert not [path for path in files if HIDDEN.encode() in path.read_bytes()]
    with closing(sqlite3.connect(tmp_path / "horae.db")) as connection:
        assert connection.execute("SELECT count(*) FROM horae_jobs").fetchone() == (1,)


def application_in(folder: Path, **settings: Any) -> Any:
    return closing(Horae(f"sqlite:///{folder}/horae.db", **settings))


def test_keys_are_checked_and_not_shown() -> None:
    for wrong in ("short", f"{OLD},{HIDDEN}", ""):
        with pytest.raises(
            ConfigurationError, match=r"secret_keys\S* \(HORAE_SECRET_KEYS\)"
        ) as refused:
            Horae("sqlite://", secret_keys=wrong)
        assert OLD not in str(refused.value)
        assert HIDDEN not in str(refused.value)
    with pytest.raises(ConfigurationError) as refused:
        Horae("sqlite://", secret_keys=[OLD, "short"])
    assert OLD not in str(refused.value)
    assert OLD not in repr(Horae("sqlite://", secret_keys=[OLD]).settings)
