"""`/api/events/`: changes as they happen."""

from typing import Annotated, Any

from fastapi import APIRouter, Header
from starlette.responses import Response

from horae.api.dependencies import Authenticated, ServicesHere
from horae.api.problems import documented
from horae.api.stream.listener import Listener
from horae.api.stream.response import EventStream

router = APIRouter(prefix="/api/events", tags=["events"])

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": 'A stream of server-sent events. `hello` comes first: `{"resumed": false}` says that changes '
        "may have been missed, so read what you show. `job` is a job as in the list, with its `change`: `created`, "
        "`started`, `progress`, `waiting` (for another attempt) or `ended`. `reset` says that too much happened to "
        "tell: read what you show. Who may see schedules also hears of them: `schedule` is one as in the list, after "
        "whatever has happened to it, and `schedule_gone` the id of one that was deleted. The data of `job` is a "
        "`JobEvent`, of `schedule` a `ScheduleItem`, of `schedule_gone` a `ScheduleGone`. A comment comes when nothing "
        "else has for 15 seconds.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
}


@router.get(
    "/", status_code=200, responses={**documented(429), **STREAM}, response_class=EventStream, response_model=None
)
async def listen(
    services: ServicesHere,
    actor: Authenticated,
    last_event_id: Annotated[
        str | None, Header(max_length=100, description="The id of the last event that came, to go on from there.")
    ] = None,
) -> Response:
    """Stream changes of the jobs and schedules that the user may see. Polling works too, with more delay."""
    timing = services.events_timing
    listener = Listener(actor, timing.listener)
    return EventStream(services.hub, services.stream_limit, timing.stream, listener, last_event_id)
