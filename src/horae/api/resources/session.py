"""`/api/session/`: who one is; and for browsers, which cannot send a token with every request, a cookie."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, SecretStr
from starlette.requests import Request
from starlette.responses import Response

from horae.api.dependencies import Anybody, ServicesHere
from horae.api.problems import NotAuthenticated, Refused, documented
from horae.api.security.actor import Actor
from horae.api.security.authentication import COOKIE, BearerTokens

router = APIRouter(prefix="/api/session", tags=["session"])


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
async def who_am_i(actor: Anybody) -> Me:
    """Read who one is."""
    return _me(actor)


@router.post("/", responses=documented(400, 413))
async def log_in(request: Request, response: Response, services: ServicesHere, login: Login) -> Me:
    """Put the token into a cookie that no script can read. Only where the settings have tokens."""
    tokens = services.authenticate
    if not isinstance(tokens, BearerTokens):
        raise Refused("there are no tokens here to log in with", code="ERROR_NO_TOKENS")
    actor = tokens.find(login.token.get_secret_value())
    if actor is None:
        raise NotAuthenticated("this token is not known")
    response.set_cookie(
        COOKIE,
        login.token.get_secret_value(),
        path=_path(request),
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return _me(actor)


@router.delete("/", status_code=204, responses=documented())
async def log_out(request: Request, response: Response) -> None:
    """Take the cookie back; harmless without one."""
    response.delete_cookie(COOKIE, path=_path(request), httponly=True, samesite="strict")


def _path(request: Request) -> str:
    return f"{request.scope.get('root_path', '')}/"


def _me(actor: Actor) -> Me:
    return Me(
        id=actor.id,
        roles=sorted(actor.roles),
        sees_all=actor.sees_all,
        changes_all=actor.changes_all,
        changes_own=actor.changes_own,
    )
