"""Job types that a child process imports. Each reports with a label that it has reached the point of the test."""

import asyncio
import ctypes
import itertools
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from sqlalchemy import text
from typing_extensions import Unpack, override

from horae.errors import SoftTimeLimitExceeded
from horae.types.context import JobContext
from horae.types.function import JobFunction
from horae.types.job_type import JobType
from horae.types.keywords import JobKeywords

P = ParamSpec("P")
R = TypeVar("R")

MEGABYTE: Final = 1 << 20

tenant: ContextVar[str] = ContextVar("tenant", default="none")


def in_process(**options: Unpack[JobKeywords]) -> Callable[[Callable[P, R]], JobFunction[P, R]]:
    options["isolation"] = "process"
    return lambda function: JobFunction(function, **options)


@in_process()
def add(job: JobContext, left: int, right: int) -> dict[str, Any]:
    return {"sum": left + right, "pid": os.getpid(), "attempt": job.attempt, "owner": job.owner}


@in_process()
async def add_later(left: int, right: int) -> int:
    await asyncio.sleep(0)
    return left + right


@in_process(transaction="read committed")
def bound(job: JobContext) -> int:
    return job.id


@in_process(transaction="read committed")
async def bound_later(job: JobContext) -> int:
    return job.id


class Multiply(JobType[Any]):
    type = "multiply"
    isolation = "process"

    @override
    def run(self, job: JobContext[Any]) -> int:
        return 6 * 7


@in_process()
def count(job: JobContext) -> None:
    for number in range(1000):
        job.progress.increment(Fraction(1, 10), f"number {number}")


@in_process(
    exceptions_map={KeyError: "there is no {e}", ValueError: lambda error: f"mind the {error}"}
)
def fail(kind: str) -> None:
    raise {"key": KeyError, "value": ValueError, "other": OSError}[kind]("gap")


@in_process()
def go_on_with_progress(job: JobContext) -> None:
    for _ in itertools.count():
        job.progress.set(1, f"{os.getpid()}")


@in_process()
async def wait_for_ever(job: JobContext) -> None:
    job.progress.set(1, "running")
    await asyncio.Event().wait()


@in_process()
def spin(job: JobContext) -> None:
    job.progress.set(1, "running")
    while True:
        pass


@in_process()
def spin_unstoppably(job: JobContext) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    job.progress.set(1, f"{os.getpid()}")
    while True:
        pass


@in_process()
def sleep(job: JobContext) -> None:
    job.progress.set(1, "running")
    time.sleep(1000)


@in_process()
def tidy_up(job: JobContext, path: str) -> None:
    try:
        job.progress.set(1, "running")
        time.sleep(1000)
    except SoftTimeLimitExceeded:
        Path(path).write_text("tidy")
        raise


@in_process()
def tell_pid_and_sleep(job: JobContext) -> None:
    job.progress.set(1, f"{os.getpid()}")
    time.sleep(1000)


@in_process()
def end_by_itself(how: str) -> None:
    match how:
        case "segfault":
            ctypes.string_at(0)
        case "os._exit":
            os._exit(3)
        case "sys.exit":
            sys.exit("enough")
        case _:
            os.kill(os.getpid(), signal.SIGKILL)


@in_process(max_result_bytes=2 * MEGABYTE + 2)
def print_megabytes() -> str:
    for stream in (sys.stdout, sys.stderr):
        stream.write("x" * 4 * MEGABYTE)
    os.write(1, b"y" * MEGABYTE)
    return "z" * 2 * MEGABYTE


@in_process()
def close_everything(job: JobContext) -> None:
    os.closerange(3, 256)
    go_on_with_progress.function(job)


@in_process()
def give_up_resource(limit: int) -> int:
    resource.setrlimit(limit, (3, 3))  # `poll` accepts as many descriptors
    return os.getpid()


@in_process()
def fork_and_come_back(job: JobContext) -> str:
    if os.fork() == 0:
        job.progress.set(50, "from a fork")
        return "fork"
    job.progress.set(10, "from the body")
    os.wait()
    return "body"


@in_process()
def fork_and_die(path: str, how: str) -> None:
    """Fork and exit. The fork keeps inherited descriptors open; the interpreter does not notice a fork made in C."""
    pid = ctypes.PyDLL(None).fork() if how == "unseen" else os.fork()
    if pid == 0:
        for standard in range(3):
            os.close(standard)
        signal.pause()
    Path(path).write_text(str(pid))
    os._exit(4)


@in_process()
def use_a_process_pool() -> int:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return sum(pool.map(abs, range(-10, 0)))


left_behind_reports: Final = [0]
"""The number of reports, in this process, of the thread that a body has left behind."""


@in_process()
def leave_a_thread(job: JobContext) -> None:
    def report_for_ever() -> None:
        while True:
            left_behind_reports[0] += 1
            job.progress.set(left_behind_reports[0] % 100, f"left behind {left_behind_reports[0]}")

    threading.Thread(target=report_for_ever, daemon=True).start()


@in_process()
def outlast_left_behind_thread(job: JobContext) -> None:
    """Run long enough for the thread of the earlier body to report, at the interval of reports."""
    job.progress.set(1, "own")
    last = left_behind_reports[0] + 50_000
    while left_behind_reports[0] < last:
        time.sleep(0)


@in_process()
async def leave_a_task(path: str) -> None:
    async def linger() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            write("ended")

    write = Path(path).write_text
    asyncio.get_running_loop().create_task(linger())
    await asyncio.sleep(0)


@in_process()
def take_over_signals() -> list[str]:
    before = [str(signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    return before


@in_process()
def write_log(job: JobContext) -> None:
    job.log.info("something happened")


@in_process(transaction="read committed")
def insert_row(job: JobContext, error: str | None = None) -> str:
    job.connection.execute(text("INSERT INTO effects (name) VALUES ('done')"))
    if error is not None:
        raise ValueError(error)
    return "inserted"


@in_process(transaction="read committed")
async def insert_row_async(job: JobContext) -> str:
    await job.async_connection.execute(text("INSERT INTO effects (name) VALUES ('done')"))
    return "inserted"


@in_process()
def enter() -> str:
    before = tenant.get()
    tenant.set("the last body's")
    return before


@in_process()
async def enter_later() -> str:
    before = tenant.get()
    tenant.set("the last body's")
    return before


def make_local() -> JobFunction[[], None]:
    @in_process()
    def local() -> None: ...

    return local


hidden = in_process()(lambda: None)
