"""`crash_everywhere`: kills a job at each point in turn, and compares its effects."""

import inspect
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from horae.app import Horae
from horae.errors import HoraeError
from horae.testing.crash_points import CrashPoint, Tracer
from horae.testing.report import BadCrash, CrashReport, compare
from horae.testing.scene import Scenario, run_once
from horae.types import FunctionJobType, JobFunction, JobType


def crash_everywhere(
    job: JobFunction[..., Any] | JobType[Any] | type[JobType[Any]],
    params: Mapping[str, Any] | None = None,
    *,
    effects: Callable[..., Any],
    prepare: Callable[..., object] | None = None,
    application: Horae | None = None,
    timeout: float = 30.0,
) -> CrashReport:
    """Run a job again and again, killed at another point each time, and report differing effects.

    A first run, undisturbed, finds the points: each SQL statement, commit, progress call and wait
    of a coroutine, and the end of the body. Then the job is run once for each of them. There its
    process seems to be killed: the body stops for good, without an exception, its open transaction
    is lost, and the job is rescued and run again until it ends.

    `effects` returns the effects that count, as a list or as a mapping to numbers, or any other
    value to be compared. `prepare` is called before each run, to create the job's tables and to
    forget earlier effects. Both are called with a connection to the temporary SQLite database if
    they take an argument. `application`: one that the body uses itself, for example to start other
    jobs; its database is replaced during the test. `timeout`: seconds for one attempt. Raises
    `HoraeError` if the job does not finish undisturbed.
    """
    job_type: JobType[Any]
    if isinstance(job, JobFunction):
        job_type = job.job_type
    else:
        job_type = job() if isinstance(job, type) else job
    # Its lines are the application's, wherever it is installed.
    body: Any = job_type.function if isinstance(job_type, FunctionJobType) else type(job_type)
    source = inspect.getsourcefile(body) or ""
    scenario = Scenario(
        job_type=job_type,
        params=params or {},
        effects=effects,
        prepare=prepare,
        application=application,
        timeout=timeout,
    )
    with tempfile.TemporaryDirectory(prefix="horae-crash-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        recording = Tracer(source)
        undisturbed = run_once(scenario, folder, recording)
        if undisturbed.error is not None:
            raise HoraeError(f"the job does not finish undisturbed: {undisturbed.error}")
        bad: list[BadCrash] = []
        not_reached: list[CrashPoint] = []
        for point in recording.points:
            tracer = Tracer(source, kill_at=point.number)
            outcome = run_once(scenario, folder, tracer)
            if not tracer.killed:
                not_reached.append(point)
            elif (
                problem := compare(point, undisturbed.effects, outcome.effects, outcome.error)
            ) is not None:
                bad.append(problem)
    return CrashReport(job_type.type, tuple(recording.points), tuple(bad), tuple(not_reached))
