"""Which backend runs the jobs of queues: Horae's nodes, or Celery, which obeys no limits by key."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from sqlalchemy import Connection, bindparam, func, null, select, union_all

from horae.domain.jobs import OWN_BACKEND, JobState
from horae.errors import ConfigurationError
from horae.quoting import quoted
from horae.storage.engine import member_of
from horae.storage.jobs import HAS_LANES, jobs, queues
from horae.storage.queues.queues import check_lanes, put
from horae.storage.schedules import schedules

_backend: dict[str, Any] = {"backend": bindparam("backend")}
NAME_BACKEND: Final = put(
    _backend, {"backend": func.coalesce(queues.c.backend, bindparam("backend"))}
)
SET_BACKEND: Final = put(_backend, _backend)
BACKENDS: Final = select(queues.c.name, queues.c.backend).where(
    member_of(queues.c.name, "names"), queues.c.backend.is_not(None)
)
_schedule = select(schedules.c.queue, schedules.c.job_type, schedules.c.name)
_pending = select(jobs.c.queue, jobs.c.type, null()).where(jobs.c.state == JobState.PENDING)
LIMITED: Final = union_all(
    _schedule.where(member_of(schedules.c.queue, "names"), schedules.c.limits.is_not(None)),
    _pending.where(member_of(jobs.c.queue, "names"), jobs.c.limits.is_not(None)),
).limit(1)
"""A schedule, or a pending job, with limits of its type in one of these queues."""
_lanes = select(queues.c.name).where(member_of(queues.c.name, "names"), HAS_LANES)
WITH_LANES: Final = union_all(
    _schedule.where(schedules.c.queue.in_(_lanes), member_of(schedules.c.job_type, "types")),
    _pending.where(jobs.c.queue.in_(_lanes), member_of(jobs.c.type, "types")),
).limit(1)
"""A schedule or pending job of these types in one of these queues that has lanes."""


def name_backends(connection: Connection, backends: Mapping[str, str]) -> dict[str, str]:
    """Store the backends of queues that have none yet; return the stored one of each queue."""
    before = _read_backends(connection, backends)
    for name, backend in sorted(backends.items()):
        connection.execute(NAME_BACKEND, {"name": name, "backend": backend})
    check_lanes(connection, backends)
    _check_limited(
        connection, {name: text for name, text in backends.items() if name not in before}
    )
    return _read_backends(connection, backends)


def set_backend(connection: Connection, name: str, backend: str) -> None:
    """Store what runs the jobs of a queue, whatever was stored before."""
    connection.execute(SET_BACKEND, {"name": name, "backend": backend})
    check_lanes(connection, [name])
    _check_limited(connection, {name: backend})


def check_backend_types(
    connection: Connection, names: Collection[str], types: Collection[str]
) -> None:
    """Raise `ConfigurationError` if jobs of these types could never start in these queues.

    A backend runs these types. That is so if one of the queues, as just changed, has limits by key
    or turns, and a schedule or a job names it.
    """
    if not (names and types):
        return
    found = connection.execute(WITH_LANES, {"names": names, "types": types}).one_or_none()
    if found is not None:
        raise ConfigurationError(
            f"queue {quoted(found.queue)}: limits by key and turns hold only for jobs that Horae's"
            f" nodes run, but {_name(found)} in it is of job type {quoted(found.job_type)}, which"
            " a backend runs; move the schedules and cancel the jobs first, or limit the"
            " concurrency of the queue instead"
        )


def _name(found: Any) -> str:
    return "a pending job" if found.name is None else f"schedule {quoted(found.name)}"


def _read_backends(connection: Connection, names: Collection[str]) -> dict[str, str]:
    return {row.name: row.backend for row in connection.execute(BACKENDS, {"names": names})}


def _check_limited(connection: Connection, named: Mapping[str, str]) -> None:
    """Raise `ConfigurationError` if a backend's queue has jobs with limits of their type."""
    foreign = [name for name, backend in named.items() if backend != OWN_BACKEND]
    found = connection.execute(LIMITED, {"names": foreign}).one_or_none() if foreign else None
    if found is not None:
        raise ConfigurationError(
            f"queue {quoted(found.queue)}: {_name(found)} in it is of job type"
            f" {quoted(found.job_type)}, which has limits, and these hold only for jobs that"
            " Horae's nodes run; move the schedules and cancel the jobs first, or choose another"
            " queue"
        )
