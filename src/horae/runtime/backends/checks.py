"""Checks, when a node starts, that each backend that the application names can be used."""

from collections.abc import Mapping
from functools import partial

from horae.domain.jobs import OWN_BACKEND
from horae.errors import ConfigurationError
from horae.quoting import quoted
from horae.runtime.components import Components
from horae.storage.queues import queue_backends
from horae.types import Registry, Routes


def check_backends(components: Components) -> None:
    """Raise `ConfigurationError` for a backend that is not set up, or that two deployments set up
    differently.

    Nothing is sent before this has passed.
    """
    check_routes(components)
    named = components.registry.queue_backends
    if not named:
        return
    stored = components.database.transact(partial(queue_backends.name_backends, backends=named))
    differing = [
        f"queue {quoted(queue)}: this application names the backend {quoted(named[queue])}, and"
        f" another deployment has named {quoted(backend)}; use one of them in both, or change the"
        f" stored one with `horae queues backend {queue} {named[queue]}`"
        for queue, backend in sorted(stored.items())
        if named[queue] != backend
    ]
    if differing:
        raise ConfigurationError("; ".join(differing))


def check_routes(components: Components) -> None:
    """Raise `ConfigurationError` for a backend that cannot be used; the database is not asked."""
    registry = components.registry
    check_limits(registry, registry.queue_backends)
    for name in sorted(Routes(registry, registry.queue_backends).backends):
        backend = registry.backends.get(name)
        if backend is None:
            users = [
                f"job type {quoted(kind.type)}"
                for kind in registry
                if kind.address is not None and kind.address.backend == name
            ] + [
                f"queue {quoted(queue)}"
                for queue, text in registry.queue_backends.items()
                if text != OWN_BACKEND
            ]
            raise ConfigurationError(
                f"{users[0]}{' and others' if len(users) > 1 else ''} has backend {quoted(name)},"
                f" but no such application is set up: {_ADVICE}"
            )
        backend.check()


def check_limits(registry: Registry, queue_backends: Mapping[str, str]) -> None:
    """Raise `ConfigurationError` for limits by key or fair queues of jobs that a backend runs.

    Only Horae's nodes claim jobs under such limits, so these would never start.
    """
    foreign = {queue: text for queue, text in queue_backends.items() if text != OWN_BACKEND}
    with_lanes = {
        name for name, queue in registry.queues.items() if queue.fair_by is not None or queue.limits
    }
    for queue in sorted(with_lanes & foreign.keys()):
        raise ConfigurationError(
            f"queue {quoted(queue)} declares {_LIMITS}, and has backend {quoted(foreign[queue])}"
        )
    for kind in registry:
        if kind.named_limits and kind.queue in foreign:
            which = f"its queue {quoted(kind.queue)} has backend {quoted(foreign[kind.queue])}"
            raise ConfigurationError(
                f"job type {quoted(kind.type)} declares {_LIMITS}, and {which}"
            )
        if kind.address is not None and kind.queue in with_lanes:
            which = f"its queue {quoted(kind.queue)} declares {_LIMITS}"
            raise ConfigurationError(
                f"job type {quoted(kind.type)} has backend {quoted(kind.backend)}, and {which}"
            )


_LIMITS = "limits by key or turns, which hold only for jobs that Horae's nodes run"
_ADVICE = (
    "call horae.contrib.celery.setup(celery_app, horae) in the module that makes the application"
)
