"""Which backend runs the jobs of a type or of a queue: Horae's own nodes, or Celery."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from typing_extensions import override

from horae.errors import InvalidRequest
from horae.quoting import quoted

OWN_BACKEND: Final = "horae"
"""The backend of jobs that Horae's nodes run."""
CELERY: Final = "celery"
_TEXT: Final = re.compile(r"celery(?::(?P<destination>[A-Za-z0-9._-]{1,100}))?")


@dataclass(frozen=True, slots=True)
class BackendAddress:
    """A backend, and the queue of it to which messages are sent; None is its usual one."""

    backend: str
    destination: str | None = None

    @classmethod
    def parse(cls, text: object) -> Self:
        """Read `celery` or `celery:QUEUE`. Raises `InvalidRequest`."""
        found = _TEXT.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise InvalidRequest(f"backend is {quoted(text)}, expected 'celery' or 'celery:QUEUE'")
        return cls(CELERY, found["destination"])

    @override
    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        return self.backend if self.destination is None else f"{self.backend}:{self.destination}"


class SentScope(NamedTuple):
    """The jobs that are sent to backends: those of these types, or in these queues unless their
    type is one of `other_types`.
    """

    types: Collection[str]
    queues: Collection[str] = ()
    other_types: Collection[str] = ()


def check_queue_backend(text: object) -> str:
    """Return the backend of a queue as it is stored: `horae`, `celery` or `celery:QUEUE`.

    Raises `InvalidRequest`.
    """
    if text == OWN_BACKEND:
        return OWN_BACKEND
    try:
        return str(BackendAddress.parse(text))
    except InvalidRequest as error:
        raise InvalidRequest(f"{error}, or 'horae' for Horae's own nodes") from None
