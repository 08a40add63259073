"""What must hold for the jobs of `features`, read by plain SQL from the tables and from the history of triggers."""

import json
import math
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise, product
from typing import Any, Final, NamedTuple

from tests.simulation.world import EPOCH

ENDED: Final = frozenset({"finished", "failed", "cancelled"})
PASSED_BY: Final = 2
"""How many jobs of one owner may start before the first waiting job of another one: a turn, and one more of a claim that was
choosing while that job was put into its lane. What was chosen before that is not counted.
"""
RATES: Final[Mapping[str, tuple[float, float]]] = {"metered": (2.0, 2.0)}
"""Starts in a second, and starts at once, of each type with a token bucket."""
WINDOWS: Final[Mapping[str, tuple[int, float]]] = {"windowed": (3, 2.0)}
"""Starts in any period of so many seconds, of each type with a sliding window."""
MOST_COUNTED: Final = 2
"""Active jobs of the type `counted` that each owner may have."""
EXPIRES: Final = 0.8
TOLERANCE: Final = 1e-4
"""Virtual seconds by which moments may differ that were rounded to microseconds."""


class History:
    """The rows of jobs and their changes, read once."""

    def __init__(self, database: sqlite3.Connection, answers: Any) -> None:
        self.database, self.answers = database, answers
        self.changes = database.execute("SELECT * FROM sim_history ORDER BY number").fetchall()
        query = (
            "SELECT id, type, state, owner, params, unique_key, group_id, attempt FROM horae_jobs"
        )
        self.jobs = {row["id"]: row for row in database.execute(query)}
        self.begun = Counter(
            (entry.job, entry.lease) for entry in answers.bodies if entry.what == "begin"
        )

    def starts(self, types: str) -> Iterator[Any]:
        """Yield the changes that are claims of jobs of a type."""
        for row in self.changes:
            if row["type"] == types and row["state"] == "started" != row["old_state"]:
                yield row

    def starts_by_key(self, types: str) -> Mapping[Any, list["Start"]]:
        """Return the starts of jobs of a type in the order of their commits, by the key of their limits."""
        found: defaultdict[Any, list[Start]] = defaultdict(list)
        for row in self.starts(types):
            found[self.key(row["job_id"])].append(Start.of(row))
        return found

    def ended(self) -> Mapping[int, int]:
        """Return the number of the change that ended each job; a cancelled job may be released later."""
        found: dict[int, int] = {}
        for row in self.changes:
            if row["state"] in ENDED:
                found.setdefault(row["job_id"], row["number"])
        return found

    def key(self, job: int) -> Any:
        """Return the parameter that the limits of a job are by."""
        return json.loads(self.jobs[job]["params"] or "{}").get("key") if job in self.jobs else None


class Start(NamedTuple):
    """A start of a job under a rate.

    `claim`: what the starts of one claim have in common; `counted`: the moment at which its limit has counted it, by the
    clock of the database; `made`: when the statement arrived that started it; both in virtual seconds.
    """

    claim: tuple[str, float]
    counted: float
    made: float

    @classmethod
    def of(cls, row: Any) -> "Start":
        """Return the start that a change of a job is."""
        counted = (row["started_at"] - int(EPOCH * 1e6)) / 1e6
        return cls((row["node_id"], row["at"]), counted, row["at"])


class Passed(NamedTuple):
    """How many jobs of each owner have passed a job that waits in a lane since it was put there, in virtual seconds."""

    since: float
    counts: Counter[str]


def broken_features(database: sqlite3.Connection, answers: Any) -> Iterator[str]:
    """Yield what is broken, with the name of the rule."""
    history = History(database, answers)
    rules = (
        _one_at_a_time,
        _rates,
        _turns,
        _unique,
        _counted,
        _one_pending,
        _expired,
        _snoozed,
        _groups,
        _cancelled_groups,
        _after,
        _retried,
        _moved,
        _deleted,
        _awaited,
    )
    for rule in rules:
        yield from (f"{rule.__name__.strip('_')}: {text}" for text in rule(history))


def _one_at_a_time(history: History) -> Iterator[str]:
    """One job of each key runs at a time."""
    running: defaultdict[Any, set[int]] = defaultdict(set)
    for row in history.changes:
        if row["type"] == "keyed":
            key, holds = (
                history.key(row["job_id"]),
                row["state"] == "started" or row["node_id"] is not None,
            )
            (running[key].add if holds else running[key].discard)(row["job_id"])
            if len(running[key]) > 1:
                yield f"jobs {sorted(running[key])} of key {key} run at once"


def _rates(history: History) -> Iterator[str]:
    """No window has more starts than its length allows, at the moments at which the limit counted them.

    A start is counted while its claim holds the limit. The statement that starts the job follows later, or much later if the
    database is slow; what it does then was allowed at the counted moment, so its own moment says nothing about the limit.
    """
    if not history.answers.steady_clock:
        return
    for kind, (rate, burst) in RATES.items():
        for key, starts in history.starts_by_key(kind).items():
            name = f"{kind} with key {key}"
            yield from _untrue_moments(name, starts)
            yield from _too_many(name, starts, lambda length, r=rate, b=burst: r * length + b)
    for kind, (most, period) in WINDOWS.items():
        starts = [Start.of(row) for row in history.starts(kind)]
        yield from _untrue_moments(kind, starts)
        yield from _too_many(
            kind, starts, lambda length, m=most, p=period: m if length < p - TOLERANCE else math.inf
        )


def _untrue_moments(name: str, starts: Sequence[Start]) -> Iterator[str]:
    """Each start is counted when its claim holds the limit: after the claim before it, and before the job is started.

    Without this rule a claim could spread its starts over moments at which it did not make them.
    """
    for last, start in pairwise(starts):
        if start.claim != last.claim and start.counted < last.made - TOLERANCE:
            yield f"a start of {name} at {start.made:.6f} is counted at {start.counted:.6f}, before the last one was made"
            return
    for start in starts:
        if start.counted > start.made + TOLERANCE:
            yield f"a start of {name} at {start.made:.6f} is counted at {start.counted:.6f}, which is later"
            return


def _too_many(name: str, starts: Sequence[Start], allowed: Any) -> Iterator[str]:
    moments = sorted(start.counted for start in starts)
    for first, begin in enumerate(moments):
        for last in range(first + 1, len(moments)):
            if last - first + 1 > allowed(moments[last] - begin) + TOLERANCE * 10:
                yield f"{last - first + 1} jobs of {name} started within {moments[last] - begin:.3f} s"
                return


def _turns(history: History) -> Iterator[str]:
    """The first job of an owner that waits in a lane is passed by few jobs of each other owner.

    A clock that is set back puts turns before the moments at which others began to wait.
    """
    if not history.answers.steady_clock:
        return
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    passed: dict[int, Passed] = {}
    rows = [row for row in history.changes if row["type"] == "shared"]
    for _, each in groupby(
        rows, key=lambda row: (row["at"], row["node_id"])
    ):  # what one claim starts, and one filing
        batch = [(row["job_id"], history.jobs[row["job_id"]]["owner"], row) for row in each]
        for job, owner, row in batch:
            _note_waiting(waiting[owner], passed, job, row)
        started = [
            (owner, Start.of(row))
            for _, owner, row in batch
            if row["state"] == "started" != row["old_state"]
        ]
        for (owner, start), (job, (since, counts)) in product(started, passed.items()):
            counts[owner] += history.jobs[job]["owner"] != owner and start.counted > since
            if counts[owner] > PASSED_BY:
                yield f"job {job} waits while {counts[owner]} jobs of {owner} start"
                return


def _note_waiting(waiting: list[int], passed: dict[int, Passed], job: int, row: Any) -> None:
    """Note that a job waits in a lane, or no longer does; `waiting`: the jobs of its owner, `passed`: the first ones."""
    if row["state"] == "pending" and row["lane"] is not None and job not in waiting:
        if not waiting:
            passed[job] = Passed(row["at"], Counter())
        waiting.append(job)
    elif row["state"] != "pending" and job in waiting:
        waiting.remove(job)
        passed.pop(job, None)


def _unique(history: History) -> Iterator[str]:
    """One job of each key is active."""
    active: defaultdict[str, set[int]] = defaultdict(set)
    for row in history.changes:
        if row["type"] == "single":
            key = history.jobs[row["job_id"]]["unique_key"]
            (active[key].discard if row["state"] in ENDED else active[key].add)(row["job_id"])
            if len(active[key]) > 1:
                yield f"jobs {sorted(active[key])} have one key"


def _counted(history: History) -> Iterator[str]:
    """No owner has more active jobs than the type allows."""
    active: defaultdict[str, set[int]] = defaultdict(set)
    for row in history.changes:
        if row["type"] == "counted":
            owner = history.jobs[row["job_id"]]["owner"]
            (active[owner].discard if row["state"] in ENDED else active[owner].add)(row["job_id"])
            if len(active[owner]) > MOST_COUNTED:
                yield f"jobs {sorted(active[owner])} of {owner} are active together"


def _one_pending(history: History) -> Iterator[str]:
    """Calls that follow each other move one job, unless it was claimed."""
    pending: defaultdict[str, set[int]] = defaultdict(set)
    for row in history.changes:
        if row["type"] == "settled":
            key = history.jobs[row["job_id"]]["unique_key"]
            (pending[key].add if row["old_state"] is None else pending[key].discard)(row["job_id"])
            if len(pending[key]) > 1:
                yield f"jobs {sorted(pending[key])} wait for the same calls to end"


def _expired(history: History) -> Iterator[str]:
    """No job begins for the first time after it has expired."""
    created: dict[int, float] = {}
    begun: set[int] = set()
    for row in history.changes if history.answers.steady_clock else ():
        job = row["job_id"]
        if row["type"] == "expiring":
            created.setdefault(job, row["at"])
            if row["state"] == "started" != row["old_state"] and job not in begun:
                if row["at"] > created[job] + EXPIRES + TOLERANCE:
                    yield f"job {job} was claimed {row['at'] - created[job]:.3f} s after it was created"
                if history.begun[job, row["lease"]]:
                    begun.add(job)


def _snoozed(history: History) -> Iterator[str]:
    """A snooze uses up no attempt, and is no failure."""
    lost = {"crashed", "interrupted", "timed_out"}
    outcomes: defaultdict[int, list[str]] = defaultdict(list)
    for job, outcome in history.database.execute(
        "SELECT job_id, outcome FROM horae_job_attempts ORDER BY lease"
    ):
        outcomes[job].append(outcome)
    for job, row in history.jobs.items():
        if row["type"] == "snoozing":
            if row["attempt"] > 1:
                yield f"job {job} has used {row['attempt']} attempts by {outcomes[job]}"
            if row["state"] == "failed" and lost.isdisjoint(outcomes[job]):
                yield f"job {job} failed after {outcomes[job]}"


def _groups(history: History) -> Iterator[str]:
    """Each group has one job after it, which begins once, after all members have ended."""
    ended = history.ended()
    claimed: dict[int, int] = {}
    for row in history.starts("combined"):
        claimed.setdefault(row["job_id"], row["number"])
    query = "SELECT id, then_id, cancelled_at, ended_at FROM horae_groups"
    groups = history.database.execute(query).fetchall()
    for group in groups:
        then = group["then_id"]
        members = [
            job
            for job, row in history.jobs.items()
            if row["group_id"] == group["id"] and job != then
        ]
        if group["ended_at"] is None:
            yield f"group {group['id']} has not ended"
        if then in claimed and group["cancelled_at"] is not None:
            yield f"group {group['id']} was cancelled, but job {then} after it began"
        early = [
            job
            for job in members
            if then in claimed and ended.get(job, claimed[then]) >= claimed[then]
        ]
        if early:
            yield f"job {then} after group {group['id']} began before the end of {early}"
    thens = Counter(group["then_id"] for group in groups)
    yield from (f"job {job} follows {count} groups" for job, count in thens.items() if count > 1)
    alone = [
        job for job, row in history.jobs.items() if row["type"] == "combined" and job not in thens
    ]
    yield from (f"job {job} follows no group" for job in alone)


def _cancelled_groups(history: History) -> Iterator[str]:
    """Once the cancel of a group is answered, none of its members begins, and the job after it is cancelled."""
    thens = dict(history.database.execute("SELECT id, then_id FROM horae_groups"))
    members = {
        job: row["group_id"] for job, row in history.jobs.items() if row["group_id"] is not None
    }
    cancelled = history.answers.changes.cancelled_groups
    for row in history.starts("member"):
        group = members.get(row["job_id"])
        if group in cancelled and row["at"] > cancelled[group]:
            yield f"member {row['job_id']} was claimed after group {group} was cancelled"
    for group in cancelled:
        state = history.jobs[thens[group]]["state"]
        if state != "cancelled":
            yield f"group {group} was cancelled, and job {thens[group]} after it is {state}"


def _retried(history: History) -> Iterator[str]:
    """A job is retried at most once."""
    query = "SELECT retry_of, count(*) FROM horae_jobs WHERE retry_of IS NOT NULL GROUP BY retry_of HAVING count(*) > 1"
    yield from (f"job {job} has {count} retries" for job, count in history.database.execute(query))


def _moved(history: History) -> Iterator[str]:
    """No job that was moved is claimed before its new time, unless a later call has moved it again."""
    moves = history.answers.changes.moves if history.answers.steady_clock else ()
    for move in moves:
        again = min(
            (each.called for each in moves if each.job == move.job and each.called > move.called),
            default=math.inf,
        )
        if move.answered is None:
            continue
        until = min(move.called + move.delay - TOLERANCE, again)
        for row in history.changes:
            claimed = row["state"] == "started" != row["old_state"]
            if row["job_id"] == move.job and claimed and move.answered < row["at"] < until:
                yield f"job {move.job} was claimed at {row['at']:.3f}, and was moved to {move.called + move.delay:.3f}"


def _deleted(history: History) -> Iterator[str]:
    """A job that was deleted had ended, no node held it, and it does not come back."""
    last = {row["job_id"]: row for row in history.changes}
    for job in history.answers.changes.deleted:
        if job in history.jobs:
            yield f"job {job} was deleted and is there"
        if last[job]["state"] not in ENDED or last[job]["node_id"] is not None:
            yield f"job {job} was deleted as {last[job]['state']}, held by {last[job]['node_id']}"


def _awaited(history: History) -> Iterator[str]:
    """When the wait for a job is over, it has ended."""
    ended: dict[int, float] = {}
    for row in history.changes:
        if row["state"] in ENDED:
            ended.setdefault(row["job_id"], row["at"])
    for job, over in history.answers.changes.awaited:
        if ended.get(job, math.inf) > over:
            yield f"the wait for job {job} was over before its end"


def _after(history: History) -> Iterator[str]:
    """A job that waits for others is claimed after they have ended."""
    ended = history.ended()
    claimed = {row["job_id"]: row["number"] for row in history.starts("successor")}
    for job, before in history.answers.after:
        if job in claimed and ended.get(before, claimed[job]) >= claimed[job]:
            yield f"job {job} was claimed before job {before} had ended"
