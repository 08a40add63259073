"""What must hold after a simulation, read from its tables by plain SQL and from the log of the bodies.

Nothing here uses Horae's own code: `sim_history` is written by triggers, and the log by the bodies themselves.
"""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.checker.body_log import Record
from tests.checker.checks import check
from tests.checker.settings import Settings
from tests.simulation.feature_invariants import broken_features

LIMIT: Final = 2
"""Jobs of the queue `narrow` that may be started at a time."""
NO_OVERLAP: Final = ("every_four", "repeating", "buffered", "replaced")
"""Schedules of whose jobs only one may be open at a time."""


@dataclass(slots=True)
class Move:
    """A call at a moment that moves a job by some seconds; `answered`: when it succeeded, if it did."""

    job: int
    called: float
    delay: float
    answered: float | None = None


@dataclass(slots=True)
class Changes:
    """How callers have changed jobs.

    `deletions`, `deleted`: jobs that a caller wanted to delete, and those for which it succeeded. `awaited`: jobs whose
    ends were awaited, and when the wait was over. `cancelled_groups`: when the cancel of each was answered.
    """

    deletions: set[int] = field(default_factory=set[int])
    deleted: list[int] = field(default_factory=list[int])
    moves: list[Move] = field(default_factory=list[Move])
    awaited: list[tuple[int, float]] = field(default_factory=list[tuple[int, float]])
    cancelled_groups: dict[int, float] = field(default_factory=dict[int, float])


@dataclass(frozen=True, slots=True)
class Answers:
    """What callers and bodies know: jobs whose creation or cancel was confirmed, and the log of the bodies."""

    created: list[int]
    cancelled: list[int]
    bodies: list[Any]
    may_overlap: bool
    """Whether a stopped process may have left a body running beside its successor."""
    steady_clock: bool
    """Whether the clock of the database was never set."""
    slept: bool
    """Whether the machine of a node slept: moments that are reckoned back from an end by its duration are too late."""
    unreadable_journals: frozenset[str]
    """Dead nodes of which the node that rescued their jobs could not read what they had begun."""
    well: frozenset[str]
    """The processes that lived to the end and always reached the database whenever any did."""
    after: Sequence[tuple[int, int]] = ()
    """Jobs that wait for another one, with that one."""
    changes: Changes = field(default_factory=Changes)


def violations(database: sqlite3.Connection, answers: Answers) -> list[str]:
    """Return what is broken: first by the rules of the checker that all fault tests share.

    The other rules need what only a simulation has: each change of a row in its order, with the moment of the commit.
    """
    found = _shared_rules(database, answers)
    for rule in (_history, _finishes, _at_a_time, _beside, _early, _left, _hooks, _deaths):
        found += [f"{rule.__name__.strip('_')}: {text}" for text in rule(database, answers)]
    return [*found, *broken_features(database, answers)]


def _shared_rules(database: sqlite3.Connection, answers: Answers) -> list[str]:
    settings = Settings(
        steady_clock=answers.steady_clock, frozen_processes=answers.may_overlap, slept=answers.slept
    )
    gone = answers.changes.deletions.difference(
        job for (job,) in database.execute("SELECT id FROM horae_jobs")
    )
    log = [record for record in records(answers) if record.job not in gone]
    return [str(finding) for finding in check(database, log, settings, effects_table="sim_effects")]


def records(answers: Answers) -> list[Record]:
    """Return the log of bodies and calls in the form of the checker."""
    found = [
        Record(each.what, each.job, each.attempt, each.lease, None, each.at)
        for each in answers.bodies
    ]
    found += [Record("created", job) for job in answers.created]
    return found + [Record("cancelled", job) for job in answers.cancelled]


def _history(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """Ended jobs never change, leases only grow, progress does not fall."""
    del answers
    progress: dict[tuple[int, int], int] = {}
    ended: Counter[int] = Counter()
    for row in _changes(database):
        job, old, new = row["job_id"], row["old_state"], row["state"]
        if old in ENDED and new != old:
            yield f"job {job} went from {old} to {new}"
        if old is not None and row["lease"] < row["old_lease"]:
            yield f"the lease of job {job} fell from {row['old_lease']} to {row['lease']}"
        if new == "started" and old != "started" and row["lease"] != (row["old_lease"] or 0) + 1:
            yield f"job {job} was started under the old lease {row['lease']}"
        ended[job] += new in ENDED and old not in ENDED
        seen = progress.get((job, row["lease"]), 0)
        if row["progress"] < seen and new != "pending":
            yield f"the progress of job {job} fell from {seen} to {row['progress']}"
        progress[job, row["lease"]] = row["progress"]
    yield from (f"job {job} ended {times} times" for job, times in ended.items() if times > 1)


def _finishes(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """A job finishes only after the body that has its current lease came to its end."""
    ended: dict[tuple[int, int], float] = {}
    for entry in answers.bodies:
        if entry.what == "end":
            ended.setdefault((entry.job, entry.lease), entry.at)
    for row in _changes(database):
        if row["state"] == "finished" != row["old_state"]:
            at = ended.get((row["job_id"], row["lease"]))
            if at is None or at > row["at"]:
                yield f"job {row['job_id']} finished under lease {row['lease']} before its body ended"


def _at_a_time(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """The limit of a queue is never exceeded, and runs of a schedule do not overlap where that is forbidden."""
    del answers
    names = dict(database.execute("SELECT id, name FROM horae_schedules"))
    narrow: set[int] = set()
    open_runs: defaultdict[str, set[int]] = defaultdict(set)
    for row in _changes(database):
        job, ended = row["job_id"], row["state"] in ENDED
        holds = row["state"] == "started" or row["node_id"] is not None
        if row["queue"] == "narrow":
            (narrow.add if holds else narrow.discard)(job)
            if len(narrow) > LIMIT:
                yield f"{len(narrow)} jobs of the limited queue are started"
        if (name := names.get(row["schedule_id"])) in NO_OVERLAP:
            runs = open_runs[name]
            (runs.discard if ended and not holds else runs.add)(job)
            if len(runs) > 1:
                yield f"runs {sorted(runs)} of schedule {name} overlap"


def _changes(database: sqlite3.Connection) -> Iterator[Any]:
    yield from database.execute("SELECT * FROM sim_history ORDER BY number")


ENDED: Final = frozenset({"finished", "failed", "cancelled"})


def _beside(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """A body does not run beside another one of its job, unless a stopped process may have left one running."""
    del database
    running: defaultdict[int, set[tuple[int, str]]] = defaultdict(set)
    for entry in answers.bodies:
        key = (entry.lease, entry.process)
        if entry.what == "begin":
            if running[entry.job] and not answers.may_overlap:
                yield f"two bodies of job {entry.job} run at once: {sorted(running[entry.job])} and {key}"
            running[entry.job].add(key)
        elif entry.what in {"end", "stopped"}:
            running[entry.job].discard(key)
        elif entry.what == "died":
            for alive in running.values():
                alive -= {one for one in alive if one[1] == entry.process}


def _early(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """No nominal time is decided before it has come."""
    early = "SELECT schedule_id, nominal_time FROM horae_ticks WHERE decided_at < nominal_time AND reason <> 'manual'"
    if answers.steady_clock:
        yield from (
            f"a tick was decided before its time: {tuple(row)}" for row in database.execute(early)
        )


def _left(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """No node is left that has stopped."""
    del answers
    nodes = [row[0] for row in database.execute("SELECT id FROM horae_nodes")]
    if nodes:
        yield f"nodes {nodes} are still registered"


def _hooks(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """The hook of a job is called if it failed or was cancelled, and not otherwise."""
    calls = Counter((entry.job, entry.what) for entry in answers.bodies)
    deaths = sum(entry.what == "died" for entry in answers.bodies)
    for job, state in database.execute("SELECT id, state FROM horae_jobs WHERE type = 'hooked'"):
        for hook, expected in (
            ("on_error", state == "failed"),
            ("on_cancelled", state == "cancelled"),
        ):
            if not expected <= calls[job, hook] <= expected * (1 + deaths):
                yield f"job {job} is {state}, and {hook} was called {calls[job, hook]} times"


def _deaths(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """No job crashes whose body had not begun, and no node is declared dead that is well."""
    begun = {(entry.job, entry.lease) for entry in answers.bodies if entry.what == "begin"}
    crashes = database.execute(
        "SELECT job_id, lease, node_id FROM horae_job_attempts WHERE outcome = 'crashed'"
    )
    for job, lease, node in crashes:
        if (job, lease) not in begun and node not in answers.unreadable_journals:
            yield f"job {job} counts as crashed under lease {lease}, but its body had not begun"
    for (before,) in database.execute("SELECT before FROM horae_audit WHERE action = 'node.died'"):
        node = json.loads(before)["id"]
        if node.rpartition(".")[0] in answers.well:
            yield f"node {node} was declared dead, but it was well"
