"""`/api/events/`: changes as they happen."""

from typing import Annotated, Any

from fastapi import APIRouter, Header
from starlette.responses import Response

from horae.api.dependencies import Authenticated, ServicesHere
from horae.api.problems import error_response
from horae.api.stream import EventStream, StreamListener

router = APIRouter(prefix="/api/events", tags=["events"])

RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": (
            'A stream of server-sent events. `hello` comes first: `{"resumed": false}` means that'
            " changes may have been missed, so read your data again. `job` is a job as in the list,"
            " with its `change`: `created`, `started`, `progress`, `waiting` (for another attempt)"
            " or `ended`. `reset` means that too many changes happened at a time to send each: read"
            " your data again. Users who may see schedules also get their changes: `schedule` is a"
            " schedule as in the list, after any change, and `schedule_gone` the ID of one that was"
            " deleted. The data of `job` is a `JobStreamEvent`, of `schedule` a `ScheduleItem`, of"
            " `schedule_gone` a `ScheduleGone`. A comment is sent after 15 seconds without another"
            " message."
        ),
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    429: error_response(429),
}


@router.get(
    "/",
    status_code=200,
    responses=RESPONSES,
    response_class=EventStream,
    response_model=None,
)
async def listen(
    services: ServicesHere,
    actor: Authenticated,
    last_event_id: Annotated[
        str | None,
        Header(
            max_length=100, description="The ID of the last event received, to resume after it."
        ),
    ] = None,
) -> Response:
    """Stream changes of the jobs and schedules that the user may see.

    Polling the lists works too, with more delay.
    """
    timing = services.events_timing
    listener = StreamListener(actor, timing.listener)
    return EventStream(services.hub, services.stream_limit, timing.stream, listener, last_event_id)
