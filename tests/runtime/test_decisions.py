"""Bodies that decide about their own job, rules of job types, and what an orderly stop of the node leaves."""

import asyncio
import logging
import re
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import horae as horae_package
from horae import Backoff, Discard, Horae, InvalidJobType, Job, JobContext, JobState, Retry, Snooze
from horae.runtime.timing import ShutdownTiming, Timing, WorkerTiming
from tests.harness.applications import attempts_of, execute, rows
from tests.harness.nodes import POLLS_QUICKLY, running_node, until, until_set, until_state

pytestmark = pytest.mark.one_database

AT_ONCE = Backoff(base=timedelta(0), jitter=0)
NO_TIME = timedelta(0)
SHORT = Timing(shutdown=ShutdownTiming(last_words=0.3), worker=WorkerTiming(abandoned_pause=0.0))


async def pending_again(horae: Horae, job_id: int) -> Job:
    async def is_pending_again() -> Job | None:
        job = await horae.aio.jobs.get(job_id)
        return job if job.state is JobState.PENDING and job.lease else None

    found: Job = await until(is_pending_again)
    return found


@pytest.mark.parametrize("style", ["thread", "coroutine", "transaction"])
async def test_a_traceback_begins_with_the_body(horae: Horae, style: str) -> None:
    """The frames by which Horae calls a body are left out, and those in which the body calls Horae are not."""

    def refused() -> None:
        horae.jobs.get(0)

    @horae.job(name="coroutine")
    async def coroutine() -> None:
        await horae.aio.jobs.get(0)

    horae.job(name="thread")(refused)
    horae.job(name="transaction", transaction="read committed")(refused)
    async with running_node(horae, timing=POLLS_QUICKLY):
        job = await horae.aio.jobs.start(style)
        await until_state(horae, job.id, JobState.FAILED)
    [attempt] = horae.jobs.attempts(job.id)
    frames = re.findall(r'File "(.+)", line', str(attempt.traceback))
    assert frames[0] == __file__
    assert frames[-1].startswith(str(Path(horae_package.__file__).parent))


async def test_a_traceback_has_the_frames_of_a_package_beside_horae(horae: Horae) -> None:
    file = f"{Path(horae_package.__file__).parent}_shop/jobs.py"
    names: dict[str, Any] = {}
    exec(
        compile("def fail():\n    raise ValueError('no')\ndef body():\n    fail()", file, "exec"),
        names,
    )
    horae.job(names["body"])
    async with running_node(horae, timing=POLLS_QUICKLY):
        job = await horae.aio.jobs.start("body")
        await until_state(horae, job.id, JobState.FAILED)
    [attempt] = horae.jobs.attempts(job.id)
    assert re.findall(r'File "(.+)", line', str(attempt.traceback)) == [file, file]


@pytest.mark.parametrize("style", ["thread", "coroutine", "transaction"])
async def test_a_snooze_waits_and_does_not_count(horae: Horae, style: str) -> None:
    seen = list[int]()

    def decide(job: JobContext) -> str:
        seen.append(job.attempt)
        if len(seen) == 1:
            raise Snooze("1h", "no seat is free")
        return "done"

    @horae.job(name="coroutine")
    async def coroutine(job: JobContext) -> str:
        return decide(job)

    horae.job(name="thread")(decide)
    horae.job(name="transaction", transaction="read committed")(decide)
    async with running_node(horae, timing=POLLS_QUICKLY):
        job = await horae.aio.jobs.start(style)
        waiting = await pending_again(horae, job.id)
        assert (waiting.attempt, waiting.max_attempts, waiting.error) == (0, 1, None)
        assert waiting.retry_reason == "no seat is free"
        assert timedelta(minutes=59) < waiting.run_at - job.created_at < timedelta(minutes=61)
        execute(horae, "UPDATE horae_jobs SET run_at = created_at")
        assert await horae.aio.jobs.wait(job.id, timeout="20s") == "done"
    ended = horae.jobs.get(job.id)
    assert (ended.attempt, ended.retry_reason, seen) == (1, None, [1, 1])
    assert [(each.outcome, each.attempt, each.error) for each in horae.jobs.attempts(job.id)] == [
        ("snoozed", 1, None),
        ("finished", 1, None),
    ]


async def test_a_retry_counts_and_waits_as_requested(horae: Horae) -> None:
    @horae.job(max_attempts=3, exceptions_map={OSError: "The server is busy."})
    async def work() -> None:
        try:
            fail_with(lambda: OSError("503"))()
        except OSError as error:
            raise Retry("the server is busy", after="2h") from error

    async with running_node(horae):
        job = await horae.aio.jobs.start(work)
        waiting = await pending_again(horae, job.id)
    (attempt,) = horae.jobs.attempts(job.id)
    assert (waiting.attempt, waiting.retry_reason) == (1, "The server is busy.")
    assert timedelta(minutes=119) < waiting.run_at - attempt.finished_at < timedelta(minutes=121)
    assert (attempt.outcome, attempt.error) == ("failed", "Retry: the server is busy")
    assert "OSError: 503" in str(attempt.traceback)


REASONS: list[tuple[str, dict[type[BaseException], str], Callable[[], BaseException], str]] = [
    (
        "the reason",
        {Exception: "Ask."},
        lambda: Discard("the report is gone"),
        "the report is gone",
    ),
    ("an entry for the decision", {Discard: "Too late."}, lambda: Discard("gone"), "Too late."),
    (
        "an entry for its cause",
        {OSError: "No line."},
        lambda: caused(Discard("gone"), OSError("/srv")),
        "No line.",
    ),
    (
        "the reason, as its cause has no entry",
        {},
        lambda: caused(Discard("gone"), OSError("/srv")),
        "gone",
    ),
    ("no reason", {}, lambda: Retry(after="0s"), "another attempt was asked for"),
]


def caused(decision: BaseException, cause: BaseException) -> BaseException:
    decision.__cause__ = cause
    return decision


@pytest.mark.parametrize(
    ("entries", "error", "text"), [case[1:] for case in REASONS], ids=[case[0] for case in REASONS]
)
async def test_owners_are_shown_the_reason_of_a_decision(
    horae: Horae,
    entries: dict[type[BaseException], str],
    error: Callable[[], BaseException],
    text: str,
) -> None:
    horae.job(name="work", exceptions_map=entries)(fail_with(error))
    async with running_node(horae):
        job = await horae.aio.jobs.start("work")
        await until_state(horae, job.id, "failed")
    assert horae.jobs.get(job.id).human_readable_error == text


def fail_with(error: Callable[[], BaseException]) -> Callable[[], None]:
    def work() -> None:
        raise error()

    return work


ENDS: list[tuple[str, dict[str, Any], Callable[[], BaseException], int]] = [
    ("a retry without an attempt left", {"max_attempts": 2}, lambda: Retry(after="0s"), 2),
    ("a discard", {"max_attempts": 3}, lambda: Discard("the file is gone"), 1),
    (
        "an error that is given up on",
        {"max_attempts": 3, "give_up_on": LookupError},
        lambda: KeyError("k"),
        1,
    ),
    ("another error", {"max_attempts": 3, "give_up_on": LookupError}, lambda: OSError("busy"), 3),
    (
        "an error that is not to be retried",
        {"max_attempts": 3, "retry_on": OSError},
        lambda: KeyError("k"),
        1,
    ),
    (
        "a rule that raises",
        {"max_attempts": 2, "retry_on": lambda error: error.args[5]},
        lambda: KeyError("k"),
        2,
    ),
]


@pytest.mark.parametrize(
    ("options", "error", "attempts"), [end[1:] for end in ENDS], ids=[end[0] for end in ENDS]
)
async def test_a_job_fails_after_as_many_attempts(
    horae: Horae, options: dict[str, Any], error: Callable[[], BaseException], attempts: int
) -> None:
    horae.job(name="work", backoff=AT_ONCE, **options)(fail_with(error))
    async with running_node(horae):
        job = await horae.aio.jobs.start("work")
        await until_state(horae, job.id, "failed")
    assert attempts_of(horae, job.id) == ["failed"] * attempts


async def test_a_rule_that_raises_is_logged_and_lets_the_job_go_on(
    horae: Horae, caplog: pytest.LogCaptureFixture
) -> None:
    horae.job(name="work", max_attempts=2, backoff=AT_ONCE, retry_on=lambda error: error.args[5])(
        fail_with(KeyError)
    )
    async with running_node(horae):
        job = await horae.aio.jobs.start("work")
        with caplog.at_level(logging.ERROR):
            await until_state(horae, job.id, "failed")
    assert "a retry rule of job type 'work' raised" in caplog.text


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"retry_on": "OSError"}, "retry_on is 'OSError': expected an exception class"),
        ({"give_up_on": (OSError, 3)}, "its element 3 is no exception class"),
        ({"retry_on": lambda: True}, "takes one argument"),
        ({"give_up_on": asyncio.sleep}, "is a coroutine function"),
        ({"on_shutdown": "retry"}, "on_shutdown is 'retry', expected 'requeue', 'fail' or None"),
    ],
)
def test_a_wrong_rule_is_refused_where_it_is_declared(
    horae: Horae, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidJobType, match=problem):
        horae.job(**options)(fail_with(KeyError))


INTERRUPTED: list[tuple[str, dict[str, Any], bool]] = [
    ("a single attempt", {}, False),
    ("a single attempt that may be repeated", {"on_shutdown": "requeue"}, True),
    ("several attempts", {"max_attempts": 2}, True),
    (
        "several attempts that must not be repeated",
        {"max_attempts": 2, "on_shutdown": "fail"},
        False,
    ),
    ("a transaction", {"transaction": "read committed"}, True),
]


@pytest.mark.parametrize("heeds", [True, False], ids=["heeds the order", "ignores it"])
@pytest.mark.parametrize(
    ("options", "again"), [each[1:] for each in INTERRUPTED], ids=[each[0] for each in INTERRUPTED]
)
async def test_an_orderly_stop_is_no_failure(
    horae: Horae, *, options: dict[str, Any], again: bool, heeds: bool
) -> None:
    begun, release = threading.Event(), threading.Event()

    @horae.job(**options)
    def work(job: JobContext) -> None:
        begun.set()
        while not release.wait(0.005):
            if heeds:
                job.check()

    async with running_node(horae, grace=NO_TIME, timing=SHORT) as node:
        job = await horae.aio.jobs.start(work)
        await until_set(begun)
        node.stop()
    left = horae.jobs.get(job.id)
    assert attempts_of(horae, job.id) == ["interrupted"]
    assert (left.state, left.attempt) == ((JobState.PENDING, 0) if again else (JobState.FAILED, 1))
    release.set()
    if again:
        async with running_node(horae):
            await horae.aio.jobs.wait(job.id, timeout="20s")
        assert attempts_of(horae, job.id) == ["interrupted", "finished"]


@pytest.mark.parametrize(
    ("kind", "options", "advice"),
    [
        (
            "job",
            {},
            "to have such jobs run again, declare on_shutdown='requeue', max_attempts or a transaction",
        ),
        ("job", {"max_attempts": 2, "on_shutdown": "fail"}, "its type declares on_shutdown='fail'"),
        (
            "schedule",
            {},
            "to have such jobs run again, declare on_shutdown='requeue', max_attempts or a transaction",
        ),
    ],
)
async def test_an_interrupted_job_that_fails_says_how_to_change_that(
    horae: Horae, kind: str, options: dict[str, Any], advice: str
) -> None:
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        await asyncio.Event().wait()

    if kind == "job":
        horae.job(**options)(work)
        horae.jobs.start("work")
    else:
        horae.cron("0 0 1 1 *", **options)(work)
        horae.deploy()
        horae.schedules.run_now(horae.schedules.list()[0].id)
    async with running_node(horae, grace=NO_TIME, timing=SHORT) as node:
        await begun.wait()
        node.stop()
    (job,) = horae.jobs.list().jobs
    assert job.error == f"the node stopped before the job ended; {advice}"


async def test_an_interrupted_transaction_is_rolled_back(horae: Horae) -> None:
    execute(horae, "CREATE TABLE effects (job BIGINT)")
    begun = asyncio.Event()

    @horae.job(transaction="read committed")
    async def work(job: JobContext) -> None:
        await job.async_connection.execute(text("INSERT INTO effects VALUES (:id)"), {"id": job.id})
        if not begun.is_set():
            begun.set()
            await asyncio.Event().wait()

    async with running_node(horae, grace=NO_TIME, timing=SHORT) as node:
        job = await horae.aio.jobs.start(work)
        await begun.wait()
        node.stop()
    assert rows(horae, "SELECT * FROM effects") == []
    async with running_node(horae):
        await horae.aio.jobs.wait(job.id, timeout="20s")
    assert rows(horae, "SELECT job FROM effects") == [(job.id,)]
