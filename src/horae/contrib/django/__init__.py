"""Horae in a Django project: one application, on Django's database, settings and transactions.

Invariants: a call within `transaction.atomic` on the alias of Horae's database is part of that
transaction, on the same connection; a body declared with `transaction="django"` commits its writes
exactly with its job; processes of nodes set Django up themselves.

A project uses `horae`; `asgi_with_horae` and `wsgi_with_horae` mount the API and the dashboard.
"""

from importlib.util import find_spec

from horae.errors import ConfigurationError

if find_spec("django") is None:
    raise ConfigurationError("Django is not installed: pip install 'horae[django]'")

from horae.contrib.django.application import DjangoHorae, horae, set_up

__all__ = ["DjangoHorae", "horae"]

set_up()
