"""A temporary database on which a job is started, run, killed, rescued and run again."""

import asyncio
import inspect
import shutil
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any, Final, cast

from typing_extensions import override

from horae.app import Horae
from horae.domain.backoff import Backoff
from horae.domain.jobs import Claim, JobId, JobState, NodeId
from horae.errors import HoraeError
from horae.runtime.bodies import FinishedRun, RunEnvironment, perform, perform_async
from horae.runtime.liveness import Rescuer
from horae.storage.engine import Database, watched_statements
from horae.storage.engine.sqlite import copy_after_crash
from horae.storage.jobs import claims
from horae.storage.outcomes import settling
from horae.testing.crash_points import Tracer
from horae.testing.databases import empty_file, settings_replaced
from horae.types import Attempt, JobType

Callback = Callable[..., Any]
NODE: Final = NodeId("node-that-is-killed")
MOST_ATTEMPTS: Final = 100
"""Number of attempts after which a job that snoozes each time is given up."""
AT_ONCE: Final = Backoff(base=timedelta(0), jitter=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The job to run and how to look at its effects.

    `application`: the application whose database is replaced, if any.
    """

    job_type: JobType[Any]
    params: Mapping[str, Any]
    effects: Callback
    prepare: Callback | None
    application: Horae | None
    timeout: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effects of a run and of its repetitions; `error`: why the job has not finished."""

    effects: Any
    error: str | None


@contextmanager
def _application(scenario: Scenario, file: Path) -> Generator[Horae]:
    """Yield the application on a database file: the given one, or one with this job alone."""
    changes: dict[str, Any] = {"database": f"sqlite:///{file}", "hints": False}
    horae = scenario.application
    if horae is None:
        horae = Horae(**changes)
        horae.add_type(scenario.job_type)
    with settings_replaced(horae, changes):
        yield horae


def run_once(scenario: Scenario, folder: Path, tracer: Tracer) -> Outcome:
    """Start the job on a fresh database, perhaps kill it, and run it until it has ended."""
    file = folder / f"run-{tracer.kill_at or 0}.db"  # a killed body keeps its lock on the file
    shutil.copy(empty_file(), file)
    with _application(scenario, file) as horae:
        if scenario.prepare is not None:
            _call(horae, scenario.prepare)
        start = cast("Callable[..., Any]", horae.jobs.start)
        # A job with a single attempt is run again as well.
        attempts = max(scenario.job_type.max_attempts, 5)
        job = start(
            scenario.job_type.type, max_attempts=attempts, backoff=AT_ONCE, **scenario.params
        )
        job_id = JobId(job.id)
        _attempt(scenario, horae, job_id, tracer)
        if not tracer.killed:
            return _run_to_end(scenario, horae, job_id)
        survivor = folder / f"after-{tracer.kill_at}.db"
        copy_after_crash(file, survivor)
    with _application(scenario, survivor) as horae:
        rescuer = Rescuer(horae.registry, Random(0))
        horae.components.database.transact(rescuer.rescue, [NODE])
        return _run_to_end(scenario, horae, job_id)


def _run_to_end(scenario: Scenario, horae: Horae, job_id: JobId) -> Outcome:
    """Run what is left of the job, and return its effects."""
    for _ in range(MOST_ATTEMPTS):
        if horae.jobs.get(job_id).state is not JobState.PENDING:
            break
        _attempt(scenario, horae, job_id, Tracer(own_file=""))
    job = horae.jobs.get(job_id)
    error = None if job.state is JobState.FINISHED else f"it is {job.state}: {job.error}"
    return Outcome(_call(horae, scenario.effects), error)


def _call(horae: Horae, callback: Callback) -> Any:
    """Call a function of the user, with a connection if it takes an argument."""
    needed = (
        each
        for each in inspect.signature(callback).parameters.values()
        if each.default is each.empty
    )
    if any(each.kind in {each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD} for each in needed):
        return horae.components.database.transact(callback)
    return callback()


def _attempt(scenario: Scenario, horae: Horae, job_id: JobId, tracer: Tracer) -> None:
    """Run one attempt on a thread until it ends or is killed; raises `HoraeError` if neither."""
    claim = horae.components.database.autocommit(claims.claim_one, job_id, NODE)
    if claim is None:
        raise HoraeError(f"job {job_id} cannot be run again")
    thread = threading.Thread(
        target=_run, args=(scenario, horae, claim, tracer), name="crash-test", daemon=True
    )
    database = horae.components.database
    with watched_statements(
        tracer.statement, tracer.commit, (database.engine, database.autocommit_engine)
    ):
        thread.start()
        stopped = tracer.stopped.wait(scenario.timeout)
    if not stopped:
        raise HoraeError(
            f"the body of {scenario.job_type.type!r} has not ended within {scenario.timeout:g} s"
        )
    if tracer.failure is not None:
        raise tracer.failure


def _run(scenario: Scenario, horae: Horae, claim: Claim, tracer: Tracer) -> None:
    database = horae.components.database
    environment = RunEnvironment(database, NODE, around=horae.hooks.around)
    attempt = _TracedAttempt(claim, scenario.job_type, tracer)
    try:
        tracer.begin()
        if scenario.job_type.is_async:

            async def perform_and_close() -> FinishedRun:
                try:
                    return await perform_async(attempt, environment)
                finally:
                    await database.close_async()

            finished = asyncio.run(perform_and_close())
        else:
            finished = perform(attempt, environment)
        tracer.end(
            "before its end is written"
            if finished.settlement is not None
            else "after its end was committed"
        )
        _settle(database, finished)
    except BaseException as error:  # noqa: BLE001 - raised where the attempt was started
        tracer.failure = error
    finally:
        tracer.stopped.set()


def _settle(database: Database, finished: FinishedRun) -> None:
    if finished.unbegun:
        raise HoraeError(f"the body cannot begin: {finished.error}") from finished.error
    if finished.settlement is not None:
        database.transact(settling.settle, NODE, [finished.settlement._replace(delay=0.0)])


class _TracedAttempt(Attempt):
    """An attempt whose progress calls are points, and the waits of its coroutine."""

    def __init__(self, claim: Claim, job_type: JobType[Any], tracer: Tracer) -> None:
        if job_type.is_async:
            body = "run" if job_type.batch is None else "run_batch"
            run, job_type = getattr(job_type, body), copy(job_type)
            vars(job_type)[body] = lambda context: tracer.trace(run(context))
        # Progress is shown to nobody.
        super().__init__(claim, job_type, lambda _percentage, _label: None)
        self._tracer = tracer

    @override
    def check(self) -> None:
        self._tracer.progress()
        super().check()
