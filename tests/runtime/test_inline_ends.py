"""Ends of inline jobs that the database does not take at once: repeated as a node repeats them, and never forgotten."""

import threading
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from horae import EndNotWritten, Horae, Job, JobState
from horae.domain.jobs import UNSTORABLE_TEXT
from horae.runtime.inline.ends import InlineEnds
from horae.runtime.inline.inline_node import InlineNode
from horae.runtime.timing import Timing
from horae.storage.engine.database import Database
from horae.storage.outcomes import settling
from tests.harness.applications import application, attempts_of
from tests.harness.nodes import running_node, until, until_state
from tests.runtime.test_read_only_server import set_read_only


class Server:
    """A database that refuses ends of jobs with `error`, `times` times or until it is told otherwise."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, error: Exception, times: float = float("inf")
    ) -> None:
        self.left, self.refused = times, 0
        self.states = frozenset(JobState)
        settle = settling.settle

        def refuse(
            connection: Connection, node: object, settlements: object, *more: object
        ) -> object:
            asked = {item.state for item in settlements}  # type: ignore[attr-defined]
            if self.refused < self.left and asked & self.states:
                self.refused += 1
                raise error
            return settle(connection, node, settlements, *more)  # type: ignore[arg-type]

        monkeypatch.setattr(settling, "settle", refuse)


def of_server(origin: psycopg.Error, *, lost: bool = False) -> DBAPIError:
    return DBAPIError.instance("UPDATE", (), origin, psycopg.Error, connection_invalidated=lost)  # type: ignore[return-value]


def make_impatient(horae: Horae) -> None:
    """Let callers wait for no second try."""
    vars(horae.opened)["inline"] = InlineNode(horae.components, Timing(inline_result=0.0))


def only_job(horae: Horae) -> Job:
    [job] = horae.jobs.list().jobs
    return job


@pytest.mark.parametrize(
    "error",
    [
        of_server(
            psycopg.errors.ReadOnlySqlTransaction(
                "cannot execute UPDATE in a read-only transaction"
            )
        ),
        of_server(psycopg.OperationalError("the connection is lost"), lost=True),
        of_server(psycopg.errors.ProtocolViolation("server login has been failing")),
        of_server(psycopg.errors.DuplicatePreparedStatement("prepared statement exists")),
    ],
    ids=["read-only", "lost connection", "pooler", "prepared statement"],
)
def test_an_end_is_repeated(
    horae: Horae, monkeypatch: pytest.MonkeyPatch, error: DBAPIError
) -> None:
    bodies: list[int] = []

    @horae.job
    def work() -> str:
        bodies.append(1)
        return "done"

    server = Server(monkeypatch, error, times=3)
    job = horae.jobs.start(work, sync=True)
    assert (job.state, job.result, attempts_of(horae, job.id)) == (
        JobState.FINISHED,
        "done",
        ["finished"],
    )
    assert (server.refused, len(bodies)) == (3, 1)


def test_values_that_are_refused_fail_the_job(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(monkeypatch, of_server(psycopg.errors.ProgramLimitExceeded("too large")))
    server.states = frozenset({JobState.FINISHED})

    @horae.job
    def work() -> int:
        return 1

    job = horae.jobs.start(work, sync=True)
    assert (job.state, job.human_readable_error, server.refused) == (
        JobState.FAILED,
        UNSTORABLE_TEXT,
        1,
    )


async def test_past_the_bound_the_caller_gets_an_error_and_the_process_continues(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(monkeypatch, of_server(psycopg.errors.ReadOnlySqlTransaction()))
    make_impatient(horae)

    @horae.job
    def work() -> str:
        return "done"

    with pytest.raises(EndNotWritten, match="wait for the job, do not start it again") as told:
        horae.jobs.start(work, sync=True)
    job = only_job(horae)
    assert (job.id, job.state) == (told.value.job_id, JobState.STARTED)
    await until(lambda: server.refused > 2)
    server.left = 0
    done = await until_state(horae, job.id, "finished", "failed")
    assert (done.result, attempts_of(horae, job.id)) == ("done", ["finished"])


async def test_once_the_process_has_ended_a_node_ends_the_job(
    horae: Horae, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(monkeypatch, of_server(psycopg.errors.ReadOnlySqlTransaction()))
    with application(database) as caller:
        make_impatient(caller)

        @caller.job(name="work")
        @horae.job(name="work")
        def work() -> None: ...

        with pytest.raises(EndNotWritten):
            caller.jobs.start(work, sync=True)
    server.left = 0
    async with running_node(horae):
        job = await until_state(horae, only_job(horae).id, "finished", "failed")
    assert (job.state, attempts_of(horae, job.id)) == (JobState.FAILED, ["crashed"])


def test_the_last_attempt_is_made_at_close(
    database: Database, monkeypatch: pytest.MonkeyPatch, horae: Horae
) -> None:
    server = Server(monkeypatch, of_server(psycopg.errors.ReadOnlySqlTransaction()))
    with application(database) as caller:
        make_impatient(caller)

        @caller.job
        def work() -> None: ...

        with pytest.raises(EndNotWritten):
            caller.jobs.start(work, sync=True)
        server.left = 0
    assert only_job(horae).state is JobState.FINISHED


async def test_ctrl_c_while_the_caller_waits_forgets_no_end(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(monkeypatch, of_server(psycopg.errors.ReadOnlySqlTransaction()))

    write_later = vars(InlineEnds)["_write_later"]

    def interrupt(ends: InlineEnds, end: Any) -> None:
        write_later(ends, end)
        server.left = 0
        raise KeyboardInterrupt

    monkeypatch.setattr(InlineEnds, "_write_later", interrupt)

    @horae.job
    def work() -> str:
        return "done"

    with pytest.raises(KeyboardInterrupt):
        horae.jobs.start(work, sync=True)
    assert (await until_state(horae, only_job(horae).id, "finished", "failed")).result == "done"


@pytest.mark.postgres
@pytest.mark.own_sessions
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_server_that_is_read_only_for_a_second(horae: Horae) -> None:
    timers: list[threading.Timer] = []

    @horae.job
    def work() -> str:
        set_read_only(horae.components.database, "on")
        timers.append(threading.Timer(1.0, set_read_only, [horae.components.database, "off"]))
        timers[0].start()
        return "done"

    job = horae.jobs.start(work, sync=True)
    timers[0].join()
    assert (job.state, job.result, attempts_of(horae, job.id)) == (
        JobState.FINISHED,
        "done",
        ["finished"],
    )
