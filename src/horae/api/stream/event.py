"""Events in the form in which they are sent, with the users who may see them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from horae.api.security.actor import Actor
from horae.api.views.jobs import JobView

RETRY: Final = 2000
"""Milliseconds after which a browser that lost the connection reconnects."""
HEARTBEAT: Final = b": beat\n\n"


class Change(StrEnum):
    """What happened to a job."""

    CREATED = "created"
    STARTED = "started"
    PROGRESS = "progress"
    WAITING = "waiting"
    ENDED = "ended"


class JobStreamEvent(JobView):
    """A job as in the list, and what happened to it."""

    change: Change


Wanted = Callable[[str | None], bool]
"""Returns whether a listener may see the jobs of this owner; None for jobs without an owner."""


@dataclass(frozen=True, slots=True)
class Update:
    """A change to publish: event name, JSON on one line, and the job's owner.

    If there is no owner, only staff get it. `reduced`: the JSON for viewers, if it differs.
    """

    name: str
    data: str
    owner: str | None = None
    reduced: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """A message with its recipients: the `owner` of its job, and the groups that the flags name.

    `reduced`: the message for viewers, if it differs.
    """

    number: int
    message: bytes
    owner: str | None = None
    to_owner: bool = True
    to_staff: bool = True
    to_all: bool = False
    reduced: bytes | None = None

    def message_for(self, actor: Actor) -> bytes:
        """Return the message as this actor may see it."""
        if self.reduced is None or actor.sees_values_of(self.owner):
            return self.message
        return self.reduced

    def is_for(self, actor: Actor) -> bool:
        """Return whether the actor receives it."""
        if self.to_all:
            return True
        if actor.sees_all:
            return self.to_staff
        return self.to_owner and self.owner == actor.id


def message(name: str, data: str, event_id: str) -> bytes:
    """Return a server-sent event; `data` is JSON on one line."""
    return f"event: {name}\nid: {event_id}\ndata: {data}\n\n".encode()


def hello(event_id: str, *, resumed: bool) -> bytes:
    """Return the first message of a stream; unless `resumed`, the client has to reload its data."""
    return f"retry: {RETRY}\n".encode() + message(
        "hello", json.dumps({"resumed": resumed}), event_id
    )
