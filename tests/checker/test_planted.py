"""Each kind of breach, planted in a small database without constraints: the checker names it, and nothing else."""

import ast
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.checker.body_log import BodyLog, read
from tests.checker.checks import check
from tests.checker.reference_cron import fires_after
from tests.checker.settings import Settings
from tests.checker.tables import moment, shown

HERE: Final = Path(__file__).parent
SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
NOW: Final = 1_774_742_400 * SECOND  # 2026-03-29 00:00 UTC

CLEAN: Final = f"""
    INSERT INTO horae_queues (name, concurrency_limit) VALUES ('narrow', 1);
    INSERT INTO horae_jobs (id, type, queue, priority, state, attempt, max_attempts, lease, run_at, created_at, updated_at,
                            finished_at, schedule_id, nominal_time, cancelled_by)
    VALUES (1, 'charge', 'default', 0, 'finished', 2, 3, 2, {NOW}, {NOW}, {NOW}, {NOW + 9 * SECOND}, NULL, NULL, NULL),
           (2, 'charge', 'default', 0, 'failed', 1, 1, 1, {NOW}, {NOW}, {NOW}, {NOW + 9 * SECOND}, NULL, NULL, NULL),
           (3, 'charge', 'default', 0, 'cancelled', 1, 1, 1, {NOW}, {NOW}, {NOW}, {NOW + 9 * SECOND}, NULL, NULL, 'ann'),
           (4, 'beat', 'narrow', 0, 'finished', 1, 1, 1, {NOW}, {NOW}, {NOW}, {NOW + 9 * SECOND}, 1, {NOW}, NULL),
           (5, 'beat', 'narrow', 0, 'failed', 1, 1, 1, {NOW}, {NOW + 5 * MINUTE}, {NOW}, {NOW + 6 * MINUTE}, 1, {NOW + 5 * MINUTE}, NULL);
    INSERT INTO horae_job_attempts (job_id, lease, attempt, started_at, finished_at, outcome)
    VALUES (1, 1, 1, {NOW + SECOND}, {NOW + 2 * SECOND}, 'failed'),
           (1, 2, 2, {NOW + 3 * SECOND}, {NOW + 9 * SECOND}, 'finished'),
           (2, 1, 1, {NOW + SECOND}, {NOW + 9 * SECOND}, 'failed'),
           (3, 1, 1, {NOW + SECOND}, {NOW + 9 * SECOND}, 'cancelled'),
           (4, 1, 1, {NOW + SECOND}, {NOW + 9 * SECOND}, 'finished'),
           (5, 1, 1, {NOW + 5 * MINUTE}, {NOW + 6 * MINUTE}, 'crashed');
    INSERT INTO effects VALUES (1, 2);
    INSERT INTO horae_jobs (id, type, queue, priority, state, attempt, max_attempts, lease, run_at, created_at, updated_at,
                            finished_at, group_id)
    VALUES (6, 'part', 'default', 0, 'finished', 1, 1, 1, {NOW}, {NOW}, {NOW}, {NOW + 9 * SECOND}, 1),
           (7, 'whole', 'default', 0, 'finished', 1, 1, 1, {NOW}, {NOW}, {NOW}, {NOW + 12 * SECOND}, NULL),
           (8, 'whole', 'default', 0, 'finished', 1, 1, 1, {NOW}, {NOW}, {NOW}, {NOW + 15 * SECOND}, NULL);
    INSERT INTO horae_job_attempts (job_id, lease, attempt, started_at, finished_at, outcome)
    VALUES (6, 1, 1, {NOW + SECOND}, {NOW + 9 * SECOND}, 'finished'),
           (7, 1, 1, {NOW + 10 * SECOND}, {NOW + 12 * SECOND}, 'finished'),
           (8, 1, 1, {NOW + 13 * SECOND}, {NOW + 15 * SECOND}, 'finished');
    INSERT INTO horae_groups (id, on_failure, then_id, total, finished, failed, cancelled, ended_at)
    VALUES (1, 'continue', 7, 1, 1, 0, 0, {NOW + 9 * SECOND});
    INSERT INTO horae_dependencies (after_id, job_id, on_failure, ended) VALUES (7, 8, 'cancel', 1);
    INSERT INTO horae_schedules (id, name, module, job_type, trigger_kind, trigger, timezone, queue, priority, rules, enabled,
                                 partition, state, next_start, last_tick, created_at, updated_at)
    VALUES (1, 'beat', '', 'beat', 'cron', '*/5 * * * *', 'UTC', 'narrow', 0, '{{"overlap": "skip"}}', 1, 0, 'idle',
            {NOW + 40 * MINUTE}, {NOW + 35 * MINUTE}, {NOW}, {NOW});
    INSERT INTO horae_schedule_statistics (schedule_id, total_runs, total_successes, total_failures, total_crashes)
    VALUES (1, 2, 1, 0, 1);
    INSERT INTO horae_ticks (schedule_id, nominal_time, until, count, decision, reason, job_id, decided_at)
    VALUES (1, {NOW}, {NOW}, 1, 'fired', 'on_time', 4, {NOW}),
           (1, {NOW + 5 * MINUTE}, {NOW + 5 * MINUTE}, 1, 'fired', 'on_time', 5, {NOW}),
           (1, {NOW + 10 * MINUTE}, {NOW + 30 * MINUTE}, 5, 'missed', 'window', NULL, {NOW}),
           (1, {NOW + 35 * MINUTE}, {NOW + 35 * MINUTE}, 1, 'skipped', 'overlap', NULL, {NOW});
"""


def one(job: int, kind: str, began: int, length: int = 1, **columns: Any) -> str:
    """A job that has finished: the seconds of its begin and of its duration; other columns by name."""
    values = {
        "id": job,
        "type": kind,
        "queue": "default",
        "priority": 0,
        "state": "finished",
        "attempt": 1,
        "max_attempts": 1,
        "lease": 1,
        "run_at": NOW,
        "created_at": NOW,
        "finished_at": NOW + (began + length) * SECOND,
        **columns,
    }
    texts = ["NULL" if value is None else repr(value) for value in values.values()]
    begin, end = NOW + began * SECOND, NOW + (began + length) * SECOND
    return (
        f"INSERT INTO horae_jobs ({', '.join(values)}) VALUES ({', '.join(texts)});"
        "INSERT INTO horae_job_attempts (job_id, lease, attempt, started_at, finished_at, outcome)"
        f"VALUES ({job}, 1, 1, {begin}, {end}, 'finished');"
    )


def under(*limits: tuple[str, str, dict[str, Any]], weight: int = 1) -> str:
    return json.dumps({"weight": weight, "limits": [list(each) for each in limits]})


RATE: Final = {"amount": 1, "period": 10 * SECOND, "burst": 1, "window": "bucket"}
SLIDING: Final = {"amount": 1, "period": 10 * SECOND, "window": "sliding"}
RATED: Final = under(("api.rate", "a", RATE), ("api.concurrency", "a", {"concurrency": 1}))
WINDOWED: Final = under(("sms.rate", "", SLIDING))
OPTIONS: Final = "".join(
    [
        "INSERT INTO horae_queues (name, fair_by) VALUES ('mail', 'owner');",
        one(20, "call", 1, 4, limits=RATED),
        one(21, "call", 12, limits=RATED),
        one(22, "call", 1, limits=RATED.replace('"a"', '"b"')),
        one(24, "text", 1, limits=WINDOWED),
        one(25, "text", 12, limits=WINDOWED),
        *(one(30 + n, "letter", 1 + 2 * n, queue="mail", owner="ann") for n in range(4)),
        *(one(34 + n, "letter", 2 + 2 * n, queue="mail", owner="bob") for n in range(2)),
        one(40, "single", 1, 8, unique_key="k"),
        one(41, "single", 11, unique_key="k", created_at=NOW + 10 * SECOND),
        one(42, "settled", 4, unique_key="d", key_is_shared=1),
        one(43, "settled", 8, unique_key="d", key_is_shared=1, created_at=NOW + 6 * SECOND),
        one(
            46, "settled", 8, unique_key="e", key_is_shared=1, lease=2
        ),  # was claimed before, and handed back
        "UPDATE horae_job_attempts SET lease = 2 WHERE job_id = 46;",
        one(47, "settled", 9, unique_key="e", key_is_shared=1, created_at=NOW + 3 * SECOND),
        one(44, "offer", 1, expires_at=NOW + 5 * SECOND),
        one(45, "poll", 5, lease=2),
        "UPDATE horae_job_attempts SET lease = 2 WHERE job_id = 45;",
        f"INSERT INTO horae_job_attempts VALUES (45, 1, 1, NULL, {NOW + SECOND}, {NOW + 2 * SECOND}, 'snoozed', NULL, NULL);",
    ]
)
"""Jobs under limits by key, in a fair queue, with unique keys, that expire and that were snoozed."""


def records(*more: dict[str, Any]) -> list[dict[str, Any]]:
    """The log of the bodies of the clean database."""
    bodies = [
        (1, 1, 1, 1.0, None),
        (1, 2, 2, 3.0, 9.0),
        (2, 1, 1, 10.0, None),
        (3, 1, 1, 20.0, None),
        (4, 1, 1, 30.0, 39.0),
    ]
    return [
        {"what": "created", "job": 1, "at": 0.0},
        {"what": "cancelled", "job": 3, "at": 25.0},
        {"what": "effect", "job": 1, "attempt": 1, "lease": 1, "at": 1.5},
        {"what": "effect", "job": 1, "attempt": 2, "lease": 2, "at": 3.5},
        *(
            {"what": what, "job": job, "attempt": attempt, "lease": lease, "node": "a", "at": at}
            for job, attempt, lease, begin, end in bodies
            for what, at in (("begin", begin), ("end", end))
            if at is not None
        ),
        *more,
    ]


@pytest.fixture
def connection(migrated_sqlite: Path) -> Iterator[sqlite3.Connection]:
    """The tables without any constraint, as they could look if constraints did not hold."""
    with closing(sqlite3.connect(f"file:{migrated_sqlite}?mode=ro", uri=True)) as real:
        names = [
            name for (name,) in real.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        columns = {
            name: [row[1] for row in real.execute(f"PRAGMA table_info({name})")] for name in names
        }
    with closing(sqlite3.connect(":memory:")) as bare:
        for name in names:
            if name.startswith("horae_"):
                bare.execute(
                    f"CREATE TABLE {name} ({', '.join(f'{column!r}' for column in columns[name])})"
                )
        bare.execute("CREATE TABLE effects (job, attempt)")
        bare.executescript(CLEAN + OPTIONS)
        yield bare


class Breach(NamedTuple):
    """What is planted, and the one finding; `log`: records that are added to those of the clean database."""

    change: str
    rule: str
    sentence: str
    log: tuple[dict[str, Any], ...] = ()


def body(what: str, job: int, lease: int, at: float, attempt: int = 1) -> dict[str, Any]:
    return {"what": what, "job": job, "attempt": attempt, "lease": lease, "at": at}


def began(job: int, second: int) -> str:
    """Let the only attempt of a job begin at another second."""
    begin, end = NOW + second * SECOND, NOW + (second + 1) * SECOND
    return f"UPDATE horae_job_attempts SET started_at = {begin}, finished_at = {end} WHERE job_id = {job};"


AT: Final = "2026-03-29T00:"
BREACHES: Final = [
    Breach(
        f"UPDATE horae_job_attempts SET started_at = {NOW + 8 * SECOND} WHERE job_id = 7",
        "a job after a group begins after it",
        f"job 7 began at {AT}00:08+00:00, but job 6 before it ended at {AT}00:09+00:00",
    ),
    Breach(
        "UPDATE horae_groups SET cancelled_at = 1",
        "a job after a group begins after it",
        "group 1 was cancelled, but job 7 after it began",
    ),
    Breach(
        "INSERT INTO horae_groups (id, then_id, total, finished, failed, cancelled, ended_at) VALUES (2, 7, 0, 0, 0, 0, 1)",
        "a job after a group begins after it",
        "job 7 is the job after groups 1 and 2",
    ),
    Breach(
        "UPDATE horae_groups SET finished = 0",
        "groups count their members",
        "group 1 counts 1 members that have not ended, but there are 0",
    ),
    Breach(
        f"UPDATE horae_job_attempts SET started_at = {NOW + 11 * SECOND} WHERE job_id = 8",
        "a job after others begins after them",
        f"job 8 began at {AT}00:11+00:00, but job 7 before it ended at {AT}00:12+00:00",
    ),
    Breach(
        "", "no job is lost", "job 9 was created, but has no row", ({"what": "created", "job": 9},)
    ),
    Breach(
        "INSERT INTO horae_job_attempts VALUES (9, 1, 1, NULL, 1, 2, 'failed', NULL, NULL)",
        "no job is lost",
        "job 9 has attempts, but no row",
    ),
    Breach(
        "UPDATE horae_jobs SET state = 'pending' WHERE id = 2",
        "no job is lost",
        "job 2 (charge) was never ended: it is pending",
    ),
    Breach(
        "UPDATE horae_jobs SET node_id = 'n' WHERE id = 3",
        "no job is lost",
        "job 3 (charge) has ended, but node n never released it",
    ),
    Breach(
        "UPDATE horae_job_attempts SET outcome = 'finished' WHERE job_id = 1 AND lease = 1",
        "no job finishes twice",
        "job 1 (charge) finished 2 times, with leases 1 and 2",
    ),
    Breach(
        "DELETE FROM horae_job_attempts WHERE job_id = 1 AND lease = 2",
        "no job finishes twice",
        "job 1 (charge) is finished, but no attempt with its lease 2 finished",
    ),
    Breach(
        "UPDATE horae_job_attempts SET outcome = 'finished' WHERE job_id = 3",
        "no job finishes twice",
        "job 3 (charge) is cancelled, although its attempt with lease 1 finished",
    ),
    Breach(
        "INSERT INTO effects VALUES (1, 2)",
        "effects exactly once",
        "job 1 (charge) finished and has 2 effects of its last attempt, expected 1",
    ),
    Breach(
        "DELETE FROM effects",
        "effects exactly once",
        "job 1 (charge) finished and has 0 effects of its last attempt, expected 1",
    ),
    Breach(
        "INSERT INTO effects VALUES (1, 1)",
        "effects exactly once",
        "job 1 (charge) finished in attempt 2, but has effects of attempts [1]",
    ),
    Breach(
        "INSERT INTO effects VALUES (2, 1)",
        "effects exactly once",
        "job 2 (charge) is failed, but has effects of attempts [1]",
    ),
    Breach(
        "UPDATE horae_jobs SET lease = 0 WHERE id = 2",
        "leases only grow",
        "job 2 (charge) has lease 0, but an attempt with lease 1",
    ),
    Breach(
        "UPDATE horae_jobs SET max_attempts = 1 WHERE id = 1; UPDATE horae_job_attempts SET lease = lease WHERE job_id = 1",
        "leases only grow",
        "job 1 (charge) was tried 2 times, at most 1 are allowed",
    ),
    Breach(
        "UPDATE horae_job_attempts SET attempt = 3 WHERE job_id = 1 AND lease = 1",
        "leases only grow",
        "job 1 (charge): attempt 2 has lease 2, which is after attempt 3",
    ),
    Breach(
        f"UPDATE horae_job_attempts SET finished_at = {NOW + 4 * SECOND} WHERE job_id = 1 AND lease = 1",
        "leases only grow",
        f"job 1 (charge): the attempt with lease 2 began at {AT}00:03+00:00, before the one with lease 1 had ended",
    ),
    Breach(
        "",
        "bodies as recorded",
        "job 2 (charge) began 2 times, at most 1 are allowed",
        (body("begin", 2, 2, 11.0, 2),),
    ),
    Breach(
        "",
        "bodies as recorded",
        "job 1 (charge): a body began with lease 2 after one with lease 2",
        (body("begin", 1, 2, 9.5, 2), body("end", 1, 2, 9.6, 2)),
    ),
    Breach(
        "",
        "bodies as recorded",
        "job 1 (charge): two bodies ran at the same time, with leases 1 and 2",
        (body("end", 1, 1, 4.0),),
    ),
    Breach(
        "DELETE FROM horae_job_attempts WHERE job_id = 2",
        "bodies as recorded",
        "job 2 (charge): a body began with lease 1, but no attempt is recorded",
    ),
    Breach(
        "UPDATE horae_job_attempts SET attempt = 2 WHERE job_id = 4; UPDATE horae_jobs SET max_attempts = 2 WHERE id = 4",
        "bodies as recorded",
        "job 4 (beat): the body with lease 1 was attempt 1, but 2 is recorded",
    ),
    Breach(
        "UPDATE horae_job_attempts SET outcome = 'finished' WHERE job_id = 5;"
        "UPDATE horae_jobs SET state = 'finished' WHERE id = 5;"
        "UPDATE horae_schedule_statistics SET total_successes = 2, total_crashes = 0",
        "bodies as recorded",
        "job 5 (beat): the attempt with lease 1 is recorded as finished, but its body never ended",
        (body("begin", 5, 1, 50.0),),
    ),
    Breach(
        "UPDATE horae_jobs SET state = 'failed' WHERE id = 3",
        "a cancel is final",
        "job 3 (charge) is failed, although its cancel was confirmed",
    ),
    Breach(
        "INSERT INTO horae_audit (at, actor, action, target, outcome) VALUES (1, 'ann', 'job.cancel', '2', 'done')",
        "a cancel is final",
        "job 2 (charge) is failed, although its cancel was confirmed",
    ),
    Breach(
        "INSERT INTO horae_ticks SELECT * FROM horae_ticks WHERE reason = 'overlap'",
        "one decision for each nominal time",
        f"schedule 1 (beat): {AT}35:00+00:00 has 2 decisions",
    ),
    Breach(
        f"UPDATE horae_ticks SET until = {NOW + 35 * MINUTE}, count = 6 WHERE reason = 'window'",
        "one decision for each nominal time",
        f"schedule 1 (beat): {AT}35:00+00:00 is decided twice, also in the row that begins at {AT}10:00+00:00",
    ),
    Breach(
        "UPDATE horae_ticks SET retried_as = 2 WHERE job_id = 5",
        "one decision for each nominal time",
        f"schedule 1 (beat): {AT}05:00+00:00 was last retried as job None, but its decision names 2",
    ),
    Breach(
        "UPDATE horae_ticks SET count = 4 WHERE reason = 'window'",
        "one decision for each nominal time",
        f"schedule 1 (beat): the row of {AT}10:00+00:00 counts 4 times, which end at {AT}25:00+00:00, not at {AT}30:00+00:00",
    ),
    Breach(
        "DELETE FROM horae_ticks WHERE reason = 'window'",
        "one decision for each nominal time",
        f"schedule 1 (beat): {AT}10:00+00:00 has no decision",
    ),
    Breach(
        "DELETE FROM horae_ticks WHERE reason = 'overlap'",
        "one decision for each nominal time",
        f"schedule 1 (beat): {AT}35:00+00:00 has no decision",
    ),
    Breach(
        f"INSERT INTO horae_ticks (schedule_id, nominal_time, until, count, decision, reason, decided_at) VALUES (1, {NOW + 7 * MINUTE}, {NOW + 7 * MINUTE}, 1, 'skipped', 'overlap', 1)",
        "one decision for each nominal time",
        f"schedule 1 (beat): {AT}07:00+00:00 has a decision, but is no time of '*/5 * * * *'",
    ),
    Breach(
        "UPDATE horae_ticks SET job_id = NULL, decision = 'skipped', reason = 'overlap' WHERE job_id = 5",
        "one decision for each nominal time",
        f"schedule 1 (beat): job 5 runs for {AT}05:00+00:00, but no decision names it",
    ),
    Breach(
        "DELETE FROM horae_jobs WHERE id = 5; DELETE FROM horae_job_attempts WHERE job_id = 5;"
        "UPDATE horae_schedule_statistics SET total_runs = 1, total_crashes = 0",
        "one decision for each nominal time",
        f"schedule 1 (beat): the decision about {AT}05:00+00:00 names job 5, which does not run for it",
    ),
    Breach(
        f"UPDATE horae_jobs SET created_at = {NOW + 8 * SECOND} WHERE id = 5",
        "no overlap",
        "schedule 1 (beat): job 5 was created before job 4 had ended",
    ),
    Breach(
        f"UPDATE horae_job_attempts SET started_at = {NOW + 8 * SECOND} WHERE job_id = 5; DELETE FROM horae_queues",
        "no overlap",
        f"schedule 1 (beat): job 5 began at {AT}00:08+00:00, before job 4 had ended",
    ),
    Breach(
        "DELETE FROM horae_queues",
        "no overlap",
        "schedule 1 (beat): the bodies of jobs 4 and 5 ran at the same time",
        (body("begin", 5, 1, 38.0), body("end", 5, 1, 40.0)),
    ),
    Breach(
        "UPDATE horae_schedules SET next_start = NULL",
        "no schedule waits for ever",
        "schedule 1 (beat) is enabled, but has no next start",
    ),
    Breach(
        "UPDATE horae_schedules SET state = 'executing', run_token = 5",
        "no schedule waits for ever",
        "schedule 1 (beat) is executing, waiting for job 5 (beat)",
    ),
    Breach(
        "UPDATE horae_schedule_statistics SET total_failures = 1",
        "statistics add up",
        "schedule 1 (beat): 1 successes, 1 failures and 1 crashes are not 2 runs",
    ),
    Breach(
        "UPDATE horae_schedule_statistics SET total_runs = 3, total_failures = 1",
        "statistics add up",
        "schedule 1 (beat): 3 runs are counted, but 2 began",
    ),
    Breach(
        "UPDATE horae_schedule_statistics SET total_successes = 0, total_failures = 1",
        "statistics add up",
        "schedule 1 (beat): 0 successes are counted, but 1 runs finished",
    ),
    Breach(
        "UPDATE horae_job_attempts SET outcome = 'failed' WHERE job_id = 5",
        "statistics add up",
        "schedule 1 (beat): 1 crashes are counted, but only 0 runs crashed",
    ),
    Breach(
        "DELETE FROM horae_schedule_statistics",
        "statistics add up",
        "schedule 1 (beat) has no statistics",
    ),
    Breach(
        began(21, 9),
        "limits by key hold",
        f"limit api.rate for key 'a' allows 1 starts in 10 s and 1 at once, but more began from {AT}00:01+00:00 to {AT}00:09+00:00",
    ),
    Breach(
        began(21, 12)
        + f"UPDATE horae_job_attempts SET finished_at = {NOW + 13 * SECOND} WHERE job_id = 20;",
        "limits by key hold",
        f"limit api.concurrency for key 'a' allows 1 at a time, but at {AT}00:12+00:00 job 20, job 21 ran",
    ),
    Breach(
        "",
        "limits by key hold",
        "limit api.concurrency for key 'a' allows 1 at a time, but at 2.0 job 20, job 21 ran, by the bodies' clock",
        (
            body("begin", 20, 1, 1.0),
            body("end", 20, 1, 3.0),
            body("begin", 21, 1, 2.0),
            body("end", 21, 1, 4.0),
        ),
    ),
    Breach(
        began(25, 10),
        "limits by key hold",
        f"limit sms.rate allows 1 starts in 10 s, but 2 began from {AT}00:01+00:00 to {AT}00:10+00:00",
    ),
    Breach(
        began(35, 20),
        "owners take turns",
        "queue mail: job 35 of 'bob' waited while 3 jobs of 'ann' started: 31, 32, 33",
    ),
    Breach(
        f"UPDATE horae_jobs SET created_at = {NOW + 5 * SECOND} WHERE id = 41",
        "a key has one job",
        f"job 41 (single) was created at {AT}00:05+00:00, while job 40 (single) had the same key until {AT}00:09+00:00",
    ),
    Breach(
        f"UPDATE horae_jobs SET created_at = {NOW + 2 * SECOND} WHERE id = 43",
        "a key has one job",
        f"job 43 (settled) was created at {AT}00:02+00:00, while job 42 (settled) had the same key until {AT}00:04+00:00",
    ),
    Breach(
        "UPDATE horae_job_attempts SET attempt = 2 WHERE job_id = 45 AND lease = 2;"
        "UPDATE horae_jobs SET attempt = 2, max_attempts = 2 WHERE id = 45",
        "attempts count as they should",
        "job 45 (poll): the snoozed attempt 1 counts: the next one is 2",
    ),
    Breach(
        "UPDATE horae_job_attempts SET outcome = 'interrupted', attempt = 0 WHERE job_id = 45 AND lease = 1",
        "attempts count as they should",
        "job 45 (poll): the interrupted attempt 0 counts: the next one is 1",
    ),
    Breach(
        "UPDATE horae_job_attempts SET outcome = 'failed' WHERE job_id = 45 AND lease = 1",
        "attempts count as they should",
        "job 45 (poll): attempt 1 failed, and the next one has the same number",
    ),
    Breach(
        began(44, 7),
        "expired jobs do not begin",
        f"job 44 (offer) began at {AT}00:07+00:00, after it had expired at {AT}00:05+00:00",
    ),
    Breach(
        "UPDATE horae_jobs SET state = 'failed', error = 'expired: the job had not begun' WHERE id = 44;"
        "UPDATE horae_job_attempts SET outcome = 'crashed' WHERE job_id = 44",
        "expired jobs do not begin",
        f"job 44 (offer) expired, although it had begun at {AT}00:01+00:00",
    ),
    Breach(
        "UPDATE horae_groups SET ended_at = NULL",
        "groups end with their last member",
        "all members of group 1 have ended, but it has not",
    ),
    Breach(
        f"UPDATE horae_jobs SET queue = 'narrow' WHERE id = 2; UPDATE horae_jobs SET created_at = {NOW} WHERE id = 2",
        "limits hold",
        f"queue narrow allows 1 jobs at a time, but at {AT}00:01+00:00 job 2, job 4 ran",
    ),
]


@pytest.mark.parametrize("breach", BREACHES, ids=lambda breach: breach.sentence[:60])
def test_each_breach_is_named(connection: sqlite3.Connection, breach: Breach) -> None:
    connection.executescript(breach.change)
    found = check(connection, records(*breach.log))
    assert (breach.rule, breach.sentence) in found
    allowed = (
        {breach.rule, "bodies as recorded"}
        if "horae_job_attempts" in breach.change
        else {breach.rule}
    )
    assert {
        finding.rule for finding in found
    } <= allowed  # what bodies logged differs from attempts that were edited


def test_bodies_count_against_a_limit(connection: sqlite3.Connection) -> None:
    """Whatever the attempts say, the bodies' own clock decides."""
    connection.executescript(
        f"UPDATE horae_jobs SET queue = 'narrow' WHERE id = 1;UPDATE horae_job_attempts SET started_at = {NOW - MINUTE}, finished_at = {NOW - MINUTE} WHERE job_id = 1"
    )
    found = check(
        connection,
        records(body("begin", 5, 1, 4.0), body("end", 5, 1, 5.0)),
        Settings(steady_clock=False),
    )
    assert (
        "limits hold",
        "queue narrow allows 1 jobs at a time, but at 4.000 s by the bodies' clock job 1, job 5 ran",
    ) in found


def test_a_clean_database_has_no_findings(connection: sqlite3.Connection) -> None:
    assert check(connection, records()) == []
    assert check(connection) == []


@pytest.mark.parametrize(
    ("change", "settings"),
    [
        (
            "UPDATE horae_jobs SET state = 'started', finished_at = NULL WHERE id = 2",
            Settings(over=False),
        ),
        (
            "DELETE FROM horae_jobs WHERE id = 5; DELETE FROM horae_job_attempts WHERE job_id = 5",
            Settings(kept=False),
        ),
        (f"UPDATE horae_jobs SET created_at = {NOW} WHERE id = 5", Settings(steady_clock=False)),
        (began(44, 7), Settings(slept=True)),
        (began(35, 20), Settings(slept=True)),
    ],
)
def test_effects_that_a_fault_permits_are_no_finding(
    connection: sqlite3.Connection, change: str, settings: Settings
) -> None:
    connection.executescript(change)
    assert check(connection, records())
    assert check(connection, records(), settings) == []


def test_a_snoozed_or_interrupted_attempt_does_not_count(connection: sqlite3.Connection) -> None:
    connection.executescript(
        "UPDATE horae_job_attempts SET outcome = 'snoozed', attempt = 1 WHERE job_id = 1 AND lease = 1;"
        "UPDATE horae_job_attempts SET attempt = 1 WHERE job_id = 1; UPDATE horae_jobs SET attempt = 1, max_attempts = 1 WHERE id = 1;"
        "UPDATE effects SET attempt = 1 WHERE job = 1; UPDATE horae_job_attempts SET outcome = 'interrupted' WHERE job_id = 5;"
        "UPDATE horae_schedule_statistics SET total_runs = 1, total_crashes = 0"
    )
    log = [
        {**record, "attempt": 1} if record["job"] == 1 and "attempt" in record else record
        for record in records()
    ]
    assert check(connection, log) == []


def test_an_altered_schedule_is_compared_only_since_then(connection: sqlite3.Connection) -> None:
    connection.executescript("UPDATE horae_schedules SET trigger = '0 * * * *'")
    assert check(connection)
    values = f"{NOW + 36 * MINUTE}, 'ann', 'schedule.alter', 'beat', 'done'"
    connection.execute(
        f"INSERT INTO horae_audit (at, actor, action, target, outcome) VALUES ({values})"
    )
    assert check(connection) == []


def test_a_line_that_a_kill_cut_off_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('{"what": "begin", "job": 1, "lease": 1, "at": 1}\n{"what": "en')
    assert [body.end for body in BodyLog.of(read(log)).bodies()] == [None]
    log.write_text('{"wh\n{"what": "begin", "job": 1}')
    with pytest.raises(ValueError, match="Unterminated"):
        list(read(log))
    with pytest.raises(
        ValueError,
        match="'oops' in the log: expected one of begin, cancelled, created, effect, end",
    ):
        BodyLog.of([{"what": "oops", "job": 1}])


def test_expressions_that_the_library_reads_otherwise_are_left_out() -> None:
    def first(trigger: str, zone: str = "UTC") -> str | None:
        fires = fires_after("cron", trigger, zone, NOW)
        return None if fires is None else shown(next(fires))

    assert (
        first("30 2 * * *", "Europe/Berlin") == "2026-03-29T01:00:00+00:00"
    )  # 03:00, after the gap
    assert first("5/15 * * * *") is None
    assert first("0 3 * * *; dst_gap=skip") is None
    assert first("0 0 3 * * * 2027") is None
    assert fires_after("interval", "10m", "UTC", moment(NOW)) is None


def test_it_shares_nothing_with_the_code_that_it_checks() -> None:
    programs = [path for path in HERE.glob("*.py") if not path.name.startswith("test_")]
    assert len(programs) > 5
    imported = {
        name
        for path in programs
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    ours = {
        name
        for name in imported
        if name.partition(".")[0] in {"horae", "tests", "benchmarks", "sqlalchemy"}
    }
    assert {
        name for name in ours if name != "tests.checker" and not name.startswith("tests.checker.")
    } == set()
