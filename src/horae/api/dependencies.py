"""What an endpoint asks for by its annotations: the services, and an actor who may."""

import inspect
import logging
from typing import Annotated

from fastapi import Depends
from starlette.requests import Request

from horae.api.problems import NotAuthenticated, PermissionDenied
from horae.api.security.actor import Actor
from horae.api.services import Services
from horae.errors import InvalidRequest

log = logging.getLogger("horae.api")


def services_of(request: Request) -> Services:
    """The services of the application that this request came to."""
    services: Services = request.app.state.services
    return services


ServicesHere = Annotated[Services, Depends(services_of)]


async def actor_of(request: Request, services: ServicesHere) -> Actor:
    """Who asks; raises `NotAuthenticated`, also where what the application found is no id that anybody can have."""
    try:
        found = services.authenticate(request)
        actor = await found if inspect.isawaitable(found) else found
    except InvalidRequest as error:
        log.warning("somebody asks whom the application names in a way that nobody can be named: %s", error)
        actor = None
    if actor is None:
        raise NotAuthenticated("say who you are: this is for known users only")
    request.state.actor = actor
    return actor


Anybody = Annotated[Actor, Depends(actor_of)]


def changer_of(actor: Anybody) -> Actor:
    """Somebody who may start jobs and change some; raises `PermissionDenied`."""
    if not actor.changes_own:
        raise PermissionDenied(f"{actor.id!r} may look, and change nothing")
    return actor


def onlooker_of(actor: Anybody) -> Actor:
    """Somebody who may see everything; raises `PermissionDenied`."""
    if not actor.sees_all:
        raise PermissionDenied("this is shown to staff")
    return actor


def staff_of(actor: Anybody) -> Actor:
    """Somebody who may change everything; raises `PermissionDenied`."""
    if not actor.changes_all:
        raise PermissionDenied("this is for staff to change")
    return actor


Changer = Annotated[Actor, Depends(changer_of)]
Onlooker = Annotated[Actor, Depends(onlooker_of)]
Staff = Annotated[Actor, Depends(staff_of)]
