"""Connects a Celery application with an application of Horae."""

from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from horae.contrib.celery.broker import RUN_JOB, CeleryBackend
from horae.contrib.celery.library import celery_module
from horae.contrib.celery.worker import WorkerProcesses, install
from horae.domain.jobs import CELERY
from horae.errors import ConfigurationError
from horae.types import of_kind

if TYPE_CHECKING:
    from horae.app import Horae
    from horae.runtime.components import NodeKeywords


def setup(celery_app: Any, horae: "Horae", **options: "Unpack[NodeKeywords]") -> None:
    """Let Celery's workers run jobs, and send them the jobs whose backend is `celery`.

    Call it once, in the module that makes the applications, which the Celery workers import as
    well. `options`: the options of the node in the main process of each worker, as `Horae.node`
    takes them. This node fires schedules in place of Celery's beat, unless `scheduler=False`.
    Raises `ConfigurationError`.
    """
    celery = celery_module("celery")
    of_kind("celery_app", celery_app, celery.Celery, "a Celery application")
    if CELERY in horae.registry.backends:
        raise ConfigurationError("a Celery application is set up already; call setup once")
    horae.registry.backends[CELERY] = CeleryBackend(celery_app, horae.settings.celery_queue)
    processes = WorkerProcesses(celery_app, horae, options)
    install(celery_app, processes)
    # Each message may be about another type of job, so a default rate limit would slow down all
    # types together.
    fixed = {
        "ignore_result": True,
        "acks_late": False,
        "rate_limit": 0,
        "shared": False,
        "typing": False,
    }
    celery_app.task(processes.run_job, name=RUN_JOB, **fixed)
