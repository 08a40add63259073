"""Calls `@horae.on_node_start` and `@horae.on_node_stop`, on the loop or on threads."""

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any, Final

from horae.guarded_log import guarded_log
from horae.redaction import traceback_text
from horae.storage.engine import Threads
from horae.types import Hook

STOP_WITHIN: Final = 1.5
"""Seconds that all stop hooks together may take.

`horae run` ends its process 4.8 seconds after the grace period, of which the node needs 3.2.
"""

log = guarded_log("horae.runtime")


async def call_start_hooks(hooks: Sequence[Hook[Any]], stop: asyncio.Event) -> None:
    """Call the hooks one after another; raise the first error.

    Stop waiting when the node is stopped meanwhile.
    """
    for hook in tuple(hooks):
        if stop.is_set():
            return
        stopping = asyncio.ensure_future(stop.wait())
        call = asyncio.ensure_future(_call(hook))
        try:
            await asyncio.wait((call, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                log.warning(
                    "%s (on_node_start) has not returned, and the node stops without waiting"
                    " for it",
                    hook.address,
                )
                return
            call.result()
        finally:
            stopping.cancel()
            call.cancel()


async def call_stop_hooks(hooks: Sequence[Hook[Any]]) -> None:
    """Call the hooks one after another, within a bound; log what they raise."""
    for number, hook in enumerate(waiting := tuple(hooks)):
        try:
            async with asyncio.timeout(STOP_WITHIN / len(waiting)):
                await _call(hook)
        except TimeoutError:
            left = len(waiting) - number - 1
            log.warning(
                "%s (on_node_stop) has not returned in time; %d more follow", hook.address, left
            )
        except Exception as error:  # noqa: BLE001 - the node stops all the same
            # The text has no values of the application.
            log.error("%s (on_node_stop) failed:\n%s", hook.address, traceback_text(error))


async def _call(hook: Hook[Any]) -> None:
    if inspect.iscoroutinefunction(hook.call):
        await hook.call()
        return
    # A thread of its own keeps neither the process nor another hook waiting if it never returns.
    thread = Threads(1, "horae-node-hook")
    called = thread.submit(hook.call)
    thread.shutdown(wait=False)
    await asyncio.wrap_future(called)
