"""Horae in a FastAPI or Starlette application.

Invariants: the owner of jobs is who the application's own dependency says; a task that was added to
`DurableBackgroundTasks` is a job before the response says that all is well, or the response is an
error.

An application uses `lifespan`, `mount`, `jobs_of`, `horae_of` and `DurableBackgroundTasks`.
"""

from importlib.util import find_spec

from horae.errors import ConfigurationError

if find_spec("fastapi") is None:
    raise ConfigurationError("FastAPI is not installed: pip install 'horae[web]'")

from horae.contrib.fastapi.actors import User, actor_from
from horae.contrib.fastapi.application import horae_of, lifespan, mount
from horae.contrib.fastapi.background_tasks import DurableBackgroundTasks, DurableTasks, tasks_of
from horae.contrib.fastapi.own_jobs import OwnJobs, jobs_of

__all__ = [
    "DurableBackgroundTasks",
    "DurableTasks",
    "OwnJobs",
    "User",
    "actor_from",
    "horae_of",
    "jobs_of",
    "lifespan",
    "mount",
    "tasks_of",
]
