"""A node in a process of its own, whose children wait in their hook: `python -m tests.runtime.child_node`."""

import asyncio

from horae.domain.jobs.job import NodeId
from horae.runtime.bodies import RunEnvironment
from horae.runtime.executors.child_pool import ProcessLimits
from horae.runtime.executors.process import ProcessExecutor
from horae.storage.engine.database import Database
from tests.runtime import child_application


async def main() -> None:
    environment = RunEnvironment(Database("sqlite:////nowhere/horae.db"), NodeId("n"))
    hooks = child_application.horae.hooks
    executor = ProcessExecutor(
        asyncio.get_running_loop(), environment, ProcessLimits(spare=1), hooks
    )
    executor.warm()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
