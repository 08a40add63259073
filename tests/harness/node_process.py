"""A node in a separate process, for tests that kill and stop it: `python -m tests.harness.node_process URL CONCURRENCY`.

It ends when its standard input is closed, so that it cannot outlive the test. `HORAE_TEST_SILENCE` shortens the silence
after which a node counts as dead.
"""

import asyncio
import logging
import os
import signal
import sys
import threading
from typing import Final

from horae.domain.cluster import LivenessLimits
from tests.harness.fault_application import fault_application

SILENCE_VARIABLE: Final = "HORAE_TEST_SILENCE"


async def run(url: str, concurrency: int) -> None:
    """Run a node until SIGTERM."""
    horae = fault_application(url)
    silence = float(os.environ.get(SILENCE_VARIABLE, LivenessLimits().silence))
    node = horae.node(concurrency=concurrency, liveness=shrunk(silence))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, node.stop)
    await node.run()
    await asyncio.to_thread(horae.close)


def shrunk(silence: float) -> LivenessLimits:
    """Return the limits of a node, shortened in proportion to its silence."""
    usual = LivenessLimits()
    share = silence / usual.silence
    return LivenessLimits(
        beat=usual.beat * min(1.0, 2 * share),
        lock=usual.lock * min(1.0, 2 * share),
        silence=silence,
        last_attempts=usual.last_attempts * share,
        margin=usual.margin * share,
        lock_margin=usual.lock_margin * min(1.0, 2 * share),
        gap=usual.gap * min(1.0, 2 * share),
    )


def end_with_the_parent() -> None:
    """End this process when its input ends, which the system closes even if the parent is killed."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    asyncio.run(run(sys.argv[1], int(sys.argv[2])))
