"""The check of the other systems that run jobs, such as Celery. Without one, nothing is checked."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from horae.client.doctor.finding import Finding, counted, ok, problem, warning
from horae.errors import ConfigurationError
from horae.quoting import quoted
from horae.storage.engine.database import Database
from horae.storage.jobs import dispatching
from horae.types.registry import Registry
from horae.types.routes import Place, Routes

TAKEN_WITHIN: Final = 60.0
"""Seconds within which a worker should take a message."""


def check_other_systems(
    registry: Registry, queue_backends: Mapping[str, str], database: Database
) -> Iterator[Finding]:
    """Check that each system is set up, that its broker answers, and that its workers take the
    messages.
    """
    routes = Routes(registry, queue_backends)
    numbers, oldest = Counter[Place](), dict[Place, float]()
    for sent in database.autocommit(dispatching.sent_jobs):
        place = routes.place_of(sent.type, sent.queue) or ("another system", sent.queue)
        numbers[place] += sent.number
        oldest[place] = max(oldest.get(place, 0.0), sent.oldest)
    for job_type, queue, number in database.autocommit(dispatching.held_in_lanes, routes.scope):
        yield problem(
            "limits",
            f"{counted(number, 'job')} of type {quoted(job_type)} in queue {quoted(queue)} cannot"
            " start: another system runs them, and limits by key and turns hold only for jobs that"
            " Horae's nodes run",
            f"If the queue has them, remove them (`horae queues fair {queue} --by none`, `horae"
            f" queues limit {queue} --rate none`); if the job type has them, cancel the jobs and"
            " start them in another queue.",
        )
    for place in sorted({*routes.places, *numbers}):
        not_taken = oldest.get(place, 0.0) >= TAKEN_WITHIN
        late = _not_taken(place, numbers[place], oldest[place]) if not_taken else None
        yield from _of_place(registry, place, late)


def _of_place(registry: Registry, place: Place, late: Finding | None) -> Iterator[Finding]:
    """Check one queue of another system.

    `late`: what is wrong with its messages, if anything is.
    """
    system, destination = place
    backend = registry.backends.get(system)
    if backend is None:
        if late is not None:
            yield late
        return
    try:
        backend.check()
        waiting = backend.waiting(destination)
    except ConfigurationError as error:
        yield problem(
            system,
            f"{error}",
            "Nodes and workers refuse to start with this; jobs wait, and none is lost.",
        )
        return
    except Exception as error:  # noqa: BLE001 - each transport has errors of its own
        yield problem(
            system,
            f"the broker does not answer for queue {destination}: {error}; jobs wait until it does,"
            " and none is lost",
            "Check the URL of the broker, its server, the password and the network.",
        )
        return
    yield late or ok(system, f"queue {destination} answers; {counted(waiting, 'message')} in it")


def _not_taken(place: Place, number: int, oldest: float) -> Finding:
    system, destination = place
    return warning(
        system,
        f"no worker has taken {counted(number, 'message')} in queue {destination}, the oldest sent"
        f" {oldest:.0f} s ago",
        f"Start workers that take this queue, such as `celery -A module worker -Q {destination}`,"
        " or more of them.",
    )
