"""How a node works without hints of other processes, and what it logs about a pooler."""

import asyncio

from horae.domain.jobs import NodeId
from horae.guarded_log import guarded_log
from horae.runtime.components import Components
from horae.runtime.controller import Controller
from horae.runtime.timing import ControllerTiming, Timing
from horae.wakeup import WakeupChannel

ADVICE = "set HORAE_HINTS_DATABASE to a URL that leads to the server directly, and hints arrive"

log = guarded_log("horae.runtime")


def log_pooler(node: NodeId, components: Components, timing: Timing) -> None:
    """Log once what a node does differently behind a pooler."""
    if not components.database.pooled:
        return
    seconds = timing.worker.poll_without_hints.longest
    hints = (
        "hints do not pass it and arrive another way"
        if components.wakeup.listens
        else f"no hints, so the node polls for work every {seconds:g} s; {ADVICE}"
    )
    log.warning(
        "node %s is behind a connection pooler: %s; %s",
        node,
        components.database.without_sessions,
        hints,
    )


async def reread_schedules(
    wakeup: WakeupChannel, controller: Controller, timing: ControllerTiming
) -> None:
    """Let the controller reread all schedules periodically, because no hint reports a change."""
    while True:
        await asyncio.sleep(timing.reload_without_hints)
        if not wakeup.connected:
            controller.reread()
