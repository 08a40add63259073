"""Clients of the API inside the test's own process, each as somebody."""

from collections.abc import Callable
from typing import Final

import httpx
from starlette.requests import Request

from horae import Horae
from horae.api.application import HttpInterface
from horae.api.security.actor import Actor, Role

BASE: Final = "http://localhost"
WHO: Final = "x-who"

PEOPLE: Final = {
    "alice": Actor("alice"),
    "bob": Actor("bob"),
    "auditor": Actor("auditor", frozenset({Role.READ_ONLY})),
    "root": Actor("root", frozenset({Role.STAFF})),
}

Client = Callable[[str], httpx.AsyncClient]


def by_header(request: Request) -> Actor | None:
    """Trusts a header: good enough for a test, and for nothing else."""
    return PEOPLE.get(request.headers.get(WHO, ""))


def application_of(horae: Horae) -> HttpInterface:
    """The API of an application, where `by_header` says who asks."""
    interface = horae.asgi(by_header).made
    assert isinstance(interface, HttpInterface)
    return interface


def client_of(app: HttpInterface, who: str | None) -> httpx.AsyncClient:
    """A client that says who it is."""
    headers = {} if who is None else {WHO: who}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE, headers=headers)
