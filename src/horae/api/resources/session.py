"""`/api/session/`: who one is; and for browsers, which cannot send a token with every request, a cookie."""

from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, SecretStr
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from horae.api.dependencies import Authenticated, ServicesHere
from horae.api.problems import NotAuthenticated, Refused, documented
from horae.api.security import sessions
from horae.api.security.actor import Actor
from horae.api.security.authentication import BuiltIn, address_of
from horae.api.security.sessions import Place

router = APIRouter(prefix="/api/session", tags=["session"])

Key = Annotated[str, Path(max_length=100)]


class Login(BaseModel):
    """A token of the settings."""

    model_config = ConfigDict(extra="forbid")

    token: SecretStr = Field(max_length=1000)


class Me(BaseModel):
    """Who one is, and what that means."""

    id: str
    roles: list[str]
    sees_all: bool = Field(description="Everybody's jobs, queues, nodes, the overview and the audit are shown.")
    changes_all: bool = Field(description="All of it may be changed.")
    changes_own: bool = Field(description="Jobs may be started, and one's own cancelled.")


@router.get("/", responses=documented())
async def who_am_i(actor: Authenticated) -> Me:
    """Read who one is."""
    return _me(actor)


@router.post("/", responses=documented(400, 413, 429))
async def log_in(request: Request, response: Response, services: ServicesHere, login: Login) -> Me:
    """Exchange a token for a session, in a cookie that no script can read. Only where the settings have tokens."""
    known_by = services.authenticate
    if not isinstance(known_by, BuiltIn) or not known_by.tokens:
        raise Refused("there are no tokens here to log in with", code="ERROR_NO_TOKENS")
    secret = login.token.get_secret_value()
    actor = known_by.find(secret)
    if actor is None:
        await known_by.brake.wrong(address_of(request))
        raise NotAuthenticated("this token is not known")
    place = Place.of(request)
    sessions.give(response, place, await known_by.begin(place, secret))
    return _me(actor)


@router.get("/link/{key}/", include_in_schema=False)
async def enter(request: Request, services: ServicesHere, key: Key) -> Response:
    """Exchange the link that the start has printed for a session, once, and go on to the dashboard."""
    known_by = services.authenticate
    fetched_ahead = "prefetch" in request.headers.get("sec-purpose", request.headers.get("purpose", ""))
    if fetched_ahead or not isinstance(known_by, BuiltIn) or not known_by.is_by_link or not known_by.link.spend(key):
        raise NotAuthenticated("this link is spent, or of an earlier start: start again for a new one")
    place = Place.of(request)
    response = RedirectResponse(place.path, 303)
    sessions.give(response, place, await known_by.begin(place))
    return response


@router.delete("/", status_code=204, responses=documented())
async def log_out(request: Request, response: Response, services: ServicesHere) -> None:
    """End the session and take the cookie back; harmless without one."""
    known_by = services.authenticate
    if isinstance(known_by, BuiltIn):
        await known_by.end(request)
    sessions.take_back(response, Place.of(request))


def _me(actor: Actor) -> Me:
    return Me(
        id=actor.id,
        roles=sorted(actor.roles),
        sees_all=actor.sees_all,
        changes_all=actor.changes_all,
        changes_own=actor.changes_own,
    )
