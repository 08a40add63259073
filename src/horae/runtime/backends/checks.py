"""Checks, when a node starts, that each backend that the application names can be served."""

from collections.abc import Mapping
from functools import partial

from horae.domain.jobs.backend import OWN_BACKEND
from horae.errors import ConfigurationError, quoted
from horae.runtime.components import Components
from horae.storage.operations import queues
from horae.types.routes import Routes


def check_backends(components: Components) -> None:
    """Raise `ConfigurationError` for a backend that is not set up, or that contradicts the one of another deployment.

    Nothing is sent before this has passed.
    """
    check_routes(components)
    named = components.queue_backends
    if not named:
        return
    stored = components.database.transact(partial(queues.name_backends, backends=named))
    if differing := {queue: backend for queue, backend in stored.items() if named[queue] != backend}:
        raise ConfigurationError("; ".join(_difference(named, *item) for item in sorted(differing.items())))


def check_routes(components: Components) -> None:
    """Raise `ConfigurationError` for a system that was not set up or cannot be used; without the database."""
    registry = components.registry
    for system in sorted(Routes(registry, components.queue_backends).systems):
        backend = registry.backends.get(system)
        if backend is None:
            raise ConfigurationError(f"{_users(components, system)}, but no such application is set up: {_ADVICE}")
        backend.check()


_ADVICE = "call horae.contrib.celery.setup(celery_app, horae) in the module that makes the application"


def _users(components: Components, system: str) -> str:
    """Return which job types and queues name a system."""
    types = [kind.type for kind in components.registry if kind.address is not None and kind.address.system == system]
    names = [queue for queue, text in components.queue_backends.items() if text != OWN_BACKEND]
    named = [*(f"job type {quoted(name)}" for name in types), *(f"queue {quoted(name)}" for name in names)]
    return f"{named[0]}{' and others' if len(named) > 1 else ''} has backend {quoted(system)}"


def _difference(named: Mapping[str, str], queue: str, stored: str) -> str:
    return (
        f"queue {quoted(queue)}: this application names the backend {quoted(named[queue])}, and another deployment has "
        f"named {quoted(stored)}; use one of them in both, or change the stored one with "
        f"`horae queues backend {queue} {named[queue]}`"
    )
