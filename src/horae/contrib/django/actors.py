"""Who a user of Django is to Horae: the owner of jobs, and what the user may see and change.

An anonymous or inactive user is nobody. Staff of Django sees and changes everything; a user with
the permission `horae.view_dashboard` sees everything; any other user has the own jobs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib import auth
from django.db import close_old_connections
from django.http import HttpRequest

from horae.api.security.actor import Actor, Role

if TYPE_CHECKING:
    from starlette.requests import Request

VIEW: Final = "horae.view_dashboard"
"""The permission to see the jobs of others, and what runs them."""


def owner_of(user: Any) -> str | None:
    """Return the owner of the jobs of a user, such as `request.user`: the primary key as a text.

    None for an anonymous or inactive user, who owns no jobs.
    """
    return str(user.pk) if user.is_authenticated and user.is_active else None


def actor_of(user: Any) -> Actor | None:
    """Return the user as the HTTP API knows it; None for an anonymous or inactive one."""
    owner = owner_of(user)
    if owner is None:
        return None
    roles = {Role.OWNER}
    if user.is_staff:
        roles.add(Role.STAFF)
    elif user.has_perm(VIEW):
        roles.add(Role.READ_ONLY)
    return Actor(owner, frozenset(roles))


async def actor_of_session(request: "Request") -> Actor | None:
    """Identify the user of a request by the cookie of Django's session."""
    key = request.cookies.get(settings.SESSION_COOKIE_NAME)
    if not key:
        return None
    return await sync_to_async(_actor_of_key, thread_sensitive=False)(key)


def _actor_of_key(key: str) -> Actor | None:
    close_old_connections()
    try:
        request = HttpRequest()
        request.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
        # Django gives a session a new key after its secret was replaced. The cookie with that key
        # comes from a view of the project; here the old one stays.
        vars(request.session)["cycle_key"] = lambda: None
        return actor_of(auth.get_user(request))
    finally:
        close_old_connections()
