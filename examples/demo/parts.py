"""The parts of the demonstration. Each describes what it shows, runs it, and returns whether it went as expected."""

import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sqlalchemy import create_engine, func, select

from examples.demo.app import Base, Module, count_lines, horae, index_modules
from horae import Job, JobFailed, JobState

PORT: Final = 8080
LONGEST_GOODBYE: Final = 10.0
RUN: Final = (
    sys.executable,
    "-m",
    "horae",
    "run",
    "examples.demo.app:horae",
    "--log-level",
    "error",
)
engine = create_engine(horae.settings.database)


@contextmanager
def dashboard(console: Console) -> Generator[None]:
    """Run the dashboard in a separate process while the block runs."""
    horae.open()
    with running("--no-worker", "--no-scheduler", "--port", str(free_port())) as process:
        ready = process.stdout.readline().decode() if process.stdout else ""
        console.print("The dashboard, to watch what follows; this link lets one browser in, once:")
        console.print(
            f"   {' '.join(re.findall('http:.*', ready))}\n", soft_wrap=True
        )  # unwrapped, so that it can be clicked
        yield


def free_port() -> int:
    """Return the usual port, or 0 (any free one) if that is taken."""
    try:
        socket.create_server(("127.0.0.1", PORT)).close()
    except OSError:
        return 0
    return PORT


def show(console: Console) -> bool:
    """Run all parts, each with a node."""
    Base.metadata.create_all(engine)
    with node() as first:
        right = [finishes(console), is_cancelled(console), fails(console), survives(console, first)]
    with node():
        return all([*right, keeps_time(console)])


def node() -> AbstractContextManager[subprocess.Popen[bytes]]:
    """Run a node of the application, which runs jobs and fires schedules."""
    return running("--no-api")


@contextmanager
def running(*options: str) -> Generator[subprocess.Popen[bytes]]:
    """Run `horae run` in a separate process, which is stopped after the block."""
    process = subprocess.Popen([*RUN, *options], stdout=subprocess.PIPE)
    try:
        yield process
    except (
        KeyboardInterrupt
    ):  # a terminal sends it to all processes, and a second signal would end the node at once
        with suppress(subprocess.TimeoutExpired):
            process.wait(LONGEST_GOODBYE)
        raise
    finally:
        process.terminate()
        process.wait()


def finishes(console: Console) -> bool:
    """Run a long job with progress, whose tables appear when it commits."""
    console.rule("1. index the standard library, in one transaction")
    job = horae.jobs.start(index_modules, owner="demo")
    watch(console, job, lambda now: now.ended)
    counts: dict[str, int] = horae.jobs.wait(job.id)
    console.print(f"   written: {counts}")
    return rows(job) == counts["modules"] > 0


def is_cancelled(console: Console) -> bool:
    """Cancel the same job after it has written its first rows: none of them exists afterwards."""
    console.rule("2. the same again, cancelled in the middle")
    job = horae.jobs.start(index_modules, owner="demo")
    watch(console, job, lambda now: now.progress_percentage >= 5)
    asked = time.monotonic()
    state = horae.jobs.cancel(job.id, owner="demo").state
    watch(console, job, lambda now: not now.occupied)
    console.print(
        f"   {state}; its body stopped within {time.monotonic() - asked:.2f} s; rows left: {rows(job)}"
    )
    return state is JobState.CANCELLED and rows(job) == 0


def fails(console: Console) -> bool:
    """Run a job that fails with one text for users and one for programmers."""
    console.rule("3. a job that fails")
    job = horae.jobs.start(index_modules, folder="/no/such/folder", owner="demo")
    try:
        horae.jobs.wait(job.id, timeout="30s")
    except JobFailed as failure:
        console.print(f"   for people: {failure}\n   for programmers: {failure.error}")
        return str(failure) == "There is no folder /no/such/folder; choose another one."
    return False


def survives(console: Console, first: subprocess.Popen[bytes]) -> bool:
    """Kill the node of a job: another node runs the job again."""
    console.rule("4. kill the node in the middle of a job")
    job = horae.jobs.start(count_lines)
    watch(console, job, lambda now: now.progress_percentage >= 10)
    with node():
        first.kill()
        killed = time.monotonic()
        watch(console, job, lambda now: now.state is JobState.PENDING or now.attempt > 1)
        console.print(
            f"   rescued {time.monotonic() - killed:.1f} s after kill -9; it begins again after its back-off"
        )
        watch(console, job, lambda now: now.ended)
        outcomes = [attempt.outcome.value for attempt in horae.jobs.attempts(job.id)]
        console.print(
            f"   attempts: {', '.join(outcomes)}; lines counted: {horae.jobs.wait(job.id)}"
        )
    return outcomes == ["crashed", "finished"]


def keeps_time(console: Console) -> bool:
    """Run a cron schedule and an interval schedule, and show the decision about each of their times."""
    console.rule(
        "5. schedules: every second, and three seconds after a finish, with bad luck at first"
    )
    while horae.schedules.statistics("unlucky").total_successes == 0:
        time.sleep(0.2)
    for name in ("every_second", "unlucky"):
        now = horae.schedules.statistics(name)
        console.print(
            f"   {name}: {now.total_runs} runs, {now.total_successes} well, {now.total_failures} failed"
        )
        for tick in reversed(horae.schedules.ticks(name, limit=5)):
            times = f"{tick.nominal_time:%H:%M:%S}" + (
                f" and {tick.count - 1} more" if tick.count > 1 else ""
            )
            console.print(
                f"      {times:<22} {tick.decision:<10} {tick.reason:<10} {tick.job_id or ''}"
            )
    retried = [tick.reason for tick in horae.schedules.ticks("unlucky")].count("retry")
    gaps = ledger_gaps("every_second")
    console.print(f"   {retried} retries; {gaps} seconds without a decision")
    return retried == 2 and gaps == 0


def ledger_gaps(name: str) -> int:
    """Return how many full seconds between the first and the last decision have none."""
    ticks = horae.schedules.ticks(name, limit=10_000)
    span = round((ticks[0].until - ticks[-1].nominal_time).total_seconds()) + 1
    return span - sum(tick.count for tick in ticks if tick.reason != "manual")


def watch(console: Console, job: Job, until: Callable[[Job], bool]) -> None:
    """Show the job's progress from the live store, until a condition holds or the job has ended."""
    columns = (
        TextColumn("   {task.description:<32}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
    )
    with Progress(*columns, TimeElapsedColumn(), console=console) as bars:
        bar = bars.add_task("pending", total=100)
        while True:
            now = horae.jobs.get(job.id)
            shown = now.label if now.label and not now.ended else now.state.value
            bars.update(bar, description=shown, completed=now.progress_percentage)
            if until(now) or (now.ended and not now.occupied):
                return
            time.sleep(0.05)


def rows(job: Job) -> int:
    """Return how many modules the job has written, as other connections see it."""
    with engine.connect() as connection:
        return connection.execute(select(func.count()).where(Module.job_id == job.id)).scalar_one()


def stay(console: Console, folder: Path) -> None:
    """Leave a node running, so that the user can explore the dashboard."""
    console.print(
        "\nThe dashboard stays, and a node goes on running, until Ctrl-C. In another terminal:"
    )
    for line in (
        f"export HORAE_DATABASE=sqlite:///{folder / 'horae.db'} HORAE_APP=examples.demo.app:horae",
        ".venv/bin/horae jobs list",
        ".venv/bin/horae jobs start index_modules --wait",
        ".venv/bin/horae doctor",
    ):
        console.print(f"   {line}", soft_wrap=True)  # unwrapped, so that it can be copied
    with node() as process:
        process.wait()
