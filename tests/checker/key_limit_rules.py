"""The rules of limits by key and of fair queues."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from tests.checker.body_log import BodyLog
from tests.checker.settings import Settings
from tests.checker.tables import Job, Tables, parsed, shown

CHANGES_OF_TURNS: Final = frozenset({"queue.fair", "queue.reset", "queue.declare"})
ALIKE: Final = 1
"""Jobs of another owner that may pass a waiting job, in a fair queue; each node may have claimed one more meanwhile."""


class Start(NamedTuple):
    """An attempt under a limit. Moments are microseconds by the database's clock, or seconds by that of the bodies."""

    begin: float
    end: float
    weight: int
    job: int


def limits_by_key(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """No window has more starts, and no moment more running jobs, than a limit allows for each key.

    Limits whose numbers have changed are left out: which ones were in force at a moment is not recorded.
    """
    numbers, jobs_under = _limits_of(tables)
    ended = {body.job: body for body in log.bodies() if body.end is not None}
    for (name, key), jobs in jobs_under.items():
        allowed = numbers[name]
        if allowed is None:
            continue
        under = f"limit {name}" + (f" for key {key!r}" if key else "")
        starts = sorted(
            Start(each.started_at, each.finished_at, weight, job_id)
            for job_id, weight in jobs.items()
            for each in tables.attempts[job_id]
        )
        if settings.steady_clock:
            yield from (f"{under} {text}" for text in _exceeded(allowed, starts))
        bodies = sorted(
            Start(ended[job].begin, ended[job].end or 0, weight, job)
            for job, weight in jobs.items()
            if job in ended
        )
        if "concurrency" in allowed and not settings.frozen_processes:
            yield from (
                f"{under} {text}, by the bodies' clock"
                for text in _too_many_run(allowed, bodies, str)
            )


def _limits_of(tables: Tables) -> tuple[dict[str, Any], dict[tuple[str, str], dict[int, int]]]:
    """Return the numbers of each limit, None if they have changed, and the weights of the jobs under each limit and key."""
    changed = {
        each.target for each in tables.changes if each.action in ("limit.set", "limit.reset")
    }
    numbers: dict[str, Any] = {}
    under: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    for job in tables.jobs.values():
        given: dict[str, Any] = parsed(job.limits) or {"limits": []}
        for name, key, declared in given["limits"]:
            if numbers.setdefault(name, declared) != declared or name in changed:
                numbers[name] = None
            under[name, key][job.id] = int(given["weight"])
    return numbers, under


def _exceeded(allowed: Mapping[str, Any], starts: Sequence[Start]) -> Iterator[str]:
    if "concurrency" in allowed:
        yield from _too_many_run(allowed, starts, lambda at: shown(int(at)))
    elif allowed.get("window") == "sliding":
        yield from _too_many_in_a_period(allowed["amount"], allowed["period"], starts)
    else:
        yield from _too_many_in_a_window(
            allowed["amount"], allowed["period"], allowed["burst"], starts
        )


def _too_many_run(
    allowed: Mapping[str, Any], starts: Sequence[Start], text_of: Any
) -> Iterator[str]:
    """A job that is heavier than the limit runs alone; one that starts as another ends does not run beside it."""
    most, running = allowed["concurrency"], list[Start]()
    for start in starts:
        running = [each for each in running if each.end > start.begin]
        running.append(start)
        if len(running) > 1 and sum(min(each.weight, most) for each in running) > most:
            named = ", ".join(f"job {each}" for each in sorted({each.job for each in running}))
            yield f"allows {most} at a time, but at {text_of(start.begin)} {named} ran"
            return


def _too_many_in_a_period(amount: int, period: int, starts: Sequence[Start]) -> Iterator[str]:
    first = weight = 0
    for start in starts:
        weight += start.weight
        while starts[first].begin <= start.begin - period:
            weight -= starts[first].weight
            first += 1
        if weight > amount and first < starts.index(start):
            yield f"allows {amount} starts in {period / 1e6:g} s, but {weight} began from {shown(int(starts[first].begin))} to {shown(int(start.begin))}"
            return


def _too_many_in_a_window(
    amount: int, period: int, burst: int, starts: Sequence[Start]
) -> Iterator[str]:
    """Each window of length w has at most w * amount / period + burst starts, in whole numbers.

    A window from start i to start j has too many if the sum of the weights to j, less those before i, exceeds that. So
    it is enough to compare each j with the i whose sum less its moment was the smallest so far.
    """
    weight, least, least_at = 0, None, 0.0
    for start in starts:
        before = weight * period - amount * int(start.begin)
        if least is None or before < least:
            least, least_at = before, start.begin
        weight += start.weight
        if (
            weight * period - amount * int(start.begin) - least > burst * period
            and start.begin >= least_at
        ):
            yield f"allows {amount} starts in {period / 1e6:g} s and {burst} at once, but more began from {shown(int(least_at))} to {shown(int(start.begin))}"
            return


def turns(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """In a fair queue, the next job of an owner who has had a turn is passed by few jobs of each other owner.

    Counted are jobs without limits that were waiting when their owner had the turn before; the moment at which a job of an
    owner who was not waiting takes its place is not in the tables.
    """
    del log
    if not settings.steady_clock or settings.slept:
        return
    bound = ALIKE + len(
        {each.node_id for attempts in tables.attempts.values() for each in attempts}
    )
    for queue in tables.all_queues:
        since = max(
            (
                each.at
                for each in tables.changes
                if each.action in CHANGES_OF_TURNS and each.target == queue.name
            ),
            default=0,
        )
        if (
            queue.fair_by != "owner"
            or queue.limits is not None
            or queue.concurrency_limit is not None
        ):
            continue
        jobs = [
            job
            for job in tables.jobs.values()
            if job.queue == queue.name and job.created_at > since
        ]
        for priority in {job.priority for job in jobs}:
            yield from _passed(
                tables, queue.name, [job for job in jobs if job.priority == priority], bound
            )


def _passed(tables: Tables, queue: str, jobs: Sequence[Job], bound: int) -> Iterator[str]:
    starts: dict[str, list[tuple[int, Job]]] = defaultdict(list)
    for job in jobs:
        starts[job.owner or ""] += [(each.started_at, job) for each in tables.attempts[job.id]]
    # A claim that never began has used up a turn, and left no trace but its lease.
    lost = {job.owner or "" for job in jobs if job.lease > len(tables.attempts[job.id])}
    for owner, own in starts.items():
        own.sort(key=lambda each: each[0])
        for (turn, _), (begin, job) in pairwise(own):
            waited = (
                max(job.created_at, job.run_at) < turn
                and tables.attempts[job.id][0].started_at == begin
            )
            if not waited or job.limits is not None or owner in lost:
                continue
            for other, theirs in starts.items():
                passing = [each.id for at, each in theirs if turn < at < begin]
                if other != owner and len(passing) > bound:
                    yield f"queue {queue}: job {job.id} of {owner!r} waited while {len(passing)} jobs of {other!r} started: {', '.join(map(str, passing))}"
                    return
