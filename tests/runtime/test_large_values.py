"""Large parameters and results are in a store of files; the rows have references to them."""

import asyncio
import errno
import json
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final

import pytest
from cryptography.fernet import Fernet

from horae import (
    ConfigurationError,
    Horae,
    InvalidParameters,
    JobFailed,
    JobState,
    Previous,
    Secret,
    Unavailable,
)
from horae.storage.engine.database import Database
from horae.types.hooks import Hooks
from horae.types.parameters.large_values import LargeValueMissing, LargeValues
from tests.harness.applications import application
from tests.harness.nodes import running_node, until
from tests.harness.waiting import Record

LONG: Final = "a longer text, " * 500
SOON: Final = "20s"
TODAY: Final = datetime.now(UTC)  # noqa: TID251 - values are stored under the date of the clock
KEY: Final = Fernet.generate_key().decode()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def horae(database: Database, store: Path) -> Iterator[Horae]:
    with application(
        database, large_values=f"file://{store}", large_values_over=2000, secret_keys=[KEY]
    ) as horae:
        yield declare(horae)


def declare(horae: Horae) -> Horae:
    @horae.job()
    def shout(text: str, name: str = "ann") -> str:
        return text.upper() + name

    @horae.job()
    async def length(text: Previous[str]) -> int:
        return len(text)

    @horae.job()
    async def whisper(text: str) -> dict[str, str]:
        return {"text": text.lower()}

    @horae.job(transaction="read committed")
    def twice(text: str) -> str:
        return text * 2

    @horae.job()
    def hidden(text: Annotated[str, Secret()]) -> int:
        return len(text)

    return horae


def files(store: Path) -> list[Path]:
    return [path for path in store.rglob("*") if path.is_file()]


async def test_parameters_and_results(horae: Horae, store: Path) -> None:
    """They reach the body and the caller, and go with their job."""
    chain = horae.jobs.chain([("shout", {"text": LONG}), "length"])
    whisper = horae.jobs.start("whisper", text=LONG)
    twice = horae.jobs.start("twice", text=LONG)
    small = horae.jobs.start("shout", text="short")
    assert len(files(store)) == 3
    stored: Any = horae.jobs.get(chain[0].id).params
    assert (stored["text"]["size"], stored["name"]) == (len(LONG) + 2, "ann")
    async with running_node(horae):
        assert await horae.aio.jobs.wait(chain[0], timeout=SOON) == LONG.upper() + "ann"
        assert await horae.aio.jobs.wait(chain[1], timeout=SOON) == len(LONG) + 3
        assert (await horae.aio.jobs.wait(whisper, timeout=SOON))["text"] == LONG.lower()
        assert await horae.aio.jobs.wait(twice, timeout=SOON) == LONG * 2
        assert await horae.aio.jobs.wait(small, timeout=SOON) == "SHORTann"
        assert len(files(store)) == 6
    result: Any = horae.jobs.get(twice.id).result
    assert set(result) == {"$stored", "size", "sha256"}
    for job in (*chain, whisper, twice, small):
        horae.jobs.delete(job.id)
    assert files(store) == []


async def test_a_store_that_is_away(horae: Horae, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started, jobs wait, and results stay in their rows."""
    job = horae.jobs.start("shout", text=LONG)
    working = {name: getattr(LargeValues, name) for name in ("put", "get")}

    def fail(self: LargeValues, *_: Any) -> None:
        raise self._away(OSError(errno.ENOSPC, "no room for s3://key:password@bucket"))

    for name in working:
        monkeypatch.setattr(LargeValues, name, fail)
    monkeypatch.setattr("horae.runtime.bodies.values.STORE_PAUSES", (0.0, 0.0))
    with pytest.raises(Unavailable, match=r"used: OSError \(No space left on device\)$"):
        horae.jobs.start("shout", text=LONG)
    assert sum(horae.jobs.count().values()) == 1
    async with running_node(horae):
        made = horae.jobs.start("shout", text="a" * 1990, name="b" * 100)
        await until(lambda: horae.jobs.get(made.id).state is JobState.FINISHED)
        assert horae.jobs.get(made.id).result == "A" * 1990 + "b" * 100
        await until(lambda: horae.jobs.get(job.id).attempt == 0)  # it is claimed at times
        for name, method in working.items():
            monkeypatch.setattr(LargeValues, name, method)
        assert await horae.aio.jobs.wait(job, timeout=SOON) == LONG.upper() + "ann"


async def test_a_slow_store_holds_up_no_other_start(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, answers, asked = LargeValues.put, threading.Event(), Record[str]()

    def slow(self: LargeValues, text: str) -> dict[str, Any]:
        asked.append(text)
        answers.wait()
        return put(self, text)

    monkeypatch.setattr(LargeValues, "put", slow)
    async with asyncio.TaskGroup() as group:
        large = [group.create_task(horae.aio.jobs.start("shout", text=LONG)) for _ in range(20)]
        try:
            await asked.reaches(1)
            for _ in range(3):
                assert (await horae.aio.jobs.start("shout", text="short")).params is not None
            assert not any(task.done() for task in large)
        finally:
            answers.set()
    assert sum(horae.jobs.count().values()) == 23


def test_a_value_that_does_not_fit_on_the_disk_leaves_nothing_there(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match="No space left on device"):
        LargeValues(f"file://{store}", over=1).put(LONG)
    assert files(store) == []


async def test_a_value_that_is_gone_or_changed(horae: Horae, store: Path) -> None:
    gone = horae.jobs.start("shout", text=LONG)
    files(store)[0].unlink()
    changed = horae.jobs.start("shout", text=LONG)
    files(store)[0].write_text(json.dumps(LONG.replace("longer", "LONGER")))
    async with running_node(horae):
        for job in (gone, changed):
            with pytest.raises(JobFailed):
                await horae.aio.jobs.wait(job, timeout=SOON)
    assert "is not in the store any more" in (horae.jobs.get(gone.id).error or "")
    assert "is not the one that was stored" in (horae.jobs.get(changed.id).error or "")


async def test_a_read_that_is_cut_short_is_repeated(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, lengths = LargeValues._read, iter([10])  # noqa: SLF001 - what the store answers

    def cut_once(self: LargeValues, key: str) -> bytes:
        return read(self, key)[: next(lengths, None)]

    monkeypatch.setattr(LargeValues, "_read", cut_once)
    job = horae.jobs.start("shout", text=LONG)
    async with running_node(horae):
        assert await horae.aio.jobs.wait(job, timeout=SOON) == LONG.upper() + "ann"


async def test_repeated_jobs_have_values_of_their_own(horae: Horae, store: Path) -> None:
    first = horae.jobs.start("shout", text=LONG)
    horae.jobs.cancel(first.id)
    again = horae.jobs.retry(first.id)
    assert len(files(store)) == 2
    horae.jobs.delete(first.id)
    async with running_node(horae):
        assert await horae.aio.jobs.wait(again, timeout=SOON) == LONG.upper() + "ann"


def test_secrets_stay_in_the_row(horae: Horae, store: Path) -> None:
    job = horae.jobs.start("hidden", text=LONG)
    assert files(store) == []
    assert "$sealed" in str(horae.jobs.get(job.id).params)


def test_a_reference_cannot_be_passed(horae: Horae) -> None:
    reference = {"$stored": "2026-01-01/" + "0" * 32, "size": 1, "sha256": ""}

    @horae.job()
    def anything(value: Any) -> None: ...

    with pytest.raises(InvalidParameters, match="reserved name"):
        horae.jobs.start(anything, value=reference)


async def test_a_job_with_a_copied_reference_does_not_own_the_value(
    horae: Horae, store: Path
) -> None:
    """Parameters, `meta` and results may be what was read of another job, references and all."""

    @horae.job()
    def report(of: dict[str, Any]) -> dict[str, Any]:
        return {"about": of}

    other = horae.jobs.start("shout", text=LONG, delay="1h")
    read: Any = horae.jobs.get(other.id).params
    copy = horae.jobs.start(report, of=read, meta={"of": read})
    async with running_node(horae):
        assert await horae.aio.jobs.wait(copy, timeout=SOON) == {"about": read}
        assert await horae.aio.jobs.delete(copy.id)
        await horae.aio.jobs.reschedule(other.id, delay="0s")
        assert await horae.aio.jobs.wait(other, timeout=SOON) == LONG.upper() + "ann"
    assert horae.jobs.delete(other.id)
    assert files(store) == []


def test_orphans(horae: Horae, store: Path) -> None:
    """What no job refers to is deleted after days; what a job refers to stays."""
    with horae.components.database.engine.connect() as connection:
        horae.jobs.start("shout", text=LONG, session=connection)
        connection.rollback()
    kept = horae.jobs.start("shout", text=LONG)
    assert len(files(store)) == 2
    (store / "notes.txt").write_text("something else")
    hooks = Hooks(horae.components.database, horae.registry)
    assert hooks.delete_orphans(TODAY + timedelta(days=1)) == 0
    assert hooks.delete_orphans(TODAY + timedelta(days=4)) == 1
    assert hooks.delete_orphans(TODAY + timedelta(days=4)) == 0
    stored: Any = horae.jobs.get(kept.id).params
    assert sorted(path.name for path in files(store)) == sorted(
        [stored["text"]["$stored"].partition("/")[2], "notes.txt"]
    )


def test_processes_without_the_store(database: Database, horae: Horae) -> None:
    job = horae.jobs.start("shout", text=LONG)
    params = json.dumps(horae.jobs.get(job.id).params)
    with application(database) as other:
        kind: Any = declare(other).registry.get("shout")
        with pytest.raises(LargeValueMissing, match="has no large_values"):
            kind.parameters.load(params)


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigurationError, match="large_values"):
        Horae("sqlite://", large_values="nothing://bucket")
    for url in ("jobs", "file://jobs"):
        with pytest.raises(ConfigurationError, match="relative path"):
            Horae("sqlite://", large_values=url)
