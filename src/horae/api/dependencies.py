"""Dependencies that endpoints declare by annotation: the services, and an actor with a role."""

import inspect
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from horae.api.models import V, without_values
from horae.api.problems import Misconfigured, NotAuthenticated, PermissionDenied
from horae.api.security.actor import Actor
from horae.api.security.channel import note_channel
from horae.api.services import Services
from horae.errors import InvalidRequest
from horae.guarded_log import guarded_log
from horae.sentences import SentenceCode

log = guarded_log("horae.api")


def services_of(request: Request) -> Services:
    """Return the services of the application that serves this request."""
    services: Services = request.app.state.services
    return services


ServicesHere = Annotated[Services, Depends(services_of)]


async def actor_of(request: Request, services: ServicesHere) -> Actor:
    """Identify the user.

    Raises `NotAuthenticated`, also if the application returns an invalid actor id, and
    `Misconfigured` if it returns something other than an actor.
    """
    try:
        found = services.authenticate(request)
        actor = await found if inspect.isawaitable(found) else found
    except InvalidRequest as error:
        log.warning(
            "request refused: the application's authenticate function returned an invalid"
            " actor: %s",
            error,
        )
        actor = None
    if actor is None:
        if services.custom_authenticate is None:
            raise NotAuthenticated("authentication required", SentenceCode.REFUSED_NOT_LOGGED_IN)
        raise NotAuthenticated(
            "log in to the application, which authenticates the users of Horae",
            SentenceCode.REFUSED_NOT_LOGGED_IN_THERE,
        )
    if not isinstance(actor, Actor):
        raise Misconfigured(
            f"the application's authenticate function returned a {type(actor).__qualname__},"
            " expected an Actor, or None for an unknown user"
        )
    request.state.actor = actor
    note_channel(request)
    return actor


Authenticated = Annotated[Actor, Depends(actor_of)]


def changer_of(actor: Authenticated) -> Actor:
    """Require an actor who may start jobs and change some; raises `PermissionDenied`."""
    if not actor.changes_own:
        raise PermissionDenied(
            f"{actor.id!r} has read-only access", SentenceCode.REFUSED_READ_ONLY, actor=actor.id
        )
    return actor


def reader_of(actor: Authenticated) -> Actor:
    """Require an actor who may see everything; raises `PermissionDenied`."""
    if not actor.sees_all:
        raise PermissionDenied("only staff may see this", SentenceCode.REFUSED_TO_OTHERS_THAN_STAFF)
    return actor


def staff_of(actor: Authenticated) -> Actor:
    """Require an actor who may change everything; raises `PermissionDenied`."""
    if not actor.changes_all:
        raise PermissionDenied(
            "only staff may change this", SentenceCode.REFUSED_TO_OTHERS_THAN_STAFF
        )
    return actor


def shown_to(actor: Actor, view: V) -> V:
    """Return what this actor may see of a view: a viewer sees neither parameters nor results."""
    return view if actor.sees_values else without_values(view, actor.sees_values_of)


Changer = Annotated[Actor, Depends(changer_of)]
Reader = Annotated[Actor, Depends(reader_of)]
Staff = Annotated[Actor, Depends(staff_of)]
