"""What Horae adds to a Celery worker: a node in its main process, and one in each of its children.

The first one sends messages, fires schedules and rescues the jobs of killed workers. The others are
made by the first job, and hold the leases of the jobs that run there.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from horae.contrib.celery.broker import RUN_JOB, queue_of
from horae.contrib.celery.library import celery_module
from horae.contrib.celery.main_node import MainNode
from horae.contrib.celery.message_node import MAIN_THREAD, OWN_PROCESS, MessageNode
from horae.contrib.celery.workarounds import forget_ended_timers, late_request
from horae.domain.jobs import CELERY, BackendAddress, JobId
from horae.domain.storable import LARGEST_ID
from horae.errors import DatabaseReadOnly, HoraeError
from horae.forking import ForkSafeLock
from horae.guarded_log import guarded_log
from horae.quoting import quoted
from horae.runtime.backends import check_backends
from horae.runtime.throttled_warning import ThrottledWarning
from horae.storage.engine import DATABASE_ERRORS, is_transient
from horae.types import Routes

if TYPE_CHECKING:
    from horae.app import Horae
    from horae.runtime.components import NodeKeywords

PLACES: Final[Mapping[str, str | None]] = {
    "celery.concurrency.prefork": OWN_PROCESS,
    "celery.concurrency.solo": MAIN_THREAD,
    "celery.concurrency.thread": None,
}
"""The place where jobs run, by the module of the pool; see `MessageNode`.

Other pools replace the threads that Horae needs.
"""
RESERVES_ALL: Final = (
    "horae: worker_prefetch_multiplier is 0, so this worker would reserve the messages about all"
    " waiting jobs, and those that are sent again for free workers; set it to 1 or more, or have"
    " this worker take other queues (-Q)"
)

log = guarded_log("horae.celery")


class WorkerProcesses:
    """The nodes of a Celery worker: one in its main process, one in each forked process."""

    def __init__(self, app: Any, horae: "Horae", options: "NodeKeywords") -> None:
        """`options`: the options of the main process's node."""
        self._app, self._horae, self._options = app, horae, options
        self._making = ForkSafeLock()
        self._main_pid: int | None = None
        self._takes_all, self._excluded = True, frozenset[str]()
        self._place: str | None = OWN_PROCESS
        self._runs: tuple[int, MessageNode] | None = None
        self._main: MainNode | None = None
        self._unavailable = ThrottledWarning()

    def run_job(self, *arguments: object, **named: object) -> None:
        """Run a job in this process, if it is to be run and the database is available.

        If the database is unavailable, another message follows. Anybody who can write to the broker
        chooses the arguments of the message, which should be the id of the job.
        """
        match arguments:
            case [int() as number] if (
                not isinstance(number, bool) and 0 < number <= LARGEST_ID and not named
            ):
                job_id = JobId(number)
            case _:
                given = ", ".join(
                    [*map(quoted, arguments[:1]), *(["…"] if arguments[1:] or named else [])]
                )
                log.warning(
                    "a message for %s is dropped: expected the id of a job, got (%s)",
                    RUN_JOB,
                    given,
                )
                return
        try:
            self._node().run_job(job_id)
        except DATABASE_ERRORS as error:
            if not is_transient(error):
                raise
            self._unavailable.warn(
                "job %d cannot be claimed now, and gets another message later: %s", job_id, error
            )

    def read_options(self, instance: Any, options: Mapping[str, Any], **_: Any) -> None:
        """Note which queues a worker of this application was told to take, or to leave to
        others.
        """
        if instance.app is not self._app:
            return
        as_list = celery_module("celery.utils.text").str_to_list
        self._takes_all = not options.get("queues")
        self._excluded = frozenset(as_list(options.get("exclude_queues")) or ())

    def prepare(self, worker: Any) -> None:
        """Check that the worker can run jobs, before it starts; otherwise end it."""
        pool = worker.pool_cls.__module__
        if pool not in PLACES:
            raise SystemExit(
                f"horae: jobs cannot run in the pool {pool}; start the worker with -P prefork or"
                " threads"
            )
        self._main_pid = os.getpid()
        self._place = PLACES[pool]
        worker.app.tasks[RUN_JOB].Request = late_request(worker)
        try:
            check_backends(self._horae.components)
        except DatabaseReadOnly as error:  # the node checks them when it starts
            log.warning("the backends cannot be checked yet: %s", error)
        except HoraeError as error:
            raise SystemExit(f"horae: {error}") from error
        if self._takes_all:
            for name in sorted(self._destinations - self._excluded):
                worker.app.amqp.queues.select_add(queue_of(worker.app, name))
        if (
            not worker.prefetch_multiplier
            and self._destinations & worker.app.amqp.queues.consume_from.keys()
        ):
            raise SystemExit(RESERVES_ALL)

    @property
    def _destinations(self) -> set[str]:
        routes = Routes(self._horae.registry, self._horae.settings.queue_backends)
        usual = self._horae.registry.backends[CELERY].usual_destination
        return {
            usual,
            *(destination for backend, destination in routes.destinations if backend == CELERY),
        }

    def start(self, worker: Any) -> None:
        """Start the node of the main process."""
        usual: NodeKeywords = {"name": str(worker.hostname)[:200], "grace": timedelta(0)}
        # A pool that grows and shrinks may have as many processes as the worker was given.
        slots = max(worker.pool.limit or 1, worker.max_concurrency or 1)
        consumed = sorted(worker.app.amqp.queues.consume_from)
        served = [str(BackendAddress(CELERY, name)) for name in consumed]
        if self._horae.registry.backends[CELERY].usual_destination in consumed:
            served.insert(0, CELERY)
        fixed: NodeKeywords = {
            "worker": False,
            "backend_worker": True,
            "concurrency": slots,
            "queues": tuple(served),
        }
        options: NodeKeywords = {**usual, **self._options, **fixed}
        main = MainNode(lambda: self._horae.node(**options).running())
        try:
            main.start()
        except (HoraeError, ExceptionGroup, *DATABASE_ERRORS) as error:
            raise SystemExit(f"horae: the node of this worker cannot start: {error}") from error
        self._main = main

    def stop(self) -> None:
        """Stop the node of the main process; Celery stops the pool next."""
        main, self._main = self._main, None
        if main is not None:
            main.stop()

    def leave(self, **_: Any) -> None:
        """Unregister the node of this process that runs jobs, if there is one."""
        with self._making:
            made, self._runs = self._runs, None
        if made is not None and made[0] == os.getpid():
            with suppress(Exception):  # other nodes notice that the process has ended
                made[1].close()

    def _node(self) -> MessageNode:
        """Return the node of this process that runs jobs; a forked process needs one of its own."""
        pid = os.getpid()
        with self._making:
            if self._runs is None or self._runs[0] != pid:
                place = self._place if pid == self._main_pid else OWN_PROCESS
                self._runs = pid, MessageNode(self._horae.components, place)
            return self._runs[1]


def install(app: Any, processes: WorkerProcesses) -> None:
    """Let the workers of a Celery application start and stop the nodes."""
    bootsteps = celery_module("celery.bootsteps")

    members = {
        "requires": {"celery.worker.components:Pool"},
        "create": lambda _step, worker: processes.prepare(worker),
        "start": lambda _step, worker: processes.start(worker),
        "stop": lambda _step, _worker: processes.stop(),
        "terminate": lambda _step, _worker: processes.stop(),
        "register_with_event_loop": lambda _step, _worker, hub: forget_ended_timers(hub),
    }
    app.steps["worker"].add(type("HoraeStep", (bootsteps.StartStopStep,), members))

    signals = celery_module("celery.signals")
    signals.celeryd_init.connect(processes.read_options, weak=False)
    for signal in (signals.worker_process_shutdown, signals.worker_shutdown):
        signal.connect(processes.leave, weak=False)
