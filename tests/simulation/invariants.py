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
PERIODS: Final = {"every_four": 4_000_000, "buffered": 5_000_000, "replaced": 5_000_000}
"""Schedules that are due at each multiple of so many microseconds."""
MOST_RUNS: Final = {
    "once": 1,
    "brief": 1,
    "hooked": 1,
    "steady": 3,
    "flaky": 4,
    "threaded": 2,
    "transfer": 3,
    "transfer_in_loop": 3,
    "limited": 2,
    "keyed": 2,
    "metered": 2,
    "member": 2,
    "windowed": 1,
    "shared": 1,
    "snoozing": 1,
    "single": 1,
    "counted": 1,
    "settled": 1,
    "expiring": 1,
    "combined": 1,
    "successor": 1,
}
"""How often the body of a job may begin, by its type."""


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
    by_shared_rules: bool
    """Whether to check the rules of the shared checker as well, which takes a fifth of the time of a simulation."""
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
    """Return what is broken, also by the rules of the checker that all fault tests share."""
    found = _shared_rules(database, answers) if answers.by_shared_rules else []
    for rule in (
        _jobs,
        _history,
        _finishes,
        _at_a_time,
        _bodies,
        _effects,
        _schedules,
        _ticks,
        _nominal_times,
        _left,
        _hooks,
        _deaths,
    ):
        found += [f"{rule.__name__.strip('_')}: {text}" for text in rule(database, answers)]
    return [*found, *broken_features(database, answers)]


def _shared_rules(database: sqlite3.Connection, answers: Answers) -> list[str]:
    """Check by the rules of the checker that all fault tests share."""
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


def _jobs(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """No job is lost, and a confirmed cancel is final."""
    states = dict(database.execute("SELECT id, state FROM horae_jobs"))
    deletions = answers.changes.deletions
    yield from (
        f"job {job} is lost"
        for job in answers.created
        if job not in states and job not in deletions
    )
    yield from (
        f"job {job} was cancelled and is {states.get(job)}"
        for job in answers.cancelled
        if states.get(job) != "cancelled" and not (job in deletions and job not in states)
    )


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


INTERRUPTED: Final = (
    # by orderly stops, and by request of the body
    "SELECT job_id, count(*) FROM horae_job_attempts WHERE outcome IN ('interrupted', 'snoozed') GROUP BY job_id"
)
ENDED: Final = frozenset({"finished", "failed", "cancelled"})


def _bodies(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """A body runs once for each lease, not more often than its attempts allow, and not beside another one."""
    types = dict(database.execute("SELECT id, type FROM horae_jobs"))
    begins = Counter((entry.job, entry.lease) for entry in answers.bodies if entry.what == "begin")
    yield from (
        f"the body of {key} began {times} times" for key, times in begins.items() if times > 1
    )
    runs = Counter(job for job, _ in begins)
    uncounted = dict(database.execute(INTERRUPTED))
    for job, times in runs.items():
        most = MOST_RUNS.get(types.get(job, ""))
        if most is not None and times > most + uncounted.get(job, 0):
            yield f"the body of job {job} ({types[job]}) began {times} times, {most} are allowed"
    states = dict(database.execute("SELECT id, state FROM horae_jobs"))
    ends = Counter(entry.job for entry in answers.bodies if entry.what == "end")
    for job, state in states.items():
        if state == "finished" and not ends[job]:
            yield f"job {job} ({types[job]}) is finished although no body came to its end"
    yield from _beside(answers)


def _beside(answers: Answers) -> Iterator[str]:
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


def _effects(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """A transactional job has its effects exactly once if it is finished, and none otherwise."""
    del answers
    query = """
        SELECT j.id, j.state, count(e.part) AS parts, count(DISTINCT e.lease) AS leases
        FROM horae_jobs AS j LEFT JOIN sim_effects AS e ON e.job = j.id
        WHERE j.type IN ('transfer', 'transfer_in_loop') GROUP BY j.id
    """
    for job, state, parts, leases in database.execute(query):
        if (parts, leases) != ((2, 1) if state == "finished" else (0, 0)):
            yield f"job {job} is {state} and has {parts} effects of {leases} runs"


def _schedules(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """Statistics add up, and agree with the jobs."""
    del answers
    query = """
        SELECT s.name, t.total_runs, t.total_successes, t.total_failures, t.total_crashes,
            (SELECT count(*) FROM horae_jobs AS j WHERE j.schedule_id = s.id AND j.state = 'finished') AS finished,
            (SELECT count(*) FROM horae_jobs AS j WHERE j.schedule_id = s.id AND j.state <> 'finished'
                AND EXISTS (SELECT 1 FROM horae_job_attempts AS a WHERE a.job_id = j.id)
                -- A run that an orderly stop ended for good does not count.
                AND NOT (j.state = 'failed' AND EXISTS (SELECT 1 FROM horae_job_attempts AS a
                    WHERE a.job_id = j.id AND a.lease = j.lease AND a.outcome = 'interrupted'))) AS failed
        FROM horae_schedules AS s JOIN horae_schedule_statistics AS t ON t.schedule_id = s.id
    """
    for row in database.execute(query):
        if (
            row["total_runs"]
            != row["total_successes"] + row["total_failures"] + row["total_crashes"]
        ):
            yield f"the statistics of {row['name']} do not add up: {dict(row)}"
        if (
            row["total_successes"] != row["finished"]
            or row["total_failures"] + row["total_crashes"] != row["failed"]
        ):
            yield f"the statistics of {row['name']} differ from its jobs: {dict(row)}"


def _ticks(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """Each fired tick has one job, and each job of a schedule that is no retry one tick."""
    query = """
        SELECT j.id FROM horae_jobs AS j WHERE j.schedule_id IS NOT NULL AND j.retry_of IS NULL AND 1 <> (
            SELECT count(*) FROM horae_ticks AS t WHERE t.job_id = j.id AND t.schedule_id = j.schedule_id)
    """
    yield from (f"job {job} does not have exactly one tick" for (job,) in database.execute(query))
    query = """
        SELECT t.schedule_id, t.nominal_time, t.decision FROM horae_ticks AS t WHERE (t.decision = 'fired') <> (
            EXISTS (SELECT 1 FROM horae_jobs AS j WHERE j.id = t.job_id AND j.schedule_id = t.schedule_id))
    """
    yield from (f"a tick has a wrong job: {tuple(row)}" for row in database.execute(query))
    early = "SELECT schedule_id, nominal_time FROM horae_ticks WHERE decided_at < nominal_time AND reason <> 'manual'"
    if answers.steady_clock:
        yield from (
            f"a tick was decided before its time: {tuple(row)}" for row in database.execute(early)
        )


def _nominal_times(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """Each nominal time between the first and the last decision of a fixed schedule has exactly one decision."""
    del answers
    query = """
        SELECT t.nominal_time, t.until, t.count, t.reason, t.decision FROM horae_ticks AS t
        JOIN horae_schedules AS s ON s.id = t.schedule_id WHERE s.name = ? ORDER BY t.nominal_time
    """
    for name, period in PERIODS.items():
        last = None
        for nominal, until, count, reason, _decision in database.execute(query, (name,)):
            if nominal % period:
                continue  # by hand, or a repetition after a failure
            if (until - nominal) // period + 1 != count and count > 1:
                yield f"an entry of {name} at {nominal} counts {count} times until {until}"
            if last is not None and nominal <= last:
                yield f"{name} has two decisions about {nominal}"
            last = until
            del reason


def _left(database: sqlite3.Connection, answers: Answers) -> Iterator[str]:
    """Nothing is left by nodes that have stopped."""
    del answers
    nodes = [row[0] for row in database.execute("SELECT id FROM horae_nodes")]
    if nodes:
        yield f"nodes {nodes} are still registered"
    query = "SELECT id, state, node_id FROM horae_jobs WHERE node_id IS NOT NULL"
    yield from (f"job {tuple(row)} is still held" for row in database.execute(query))


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
