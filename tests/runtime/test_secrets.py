"""Secret parameters are in no error, no traceback and no text for users."""

import logging
from functools import partial
from traceback import format_exception, walk_tb
from typing import Annotated, Any, Final

import pytest
from pydantic import BaseModel
from sqlalchemy import text

from horae import Horae, JobContext, JobFailed, JobType, jobs_table
from horae.redaction import MASK
from horae.storage.engine.database import Database
from horae.types.function import JobFunction
from horae.types.logs.lines import TextFormatter, json_formatter
from horae.types.parameters.secret import Secret
from tests.harness.applications import application
from tests.harness.nodes import running_node

pytestmark = pytest.mark.one_database

HIDDEN: Final = "correct-horse"
INSERT: Final = text("INSERT INTO horae_queues (name, note) VALUES (:name, :note)")


def refuse(password: str) -> None:
    raise PermissionError(f"{password} is wrong")


@JobFunction
def log_in(password: Annotated[str, Secret()]) -> None:
    refuse(password)


@partial(JobFunction, isolation="process")
def log_in_elsewhere(password: Annotated[str, Secret()]) -> None:
    refuse(password)


@pytest.fixture
def horae(database: Database) -> Any:
    with application(database) as horae:
        yield horae


async def told(horae: Horae, job_id: int, caplog: pytest.LogCaptureFixture) -> str:
    """Everything that is said of a failed job."""
    async with running_node(horae):
        with pytest.raises(JobFailed):
            await horae.aio.jobs.wait(job_id, timeout="20s")
    job, attempts = horae.jobs.get(job_id), horae.jobs.attempts(job_id)
    assert [attempt.traceback is None for attempt in attempts] == [False]
    logged = [*caplog.messages, *(record.exc_text or "" for record in caplog.records)]
    return "\n".join(map(str, [job.error, job.human_readable_error, *attempts, *logged]))


async def test_stored_parameters_that_no_longer_fit(
    horae: Horae, caplog: pytest.LogCaptureFixture
) -> None:
    """Between two versions of a program the declaration may have changed, also by the secret's own name."""

    class Login(BaseModel):
        password: Annotated[str, Secret()]
        port: int

    @horae.register
    class Open(JobType[Login]):
        type = "open"
        params = Login
        exceptions_map = {ValueError: "It was {e}"}  # noqa: RUF012

        def run(self, job: JobContext[Login]) -> None: ...

    for stored in (
        f'{{"password": ["{HIDDEN}"], "port": 1}}',
        f'{{"password": "x", "port": {{"passphrase": "{HIDDEN}"}}}}',
        f'{{"password": "x", "port": "{HIDDEN}"}}',
    ):
        job = horae.jobs.start("open", password=HIDDEN, port=1)
        with horae.components.database.engine.begin() as connection:
            connection.execute(
                jobs_table.update().where(jobs_table.c.id == job.id).values(params=stored)
            )
        said = await told(horae, job.id, caplog)
        assert "ValidationError" in said
        assert HIDDEN not in said


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_statement_that_fails_in_a_body(
    horae: Horae, caplog: pytest.LogCaptureFixture, *, is_async: bool
) -> None:
    if is_async:

        @horae.job(name="store", transaction="read committed")
        async def store_async(job: JobContext, note: str) -> None:
            for _ in range(2):
                await job.async_connection.execute(INSERT, {"name": note, "note": note})
    else:

        @horae.job(name="store", transaction="read committed")
        def store(job: JobContext, note: str) -> None:
            for _ in range(2):
                job.connection.execute(INSERT, {"name": note, "note": note})

    said = await told(horae, horae.jobs.start("store", note=HIDDEN).id, caplog)
    assert "IntegrityError" in said
    assert HIDDEN not in said


async def test_secrets_in_the_output_of_a_body_are_masked(
    horae: Horae, caplog: pytest.LogCaptureFixture
) -> None:
    @horae.job(exceptions_map={RuntimeError: "{e}", LookupError: lambda error: f"no {error}"})
    def say(kind: str, password: Annotated[str, Secret()], pin: Annotated[int, Secret()]) -> None:
        cause: Exception = (
            RuntimeError(f"{password!r} is wrong") if kind == "plain" else LookupError(password)
        )
        raise cause from ValueError(f"{pin} is not {kind}")

    caplog.set_level(logging.DEBUG)
    for kind in ("plain", "callable"):
        said = await told(
            horae, horae.jobs.start(say, kind=kind, password=HIDDEN, pin=471147).id, caplog
        )
        assert MASK in said
        assert (HIDDEN in said, "471147" in said) == (False, False)


@pytest.mark.parametrize("body", [log_in, log_in_elsewhere])
async def test_the_log_record_of_a_failed_attempt_has_its_error(
    horae: Horae, caplog: pytest.LogCaptureFixture, body: JobFunction[..., None]
) -> None:
    horae.registry.add(body.job_type)
    job = horae.jobs.start(body, password=HIDDEN)
    await told(horae, job.id, caplog)
    (record,) = [each for each in caplog.records if "failed in attempt" in each.message]
    assert record.exc_info is not None
    kind, error, trace = record.exc_info
    assert (kind is not None and kind.__name__, str(error)) == (
        "PermissionError",
        f"{MASK} is wrong",
    )
    frames = [frame for frame, _ in walk_tb(trace)]
    if body is log_in:
        assert (frames[-1].f_code.co_name, frames[-1].f_code.co_filename) == ("refuse", __file__)
    assert HIDDEN not in str([frame.f_locals for frame in frames])
    assert HIDDEN not in "".join(format_exception(error))
    for formatter in (logging.Formatter(), TextFormatter(), json_formatter()):
        written = formatter.format(record)
        assert written.count("Traceback (most recent call last)") == 1
        assert written.count("PermissionError: ") == 2, "in the message, and in the traceback"
        assert HIDDEN not in written
