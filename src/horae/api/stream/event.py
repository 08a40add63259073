"""An event as it travels, and who may see it."""

import json
from dataclasses import dataclass
from typing import Final

from horae.api.security.actor import Actor
from horae.api.stream.watch import Change
from horae.api.views.jobs import JobView

RETRY: Final = 2000
"""Milliseconds after which a browser that lost the connection tries again."""
BEAT: Final = b": beat\n\n"


class JobStreamEvent(JobView):
    """A job as in the list, and what happened to it."""

    change: Change


@dataclass(frozen=True, slots=True)
class News:
    """Something to tell: the name of its event, JSON on one line, and whose job it is about; nobody's is for staff."""

    name: str
    data: str
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """One message. `owner`: whose job it is about; `to_owner` and `to_staff`: which of them hear of it."""

    number: int
    message: bytes
    owner: str | None = None
    to_owner: bool = True
    to_staff: bool = True
    to_all: bool = False

    def is_for(self, actor: Actor) -> bool:
        """Whether the actor may see it."""
        if self.to_all:
            return True
        if actor.sees_all:
            return self.to_staff
        return self.to_owner and self.owner == actor.id


def message(name: str, data: str, identity: str) -> bytes:
    """One message in the form of server-sent events; `data` is JSON on one line."""
    return f"event: {name}\nid: {identity}\ndata: {data}\n\n".encode()


def hello(identity: str, *, resumed: bool) -> bytes:
    """The first message; unless it has resumed, whoever listens must now read what it shows."""
    return f"retry: {RETRY}\n".encode() + message("hello", json.dumps({"resumed": resumed}), identity)
