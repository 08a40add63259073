"""A program whose main module declares job types and runs them in child processes."""

import asyncio
import os
import signal
import sys
import time

from horae.storage.engine.database import Database
from tests.runtime.executor_under_test import Declared, ExecutorUnderTest
from tests.runtime.process_bodies import in_process

if __name__ == "__mp_main__" and "broken" in sys.argv:
    sys.exit(7)


@in_process()
def double(number: int) -> int:
    return number * 2


@in_process()
def tell_pid() -> None:
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    time.sleep(1000)


def fork_and_hold(*_: object) -> None:
    """Fork a process that keeps all inherited descriptors open."""
    if (pid := os.fork()) == 0:
        signal.pause()
    sys.stdout.write(f"{pid}\n")
    sys.stdout.flush()


async def run(declared: Declared, **params: int) -> None:
    executor = ExecutorUnderTest(Database("sqlite:////nowhere/horae.db"))
    performed = await executor.perform(declared, **params)
    settlement = performed.settlement
    sys.stdout.write(
        f"{performed.error if settlement is None else settlement.error or settlement.result}\n"
    )


if __name__ == "__main__":
    if "orphan" in sys.argv:
        signal.signal(signal.SIGUSR1, fork_and_hold)
        asyncio.run(run(tell_pid))
    else:
        asyncio.run(run(double, number=21))
