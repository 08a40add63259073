"""The log lines of jobs: kept with the job, from wherever the body runs, within bounds, and without its transaction."""

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from horae import (
    Backoff,
    Horae,
    InvalidJobType,
    InvalidRequest,
    JobContext,
    JobDoesNotExist,
    KeepLogs,
    LogLine,
    Secret,
)
from horae.domain.jobs.job import Claim, JobId
from horae.runtime.bodies import log_book
from horae.runtime.bodies.log_book import LogWriter
from horae.storage.engine.database import Database
from horae.storage.jobs import logs
from horae.types.logs.job_lines import JobLines
from tests.harness.applications import url_of
from tests.harness.nodes import running_node, until, until_set, until_state
from tests.runtime import child_application

log = logging.getLogger("shop.orders")
CLAIM = Claim(JobId(7), "t", "default", 0, None, None, 2, 3, 4, None, "{}")


@pytest.fixture(autouse=True)
def levels(caplog: pytest.LogCaptureFixture) -> None:
    """Let lines through, as `horae run` does."""
    caplog.set_level(logging.INFO, "shop.orders")
    caplog.set_level(logging.INFO, "horae.job")


def messages_of(horae: Horae, job_id: int) -> list[str]:
    return [line.message for line in horae.jobs.logs(job_id).lines]


async def until_logged_with(horae: Horae, job_id: int, count: int) -> list[LogLine]:
    async def found() -> list[LogLine]:
        lines = (await horae.aio.jobs.logs(job_id, limit=5000)).lines
        return lines if len(lines) >= count else []

    lines: list[LogLine] = await until(found)
    return lines


@pytest.mark.parametrize("transaction", [None, "read committed"])
@pytest.mark.parametrize("place", ["thread", "loop", "inline"])
async def test_lines_are_kept_with_the_job_also_if_it_fails(
    horae: Horae, place: str, transaction: Any
) -> None:
    @horae.job(transaction=transaction)
    def threaded(job: JobContext) -> None:
        log.info("order %d", 5)
        log.debug("details")
        job.log.warning("slow")
        raise ValueError("no luck")

    @horae.job(transaction=transaction)
    async def looped(job: JobContext) -> None:
        log.info("order %d", 5)
        await asyncio.to_thread(job.log.warning, "slow")
        raise ValueError("no luck")

    if place == "inline":
        job = await asyncio.to_thread(horae.jobs.start, threaded, sync=True)
        lines = horae.jobs.logs(job.id).lines
    else:
        async with running_node(horae):
            job = await horae.aio.jobs.start(looped if place == "loop" else threaded)
            await until_state(horae, job.id, "failed")
            lines = await until_logged_with(horae, job.id, 2)
    assert [(line.level, line.logger, line.message) for line in lines] == [
        (20, "shop.orders", "order 5"),
        (30, "horae.job", "slow"),
    ]
    assert [(line.attempt, line.lease, line.line) for line in lines] == [(1, 1, 0), (1, 1, 1)]
    assert abs(lines[0].at.timestamp() - time.time()) < 600


async def test_they_are_there_while_the_body_runs_and_can_be_followed(horae: Horae) -> None:
    go, release = threading.Event(), threading.Event()

    @horae.job
    def work() -> None:
        log.info("first")
        go.wait(20)
        log.info("second")
        release.wait(20)

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await until_logged_with(horae, job.id, 1)
        page = horae.jobs.logs(job.id)
        assert (page.lines[0].message, page.more, page.dropped) == ("first", False, 0)
        assert horae.jobs.logs(job.id, after=page.cursor).lines == []
        go.set()
        await until_logged_with(horae, job.id, 2)
        [second] = horae.jobs.logs(job.id, after=page.cursor).lines
        assert second.message == "second"
        release.set()


async def test_all_attempts_are_read_in_order_and_by_pages(horae: Horae) -> None:
    @horae.job(max_attempts=3, backoff=Backoff(base="0s"))
    def work(job: JobContext) -> None:
        log.info("attempt %d", job.attempt)
        log.error("again", exc_info=ValueError("no luck"))
        raise ValueError("no luck")

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await until_state(horae, job.id, "failed")
        lines = await until_logged_with(horae, job.id, 6)
    assert [line.message for line in lines[::2]] == ["attempt 1", "attempt 2", "attempt 3"]
    assert lines[1].message == "again\nValueError: no luck"
    page = horae.jobs.logs(job.id, limit=4)
    assert (page.lines, page.more) == (lines[:4], True)
    rest = horae.jobs.logs(job.id, after=page.cursor, level="error")
    assert (rest.lines, rest.more) == (lines[5:], False)


async def test_secrets_are_removed(horae: Horae) -> None:
    @horae.job
    def work(token: Annotated[str, Secret()]) -> None:
        log.info("token %s for postgresql://me:hidden@host/x", token)

    async with running_node(horae):
        job = await horae.aio.jobs.start(work, token="tiger-tiger")
        [line] = await until_logged_with(horae, job.id, 1)
    assert "tiger" not in line.message
    assert "hidden" not in line.message


async def test_a_type_chooses_what_is_kept(horae: Horae) -> None:
    def speak() -> None:
        log.info("info")
        log.warning("warning")

    quiet = horae.job(name="quiet", keep_logs=False)(speak)
    warned = horae.job(name="warned", keep_logs="warning")(speak)
    few = horae.job(name="few", keep_logs=KeepLogs(lines=1))(speak)
    async with running_node(horae):
        jobs = [await horae.aio.jobs.start(kind) for kind in (quiet, warned, few)]
        for job in jobs:
            await horae.aio.jobs.wait(job.id, timeout="20s")
        await until_logged_with(horae, jobs[2].id, 2)
    assert [messages_of(horae, job.id) for job in jobs] == [[], ["warning"], ["info", ""]]
    assert horae.jobs.logs(jobs[2].id).dropped == 1


def test_an_invalid_keep_logs_is_refused() -> None:
    wrongs: tuple[Any, ...] = ("loud", 5, "INFO")
    for wrong in wrongs:
        with pytest.raises(
            InvalidJobType, match=r"keep_logs: level is .*, expected one of debug, info"
        ):
            Horae().job(keep_logs=wrong)(lambda: None)
    limits: tuple[dict[str, Any], ...] = (
        {"level": "loud"},
        {"lines": 0},
        {"bytes": -1},
        {"lines": True},
    )
    for values in limits:
        with pytest.raises(InvalidRequest, match=next(iter(values))):
            KeepLogs(**values)


def test_bad_calls_are_refused(horae: Horae) -> None:
    @horae.job
    def work() -> None: ...

    job = horae.jobs.start(work)
    wrongs: tuple[dict[str, Any], ...] = (
        {"after": "x"},
        {"after": "1"},
        {"limit": 0},
        {"level": "loud"},
    )
    for wrong in wrongs:
        with pytest.raises(InvalidRequest):
            horae.jobs.logs(job.id, **wrong)
    with pytest.raises(JobDoesNotExist):
        horae.jobs.logs(job.id + 1)
    with pytest.raises(JobDoesNotExist):
        horae.jobs.logs(job.id, owner="mallory")


def test_lines_go_with_their_job(horae: Horae) -> None:
    @horae.job
    def work() -> None:
        log.info("hello")

    job = horae.jobs.start(work, sync=True)
    assert messages_of(horae, job.id) == ["hello"]
    horae.jobs.delete(job.id)
    again = horae.jobs.start(work, sync=True)
    assert messages_of(horae, again.id) == ["hello"]
    with horae.components.database.engine.begin() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM horae_job_logs").scalar_one() == 1


@pytest.fixture
async def child_horae(database: Database) -> AsyncIterator[Horae]:
    horae, before = child_application.horae, child_application.horae.settings
    horae.settings = before.model_copy(update={"database": url_of(database)})
    yield horae
    horae.close()
    horae.settings = before


@pytest.mark.slow
async def test_lines_of_a_child_process_are_kept(child_horae: Horae) -> None:
    async with running_node(child_horae):
        job = await child_horae.aio.jobs.start(child_application.log_lines, count=3)
        await child_horae.aio.jobs.wait(job.id, timeout="60s")
        assert messages_of_lines(await until_logged_with(child_horae, job.id, 3)) == [
            "line 0",
            "line 1",
            "line 2",
        ]
        flood = await child_horae.aio.jobs.start(child_application.log_lines, count=50_000)
        await child_horae.aio.jobs.wait(flood.id, timeout="60s")
        lines = await until_logged_with(child_horae, flood.id, 1001)
    assert lines[-1].message == "line 49999"
    assert child_horae.jobs.logs(flood.id).dropped == 49_000


def messages_of_lines(lines: list[LogLine]) -> list[str]:
    return [line.message for line in lines]


class TestBounds:
    """Of one attempt."""

    @pytest.fixture
    def sent(self) -> list[LogLine]:
        return []

    def lines_with(self, sent: list[LogLine], **keep: Any) -> JobLines:
        def send(lines: Any) -> bool:
            sent.extend(lines)
            return True

        return JobLines(CLAIM, KeepLogs(**keep), str, send)

    def fill(self, lines: JobLines, texts: list[str]) -> None:
        for text in texts:
            lines.add(logging.LogRecord("shop", logging.INFO, "", 0, text, (), None))
        lines.close()

    def final(self, sent: list[LogLine]) -> list[tuple[str, int]]:
        """As the table keeps them: the last state of each line, in order."""
        by_number = {line.line: line for line in sent}
        return [
            (by_number[number].message, by_number[number].dropped) for number in sorted(by_number)
        ]

    def test_the_first_and_the_last_lines_are_kept(self, sent: list[LogLine]) -> None:
        self.fill(self.lines_with(sent, lines=20), [str(number) for number in range(1000)])
        first = [(str(number), 0) for number in range(18)]
        assert self.final(sent) == [*first, ("", 980), ("998", 0), ("999", 0)]

    def test_nothing_is_dropped_that_fits(self, sent: list[LogLine]) -> None:
        self.fill(self.lines_with(sent, lines=20), [str(number) for number in range(20)])
        assert self.final(sent) == [(str(number), 0) for number in range(20)]

    def test_bytes_are_bounded(self, sent: list[LogLine]) -> None:
        self.fill(self.lines_with(sent, lines=100, bytes=1000), ["ü" * 50] * 100)
        assert [dropped for text, dropped in self.final(sent) if not text] == [90]
        assert sum(len(text.encode()) for text, _ in self.final(sent)) <= 1000

    def test_a_long_line_is_cut_and_nul_is_stored(self, sent: list[LogLine]) -> None:
        self.fill(self.lines_with(sent), ["x" * 10_000, "a\0b"])
        assert self.final(sent)[0][0].endswith("… (1808 more characters)")
        assert "\0" not in self.final(sent)[1][0]

    def test_a_line_that_cannot_be_formatted_is_kept(self, sent: list[LogLine]) -> None:
        lines = self.lines_with(sent)
        lines.add(logging.LogRecord("shop", logging.INFO, "", 0, "%d apples", ("many",), None))
        assert sent[0].message == "%d apples"

    def test_lines_after_the_end_are_ignored(self, sent: list[LogLine]) -> None:
        lines = self.lines_with(sent)
        lines.close()
        self.fill(lines, ["late"])
        assert sent == []


class TestWriter:
    def test_lines_are_written_again_while_the_database_is_away(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_book, "PAUSE", 0.01)
        answers: Iterator[Exception | None] = iter([AWAY, AWAY, None])
        written: list[LogLine] = []

        def write(lines: Any) -> None:
            if (error := next(answers)) is not None:
                raise error
            written.extend(lines)

        writer = LogWriter(write)
        assert writer.send([LINE])
        assert writer.flush(20)
        writer.close(20)
        assert written == [LINE]

    def test_lines_that_are_refused_are_dropped(self, caplog: pytest.LogCaptureFixture) -> None:
        def write(lines: Any) -> None:
            raise TypeError("no")

        writer = LogWriter(write)
        writer.send([LINE])
        assert writer.flush(20)
        writer.close(20)
        assert "were refused and are dropped" in caplog.text

    def test_a_log_call_never_waits(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(log_book, "MOST_WAITING", 3)
        release = threading.Event()
        writer = LogWriter(lambda lines: until_free(release))
        assert [writer.send([LINE]) for _ in range(5)] == [True, True, True, False, False]
        release.set()
        writer.close(20)
        assert not writer.send([LINE])


LINE = LogLine(JobId(7), 1, 0, 1, child_application.START, 20, "shop", "hello")
AWAY = OperationalError(
    "INSERT",
    {},
    Exception("server closed the connection unexpectedly"),
    connection_invalidated=True,
)


def until_free(release: threading.Event) -> None:
    assert release.wait(20)


async def test_lines_survive_a_rollback_and_a_lock(horae: Horae) -> None:
    """On SQLite the transaction of the body holds the write lock, so they are written after it."""
    begun, release = asyncio.Event(), asyncio.Event()

    @horae.job(transaction="read committed")
    async def work(job: JobContext) -> None:
        connection: Connection | None = job.async_connection.sync_connection
        assert connection is not None
        log.info("within")
        begun.set()
        await release.wait()
        raise ValueError("no luck")

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        await until_set(begun)
        release.set()
        await until_state(horae, job.id, "failed")
        [line] = await until_logged_with(horae, job.id, 1)
    assert line.message == "within"


def test_old_lines_are_deleted(horae: Horae) -> None:
    @horae.job
    def work() -> None:
        log.info("hello")

    job = horae.jobs.start(work, sync=True)
    database = horae.components.database
    assert database.transact(logs.forget, 3600.0, 10) == 0
    assert database.transact(logs.forget, -60.0, 10) == 1
    assert messages_of(horae, job.id) == []
