"""The rule of limits: no more jobs of a queue at a time than it allows."""

from collections.abc import Iterator, Sequence

from tests.checker.body_log import BodyLog
from tests.checker.settings import Settings
from tests.checker.tables import Queue, Tables, shown


def limits(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """The concurrency limit of a queue is never exceeded after it was set."""
    for queue in tables.queues:
        jobs = {job.id for job in tables.jobs.values() if job.queue == queue.name}
        since = _limited_since(tables, queue)
        if settings.steady_clock:
            attempts = [each for job_id in jobs for each in tables.attempts[job_id]]
            spans = [(each.started_at, each.finished_at, each.job_id) for each in attempts]
            for at, running in _too_many(queue, spans, since):
                yield f"queue {queue.name} allows {queue.concurrency_limit} jobs at a time, but at {shown(int(at))} {running} ran"
        if not settings.frozen_processes and all(
            tables.jobs[job_id].created_at > since for job_id in jobs
        ):
            bodies = [(body.begin, body.end, body.job) for body in log.bodies() if body.job in jobs]
            ended = [(begin, end, job) for begin, end, job in bodies if end is not None]
            for at, running in _too_many(queue, ended, 0):
                yield f"queue {queue.name} allows {queue.concurrency_limit} jobs at a time, but at {at:.3f} s by the bodies' clock {running} ran"


def _limited_since(tables: Tables, queue: Queue) -> int:
    made = [
        each.at
        for each in tables.changes
        if each.action in ("queue.limit", "queue.reset") and each.target == queue.name
    ]
    return max(made, default=0)


def _too_many(
    queue: Queue, spans: Sequence[tuple[float, float, int]], since: int
) -> Iterator[tuple[float, str]]:
    """Yield the first moment at which too many run, with the jobs; one that starts as another ends does not count."""
    running: list[tuple[float, int]] = []
    for start, end, job in sorted(spans):
        running = [(until, each) for until, each in running if until > start]
        running.append((end, job))
        if start >= since and len(running) > (queue.concurrency_limit or 0):
            yield (
                start,
                ", ".join(f"job {each}" for _, each in sorted(running, key=lambda item: item[1])),
            )
            return
