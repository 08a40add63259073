"""Horae in a Django project: one application, on Django's database, settings and transactions.

Invariants: a call within `transaction.atomic` on the alias of Horae's database is part of that
transaction, on the same connection; a body declared with `transaction="django"` commits its writes
exactly with its job; processes of nodes set Django up themselves.

A project uses `horae`, and `owner_of(request.user)` as the owner of jobs; `asgi_with_horae` and
`wsgi_with_horae` mount the API and the dashboard.
"""

from importlib.util import find_spec

from horae.errors import ConfigurationError

if find_spec("django") is None:
    raise ConfigurationError("Django is not installed: pip install 'horae[django]'")

from horae.contrib.django.actors import actor_of, owner_of
from horae.contrib.django.application import DjangoHorae, horae, set_up
from horae.contrib.django.mounting import asgi_with_horae, wsgi_with_horae

__all__ = [
    "DjangoHorae",
    "actor_of",
    "asgi_with_horae",
    "horae",
    "owner_of",
    "wsgi_with_horae",
]

set_up()
