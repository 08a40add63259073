"""`/api/session/`: the current user, and a session cookie for browsers, which cannot send a token
with each request.
"""

from typing import Annotated, Final

from fastapi import APIRouter, Path
from pydantic import BeforeValidator, Field, SecretStr
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from horae.api.dependencies import Authenticated, ServicesHere
from horae.api.models import RequestModel, View
from horae.api.problems import NotAuthenticated, Refused, document_errors
from horae.api.security.authentication import OF_LINK, BuiltIn, address_of
from horae.api.security.sessions import delete_cookie
from horae.api.security.tokens import digest_of
from horae.api.services import Services
from horae.sentences import SentenceCode

router = APIRouter(prefix="/api/session", tags=["session"])

Key = Annotated[str, Path(max_length=100)]
ASKS_FOR_CLICK: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Horae: log in</title>
<meta name="viewport" content="width=device-width"><meta name="robots" content="noindex"></head>
<body><h1>Horae</h1>
<form method="post"><p>This link works once, for one browser.</p>
<p><button autofocus>Log in with this browser</button></p></form>
</body></html>
"""


class Login(RequestModel):
    """A token from the settings."""

    token: SecretStr = Field(max_length=1000)


class Me(View):
    """The current user, with roles and permissions."""

    id: str
    roles: Annotated[list[str], BeforeValidator(sorted)]
    sees_all: bool = Field(
        description=(
            "May see the jobs of all owners, schedules, queues, nodes, the overview and the audit"
            " log."
        )
    )
    sees_values: bool = Field(
        description="May see the parameters, results and technical errors of all jobs."
    )
    changes_all: bool = Field(description="May change all of these.")
    changes_own: bool = Field(description="May start jobs, and cancel those it owns.")


@router.get("/")
async def who_am_i(actor: Authenticated) -> Me:
    """Read the current user."""
    return Me.model_validate(actor)


@router.post("/", responses=document_errors(429))
async def log_in(request: Request, response: Response, services: ServicesHere, login: Login) -> Me:
    """Exchange a token for a session, in a cookie that scripts cannot read.

    Only if the settings have tokens.
    """
    built_in = services.authenticate
    if not isinstance(built_in, BuiltIn) or not built_in.tokens:
        raise Refused(
            "log-in by token is not set up; see HORAE_TOKENS",
            SentenceCode.REFUSED_NO_TOKENS,
            code="ERROR_NO_TOKENS",
        )
    secret = login.token.get_secret_value()
    actor = built_in.find(secret)
    if actor is None:
        await built_in.throttle.wrong(address_of(request))
        raise NotAuthenticated("unknown token", SentenceCode.REFUSED_TOKEN_UNKNOWN)
    await built_in.sessions.begin(request, response, digest_of(secret).hex())
    return Me.model_validate(actor)


@router.get("/link/{key}/", include_in_schema=False)
async def show_link(services: ServicesHere, key: Key) -> Response:
    """Ask for a click: a program that previews links, as chats do, must not use this one up."""
    if not _built_in(services).link.is_valid(key):
        raise _spent()
    return HTMLResponse(ASKS_FOR_CLICK, headers={"cache-control": "no-store"})


@router.post("/link/{key}/", include_in_schema=False)
async def enter(request: Request, services: ServicesHere, key: Key) -> Response:
    """Exchange the login link, which works once, for a session, and redirect to the dashboard."""
    built_in = _built_in(services)
    if not built_in.link.spend(key):
        raise _spent()
    response = RedirectResponse(f"{request.scope.get('root_path', '')}/", 303)
    await built_in.sessions.begin(request, response, OF_LINK)
    return response


@router.delete("/", status_code=204)
async def log_out(request: Request, response: Response, services: ServicesHere) -> None:
    """End the session and delete the cookie. Idempotent."""
    built_in = services.authenticate
    if isinstance(built_in, BuiltIn):
        await built_in.sessions.end(request)
    delete_cookie(request, response)


def _built_in(services: Services) -> BuiltIn:
    """Return what knows the login link; raises `NotAuthenticated` if there is none."""
    built_in = services.authenticate
    if not isinstance(built_in, BuiltIn) or not built_in.is_by_link:
        raise _spent()
    return built_in


def _spent() -> NotAuthenticated:
    return NotAuthenticated(
        "this link was used already, or is from an earlier start; start again for a new one"
    )
