"""Clients of the API inside the test's own process, each with the identity of one actor."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

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
    "vera": Actor("vera", frozenset({Role.VIEWER})),
    "ownvera": Actor("ownvera", frozenset({Role.VIEWER, Role.OWNER})),
    "root": Actor("root", frozenset({Role.STAFF})),
}

Client = Callable[[str | None], httpx.AsyncClient]


def by_header(request: Request) -> Actor | None:
    """Trusts a header: good enough for a test, and for nothing else."""
    return PEOPLE.get(request.headers.get(WHO, ""))


def application_of(horae: Horae) -> HttpInterface:
    """The API of an application, where `by_header` says who asks."""
    interface = horae.asgi(by_header).made
    assert isinstance(interface, HttpInterface)
    return interface


def give(app: HttpInterface, **services: Any) -> None:
    """Replace these services of the application, for the requests from now on."""
    app.state.services = replace(app.services, **services)


def client_of(app: Any, who: str | None = None, **headers: str) -> httpx.AsyncClient:
    """A client that says who it is."""
    given = headers if who is None else {WHO: who, **headers}
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE, headers=given)


def error_of(response: httpx.Response) -> tuple[int, str]:
    """Status and code of an error, after a look at its form."""
    body = response.json()
    optional = {
        "ERROR_CRON_SYNTAX": {"instead"},
        "ERROR_JOB_QUERY": {"position", "length"},
    }.get(body.get("error"), set[str]())
    assert body.keys() - optional - {"sentence"} == {"error", "detail"}
    return response.status_code, body["error"]
