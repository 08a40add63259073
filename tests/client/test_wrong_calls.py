"""Wrong calls are refused with an error of Horae, not with one of a driver."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import partial
from itertools import repeat
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session, sessionmaker

from horae import Horae, InvalidJobType, InvalidRequest, JobContext, JobType, NotFound
from horae.client.operations.queues import Queues
from horae.domain.storable import escaped
from horae.quoting import quoted
from horae.storage.engine.database import Database
from tests.harness.applications import limit_jobs


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """What is refused here is refused before any statement."""
    return sqlite_database


class Evil:
    def __repr__(self) -> str:
        raise RuntimeError("evil")

    __str__ = __repr__


class Unheard(tzinfo):
    """A zone that tells no offset, or fails to."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def utcoffset(self, dt: datetime | None) -> None:
        if self.error is not None:
            raise self.error

    def dst(self, dt: datetime | None) -> None: ...

    def tzname(self, dt: datetime | None) -> None: ...


MOMENTS: Final = {
    "without a zone": datetime(2030, 1, 1),  # noqa: DTZ001 - what is to be refused
    "whose zone tells no offset": datetime(2030, 1, 1, tzinfo=Unheard(None)),
    "whose zone fails": datetime(2030, 1, 1, tzinfo=Unheard(RuntimeError("evil"))),
}


def _with_moment(moment: datetime) -> dict[str, Callable[[Any], Any]]:
    return {
        "run_at": lambda horae: horae.jobs.start("work", run_at=moment),
        "initial_start": lambda horae: horae.schedules.add(
            "work", name="a", every="1h", initial_start=moment
        ),
        "next_start": lambda horae: horae.schedules.add(
            "work", name="a", every="1h", next_start=moment
        ),
        "another next_start": lambda horae: horae.schedules.alter("nightly", next_start=moment),
        "the ledger before": lambda horae: horae.schedules.ticks("nightly", before=moment),
    }


def _queues(horae: Any) -> Any:
    return Queues(horae.components.database, horae.components.wakeup)


def _with_zone(zone: Any, horae: Any) -> None:
    horae.schedules.add("work", name="a", cron="0 3 * * *", timezone=zone)


CALLS: Final[dict[str, Callable[[Any], Any]]] = {
    "a text for an id": lambda horae: horae.jobs.get("1"),
    "True for an id": lambda horae: horae.jobs.get(True),
    "nothing for an id": lambda horae: horae.jobs.cancel(None),
    "an evil id": lambda horae: horae.jobs.get(Evil()),
    "a number for a session": lambda horae: horae.jobs.start("work", session=5),
    "a NUL in an owner": lambda horae: horae.jobs.list(owner="\x00"),
    "a line break in a queue": lambda horae: horae.jobs.start("work", queue="a\nb"),
    "a line break in an owner": lambda horae: horae.jobs.start("work", owner="a\nINFO forged"),
    "a line break in a key": lambda horae: horae.jobs.start("work", unique_key="a\r"),
    "an escape in who cancels": lambda horae: horae.jobs.cancel(1, by="\x1b[2J"),
    "an endless batch": lambda horae: horae.jobs.start_many("work", repeat({})),
    "one mapping for a batch": lambda horae: horae.jobs.start_many("work", {"number": 1}),
    "nothing for a batch": lambda horae: horae.jobs.start_many("work", None),
    "an evil owner": lambda horae: horae.jobs.start("work", owner=Evil()),
    "no schedule": lambda horae: horae.schedules.get(None),
    "True for a schedule": lambda horae: horae.schedules.get(True),
    **{
        f"a moment {words}: {name}": call
        for words, moment in MOMENTS.items()
        for name, call in _with_moment(moment).items()
    },
    **{
        f"{zone!r} for a time zone": partial(_with_zone, zone)
        for zone in (UTC, ZoneInfo("Europe/Berlin"), timezone(timedelta(hours=1)), None, 1)
    },
    "a text for a length": lambda horae: horae.jobs.list(limit="5"),
    "texts for ids": lambda horae: horae.jobs.list(ids=["1"]),
    "one id for ids": lambda horae: horae.jobs.list(ids=5),
    "a number for a cursor": lambda horae: horae.jobs.list(cursor=5),
    "a number for states": lambda horae: horae.jobs.list(states=5),
    "a text for types": lambda horae: horae.jobs.list(types="work"),
    "a text for a schedule's id": lambda horae: horae.jobs.list(schedule_id="1"),
    "a number for an age": lambda horae: horae.jobs.clean_up(5),
    "a mapping for options": lambda horae: horae.jobs.start_many(
        "work", [{}], options={"priority": 1}
    ),
    "a text for a length of the ledger": lambda horae: horae.schedules.ticks("nightly", limit="a"),
    "a length below 1": lambda horae: horae.schedules.errors(limit=-1),
    "a number for a note": lambda horae: horae.schedules.pause("nightly", note=5),
    "a NUL in a note": lambda horae: horae.schedules.pause("nightly", note="\x00"),
    "a long note": lambda horae: horae.schedules.pause("nightly", note="x" * 2001),
    "a number for a queue's note": lambda horae: _queues(horae).pause("default", note=5),
    "a NUL in a queue's note": lambda horae: _queues(horae).pause("default", note="\x00"),
    "a text for sync": lambda horae: horae.jobs.start("work", sync="no"),
    "a number for sync": lambda horae: horae.jobs.start("work", sync=0),
    "an evil schedule": lambda horae: horae.schedules.get(Evil()),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_is_refused(horae: Horae, call: str) -> None:
    @horae.job(name="work")
    def work() -> None: ...

    horae.schedules.add("work", name="nightly", cron="0 3 * * *")
    with pytest.raises((InvalidRequest, NotFound)):
        CALLS[call](horae)


def test_a_wrong_session_says_what_to_pass(horae: Horae) -> None:
    horae.job(name="work")(lambda: None)
    maker: Any = sessionmaker()
    with pytest.raises(InvalidRequest, match=r"pass one of them, session=…\(\)"):
        horae.jobs.start("work", session=maker)
    other: Any = AsyncSession()
    with pytest.raises(
        InvalidRequest, match=r"expected a Session or a Connection.*await horae.aio.jobs"
    ):
        horae.jobs.start_many("work", [{}], session=other)


async def test_a_wrong_session_of_a_coroutine_says_what_to_pass(horae: Horae) -> None:
    horae.job(name="work")(lambda: None)
    other: Any = Session()
    with pytest.raises(InvalidRequest, match=r"expected an AsyncSession.*call horae.jobs"):
        await horae.aio.jobs.start("work", session=other)


async def test_a_wrong_sync_of_a_coroutine_is_refused(horae: Horae) -> None:
    horae.job(name="work")(lambda: None)
    wrong: Any = 0
    with pytest.raises(InvalidRequest, match="sync 0: expected True or False"):
        await horae.aio.jobs.start("work", sync=wrong)


async def test_a_class_takes_no_parameters_by_position(horae: Horae) -> None:
    class Pair(BaseModel):
        left: int
        right: int

    @horae.register
    class Add(JobType[Pair]):
        type = "add"
        params = Pair

        def run(self, job: JobContext[Pair]) -> None: ...

    jobs: Any = horae.jobs
    aio: Any = horae.aio.jobs
    with pytest.raises(
        InvalidRequest,
        match=r"by name, and 2 came by position; write start\(add, left=…, right=…\)",
    ):
        jobs.start(Add, 3, 4)
    with pytest.raises(InvalidRequest, match=r"write start\(add, left=…\)"):
        await aio.start(Add, 3)


def test_a_task_of_another_library_is_pointed_to_start(horae: Horae) -> None:
    task: Any = horae.job(name="work")(lambda: None)
    with pytest.raises(
        AttributeError, match=r"no attribute 'delay'; start a job of it with horae.jobs.start"
    ):
        task.delay(1)
    assert not hasattr(task, "retry")
    assert repr(task) == "<job type 'work'>"


def test_an_argument_job_without_an_annotation_is_refused(horae: Horae) -> None:
    def run(job): ...  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202

    with pytest.raises(InvalidJobType, match="write job: JobContext for the context"):
        horae.job(run)


def test_a_page_may_be_as_long_as_any_number(horae: Horae) -> None:
    assert horae.jobs.list(limit=10**30, schedule_id=10**30).jobs == []
    assert horae.jobs.list(group_id=-(10**30)).jobs == []


def test_a_batch_of_an_iterator_is_as_good_as_a_list(horae: Horae) -> None:
    @horae.job
    def work() -> None: ...

    limit_jobs(horae, uncounted_jobs=3)
    nothing: dict[str, Any] = {}
    assert len(horae.jobs.start_many(work, iter([nothing] * 3))) == 3
    assert len(horae.jobs.start_many(work, [nothing] * 4)) == 4
    with pytest.raises(InvalidRequest, match="more than 3 jobs"):
        horae.jobs.start_many(work, iter([nothing] * 4))
    assert sum(horae.jobs.count().values()) == 7


def test_an_evil_value_can_be_quoted() -> None:
    assert quoted(Evil()) == "(a Evil)"


def test_line_breaks_in_values_are_escaped() -> None:
    assert escaped("a\r\x1b[2J\u2028é") == "a\\r\\x1b[2J\\u2028é"
