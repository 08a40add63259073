"""The check of the backends, such as Celery. Without one, nothing is checked."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from horae.client.doctor.finding import Finding, ok, problem, warning
from horae.errors import ConfigurationError
from horae.quoting import quoted
from horae.sentences import counted
from horae.storage.engine import Database
from horae.storage.jobs import dispatching
from horae.types import Destination, Registry, Routes

TAKEN_WITHIN: Final = 60.0
"""Seconds within which a worker should take a message."""


def backend_findings(
    registry: Registry, queue_backends: Mapping[str, str], database: Database
) -> Iterator[Finding]:
    """Check that each backend is set up, its broker answers, and its workers take the messages."""
    routes = Routes(registry, queue_backends)
    numbers, oldest = Counter[Destination](), dict[Destination, float]()
    for sent in database.autocommit(dispatching.sent_jobs):
        destination = routes.find(sent.type, sent.queue) or ("a backend", sent.queue)
        numbers[destination] += sent.number
        oldest[destination] = max(oldest.get(destination, 0.0), sent.oldest)
    for job_type, queue, number in database.autocommit(dispatching.held_in_lanes, routes.scope):
        yield problem(
            "limits",
            f"{counted(number, 'job')} of type {quoted(job_type)} in queue {quoted(queue)} cannot"
            " start: a backend runs them, and limits by key and turns hold only for jobs that"
            " Horae's nodes run",
            f"If the queue has them, remove them (`horae queues fair {queue} --by none`, `horae"
            f" queues limit {queue} --rate none`); if the job type has them, cancel the jobs and"
            " start them in another queue.",
        )
    for destination in sorted({*routes.destinations, *numbers}):
        backend, queue = destination
        late = None
        if oldest.get(destination, 0.0) >= TAKEN_WITHIN:
            late = warning(
                backend,
                f"no worker has taken {counted(numbers[destination], 'message')} in queue {queue},"
                f" the oldest sent {oldest[destination]:.0f} s ago",
                f"Start workers that take this queue, such as `celery -A module worker -Q {queue}`,"
                " or more of them.",
            )
        if backend in registry.backends:
            yield _broker_finding(registry, destination, late)
        elif late is not None:
            yield late


def _broker_finding(registry: Registry, destination: Destination, late: Finding | None) -> Finding:
    """Return what is wrong with one queue of a backend: its configuration, its broker, or its
    workers.

    `late` is the finding about messages that are taken too late.
    """
    name, queue = destination
    backend = registry.backends[name]
    try:
        backend.check()
        waiting = backend.depth(queue)
    except ConfigurationError as error:
        return problem(
            name,
            f"{error}",
            "Nodes and workers refuse to start with this; jobs wait, and none is lost.",
        )
    except Exception as error:  # noqa: BLE001 - each transport has errors of its own
        return problem(
            name,
            f"the broker does not answer for queue {queue}: {error}; jobs wait until it does,"
            " and none is lost",
            "Check the URL of the broker, its server, the password and the network.",
        )
    return late or ok(name, f"queue {queue} answers; {counted(waiting, 'message')} in it")
