"""A Celery worker, a Redis broker and a new SQLite file: jobs that run, are cancelled, and survive what is killed."""

import argparse
import logging
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from horae import Horae
from tests.harness.celery_worker import CeleryWorker
from tests.harness.operating_system import ProgramMissing
from tests.harness.program import ProgramFailed
from tests.harness.redis import RedisServer

console = Console(highlight=False, soft_wrap=True)
WITHIN = 60.0
"""Seconds in which each part must come out right."""
END_OF_LOG = 3000
"""Characters of the worker's log that are shown if something came out wrong."""


def main() -> int:
    """Run the parts. Return 0 only if each went as expected."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--once", action="store_true", help="end after the parts")
    once: bool = arguments.parse_args().once
    logging.basicConfig(format="  [log] %(message)s", level=logging.WARNING)
    try:
        with tempfile.TemporaryDirectory(
            prefix="horae-celery-", ignore_cleanup_errors=True
        ) as folder:
            right = demonstrate_in(Path(folder), once=once)
    except KeyboardInterrupt:
        console.print("Stopped.")
        return 0
    except (ProgramMissing, ProgramFailed) as error:
        console.print(f"[red]The demonstration cannot run:[/] {escape(str(error))}")
        return 1
    return 0 if right else 1


def demonstrate_in(folder: Path, *, once: bool) -> bool:
    """Start a broker and a worker, and run the parts; the database and the log of the worker are in the folder."""
    url = f"sqlite:///{folder / 'shop.db'}"
    with RedisServer() as broker:
        os.environ |= {"HORAE_DATABASE": url, "CELERY_BROKER_URL": broker.url()}
        console.print(f"A broker at {broker.url()}, and a new database: {folder / 'shop.db'}")
        with CeleryWorker(folder, url, broker.url(), application="examples.celery.app") as worker:
            console.print("A Celery worker with two processes is ready.\n")
            right = demonstrate(worker, broker)
            if not right:
                console.print(f"The log of the worker ends:\n{escape(worker.log[-END_OF_LOG:])}")
            if not once:
                stay(url, broker)
    return right


def demonstrate(worker: CeleryWorker, broker: RedisServer) -> bool:
    """Run the parts; return whether each went as expected."""
    from examples.celery.app import horae  # noqa: PLC0415 - it reads the environment

    parts: dict[str, Callable[[], bool]] = {
        "a job runs in a worker and reports progress": lambda: runs(horae),
        "a Celery task runs as a job, and is cancelled": lambda: is_cancelled(horae),
        "a process is killed, and its job runs again": lambda: survives_a_kill(horae, worker),
        "the worker is killed, the broker loses all messages, and they are sent again": lambda: (
            survives_a_flush(horae, worker, broker)
        ),
        "a schedule is fired by the worker": lambda: is_scheduled(horae),
        "the audit finds nothing": lambda: not horae.audit().findings,
    }
    outcomes: list[bool] = []
    for title, part in parts.items():
        began = time.monotonic()
        outcomes.append(part())
        verdict = "[green]right[/]" if outcomes[-1] else "[red]wrong[/]"
        console.print(f"{verdict}: {title} ({time.monotonic() - began:.1f} s)")
    horae.close()
    right = all(outcomes)
    console.print(
        f"\n[green]All {len(parts)} came out right.[/]"
        if right
        else "\n[red]Something came out wrong.[/]"
    )
    return right


def runs(horae: Horae) -> bool:
    job = horae.jobs.start("export_orders")
    seen = comes(lambda: 0 < horae.jobs.get(job.id).progress_percentage < 100)
    return seen and comes(lambda: horae.jobs.get(job.id).state == "finished")


def is_cancelled(horae: Horae) -> bool:
    job = horae.jobs.start("shop.import_csv", rows=1000)
    seen = comes(lambda: horae.jobs.get(job.id).label == "importing")
    horae.jobs.cancel(job.id)
    return (
        seen
        and comes(lambda: not horae.jobs.get(job.id).occupied)
        and horae.jobs.get(job.id).state == "cancelled"
    )


def survives_a_kill(horae: Horae, worker: CeleryWorker) -> bool:
    job = horae.jobs.start("export_orders")
    if not comes(lambda: horae.jobs.get(job.id).progress_percentage > 0):
        return False
    for pid in worker.children:
        os.kill(pid, signal.SIGKILL)
    return (
        comes(lambda: horae.jobs.get(job.id).state == "finished")
        and horae.jobs.get(job.id).attempt == 2
    )


def survives_a_flush(horae: Horae, worker: CeleryWorker, broker: RedisServer) -> bool:
    worker.kill()
    with horae.node(worker=False).running():  # sends the messages, which nobody takes
        jobs = [horae.jobs.start("export_orders", orders=1) for _ in range(20)]
        if not comes(lambda: broker.command("LLEN", "export") >= len(jobs)):
            return False
    broker.command("FLUSHALL")
    worker.start()
    return comes(lambda: all(horae.jobs.get(job.id).state == "finished" for job in jobs))


def is_scheduled(horae: Horae) -> bool:
    def fired() -> int:
        return horae.schedules.get("refresh_rates").statistics.total_successes

    before = fired()
    return comes(lambda: fired() >= before + 2)


def comes(condition: Callable[[], bool]) -> bool:
    """Return whether the condition is met in time."""
    end = time.monotonic() + WITHIN
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.05)
    return met


def stay(url: str, broker: RedisServer) -> None:
    console.print(
        "\nThe worker goes on. In another terminal, in this directory, look at its jobs, or serve the dashboard:\n"
        f"  export HORAE_DATABASE={url} CELERY_BROKER_URL={broker.url()}\n"
        "  .venv/bin/horae --app examples.celery.app:horae jobs list\n"
        "  .venv/bin/horae run examples.celery.app:horae --no-worker --no-scheduler\n"
        "Press Ctrl-C here to stop the worker and the broker."
    )
    while True:
        time.sleep(1)


if __name__ == "__main__":
    sys.exit(main())
