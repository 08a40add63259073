"""The rules of jobs, checked by the tables and by what the bodies logged."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from tests.checker.body_log import Body, BodyLog
from tests.checker.settings import Settings
from tests.checker.tables import Attempt, Job, Tables, shown

ENDED: Final = frozenset({"finished", "failed", "cancelled"})
UNCOUNTED: Final = frozenset({"snoozed", "interrupted"})
"""Outcomes of attempts that do not count: the job is tried again under the same number."""


def lost(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """No job is lost: each created job has a row, and each has ended."""
    if settings.kept:
        for job_id in sorted(log.jobs("created") - tables.jobs.keys()):
            yield f"job {job_id} was created, but has no row"
        for job_id in sorted(tables.attempts.keys() - tables.jobs.keys()):
            yield f"job {job_id} has attempts, but no row"
    if not settings.over:
        return
    for job in tables.jobs.values():
        if job.state not in ENDED:
            yield f"{job} was never ended: it is {job.state}"
        elif job.node_id is not None:
            yield f"{job} has ended, but node {job.node_id} never released it"


def finished_twice(tables: Tables, _log: BodyLog, _settings: Settings) -> Iterator[str]:
    """No job finishes twice, and none changes after it has finished."""
    for job in tables.jobs.values():
        finished = [each for each in tables.attempts[job.id] if each.outcome == "finished"]
        if len(finished) > 1:
            yield f"{job} finished {len(finished)} times, with leases {_leases(finished)}"
        later = [
            each for each in tables.attempts[job.id] if finished and each.lease > finished[0].lease
        ]
        if later:
            yield f"{job} finished with lease {finished[0].lease} and was tried again with {_leases(later)}"
        if job.state == "finished" and job.lease not in {each.lease for each in finished}:
            yield f"{job} is finished, but no attempt with its lease {job.lease} finished"
        if job.state != "finished" and finished:
            yield f"{job} is {job.state}, although its attempt with lease {finished[0].lease} finished"


def effects_once(tables: Tables, log: BodyLog, _settings: Settings) -> Iterator[str]:
    """The effects of a transactional body exist if and only if its job finished, once, from the attempt that did."""
    logged = log.effects()
    rows: dict[int, Counter[int]] = {}
    for job_id, attempt in tables.effects:
        rows.setdefault(job_id, Counter())[attempt] += 1
    for job_id in sorted(rows.keys() | logged.keys()):
        job, found = tables.jobs.get(job_id), rows.get(job_id, Counter[int]())
        if job is None:
            continue  # deleted, or lost, which is another rule
        if job.state != "finished":
            if found:
                yield f"{job} is {job.state}, but has effects of attempts {sorted(found)}"
            continue
        if wrong := sorted(found.keys() - {job.attempt}):
            yield f"{job} finished in attempt {job.attempt}, but has effects of attempts {wrong}"
        expected = logged[job_id].get(job.lease, 0) if job_id in logged else 1
        if found[job.attempt] != expected:
            yield f"{job} finished and has {found[job.attempt]} effects of its last attempt, expected {expected}"


def leases(tables: Tables, _log: BodyLog, settings: Settings) -> Iterator[str]:
    """Leases only grow, each belongs to one attempt, and no attempt begins before the one before it has ended."""
    for job in tables.jobs.values():
        attempts = tables.attempts[job.id]
        if attempts and attempts[-1].lease > job.lease:
            yield f"{job} has lease {job.lease}, but an attempt with lease {attempts[-1].lease}"
        if attempts and attempts[-1].attempt > job.max_attempts:
            yield f"{job} was tried {attempts[-1].attempt} times, at most {job.max_attempts} are allowed"
        for before, after in pairwise(attempts):
            if after.attempt < before.attempt:
                yield f"{job}: attempt {after.attempt} has lease {after.lease}, which is after attempt {before.attempt}"
            if settings.steady_clock and after.started_at < before.finished_at:
                yield (
                    f"{job}: the attempt with lease {after.lease} began at {shown(after.started_at)}, before the one "
                    f"with lease {before.lease} had ended"
                )


def bodies(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """A body begins once for each attempt, with a new lease, and each attempt that has begun is recorded."""
    found: dict[int, list[Body]] = {}
    for body in log.bodies():
        found.setdefault(body.job, []).append(body)
    for job_id in found.keys() & tables.jobs.keys():
        job = tables.jobs[job_id]
        recorded = {each.lease: each for each in tables.attempts[job_id]}
        counted = [
            body
            for body in found[job_id]
            if body.lease not in recorded or _counts(recorded[body.lease])
        ]
        if len(counted) > job.max_attempts:
            yield f"{job} began {len(counted)} times, at most {job.max_attempts} are allowed"
        yield from _in_order(job, found[job_id], settings)
        for body in found[job_id]:
            yield from _as_recorded(job, body, recorded.get(body.lease), settings)


def _in_order(job: Job, bodies: Sequence[Body], settings: Settings) -> Iterator[str]:
    for before, after in pairwise(bodies):
        # A process that was stopped may begin what it had claimed before it notices that others have rescued it.
        late = settings.frozen_processes and after.lease < before.lease
        if after.lease <= before.lease and not late:
            yield f"{job}: a body began with lease {after.lease} after one with lease {before.lease}"
        if not settings.frozen_processes and before.end is not None and after.begin < before.end:
            yield f"{job}: two bodies ran at the same time, with leases {before.lease} and {after.lease}"


def _as_recorded(
    job: Job, body: Body, attempt: Attempt | None, settings: Settings
) -> Iterator[str]:
    if attempt is None:
        if settings.over:
            yield f"{job}: a body began with lease {body.lease}, but no attempt is recorded"
        return
    if attempt.attempt != body.attempt:
        yield f"{job}: the body with lease {body.lease} was attempt {body.attempt}, but {attempt.attempt} is recorded"
    if attempt.outcome == "finished" and body.end is None:
        yield f"{job}: the attempt with lease {body.lease} is recorded as finished, but its body never ended"


def cancel_final(tables: Tables, log: BodyLog, _settings: Settings) -> Iterator[str]:
    """A job whose cancel was confirmed is cancelled for good."""
    confirmed = log.jobs("cancelled")
    confirmed |= {
        int(each.target)
        for each in tables.changes
        if (each.action, each.outcome) == ("job.cancel", "done")
    }
    for job_id in sorted(confirmed & tables.jobs.keys()):
        job = tables.jobs[job_id]
        if job.state != "cancelled":
            yield f"{job} is {job.state}, although its cancel was confirmed"


def _counts(attempt: Attempt) -> bool:
    return attempt.outcome not in UNCOUNTED


def _leases(attempts: Sequence[Attempt]) -> str:
    return " and ".join(str(each.lease) for each in attempts)
