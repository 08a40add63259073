"""Runs a coroutine in a loop of its own, which goes on although a body has ended it.

asyncio passes `SystemExit` and `KeyboardInterrupt` from any task or callback on to the caller of
the loop, and any code may call `loop.stop()`. A body that does so by mistake must not end its node.
"""

import asyncio
import signal
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from horae.guarded_log import guarded_log

T = TypeVar("T")
ENDS_THE_PROCESS: Final = (SystemExit, KeyboardInterrupt)

log = guarded_log("horae.runtime")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run `main` in a new loop, as `asyncio.run` does, until it ends, whatever else ends the loop.

    Ctrl-C cancels it, unless the program handles that signal.
    """
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        task = loop.create_task(main)
        task.add_done_callback(lambda _: loop.stop())
        while not task.done():
            try:
                loop.run_forever()
            except ENDS_THE_PROCESS as error:
                in_main_thread = threading.current_thread() is threading.main_thread()
                if (
                    isinstance(error, KeyboardInterrupt)
                    and in_main_thread
                    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
                ):
                    task.cancel()
                    raise
                if not task.done():
                    log.exception("a body tried to end the process; the node goes on")
        return task.result()
