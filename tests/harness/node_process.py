"""A node in a process of its own, to be killed and stopped: `python -m tests.harness.node_process URL CONCURRENCY`.

It ends with its standard input, so that none outlives a test that died. `HORAE_TEST_SILENCE` shortens the silence that
counts as death.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
from typing import Final

from horae.domain import liveness
from tests.harness.labours import labours

SILENCE_VARIABLE: Final = "HORAE_TEST_SILENCE"


async def run(url: str, concurrency: int) -> None:
    """Run a node until SIGTERM."""
    horae = labours(url)
    node = horae.node(concurrency=concurrency)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, node.stop)
    await node.run()
    await asyncio.to_thread(horae.close)


def end_with_the_parent() -> None:
    """Wait for the end of the input, which the system closes even if the parent is killed."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    liveness.SILENCE = float(os.environ.get(SILENCE_VARIABLE, liveness.SILENCE))  # type: ignore[misc]  # for the test
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    asyncio.run(run(sys.argv[1], int(sys.argv[2])))
