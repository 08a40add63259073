"""The audit finds attempts that exceed a limit by key, and accepts those that the limit allows."""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

import pytest

from horae import Horae, Limit
from horae.domain.times import EPOCH, MICROSECOND
from horae.storage.engine import Database
from horae.storage.jobs.limits import filing
from tests.harness.applications import application, execute
from tests.schedules.clock import MONDAY

SECOND: Final = timedelta(seconds=1)
AT_A_TIME: Final = Limit(concurrency=2, key="{account}", name="partner")
BUCKET: Final = Limit(rate="2/s", burst=2, key="{account}", name="partner")
SLIDING: Final = Limit(rate="2/s", window="sliding", key="{account}", name="partner")
Span = tuple[str, float, float]


def findings(
    database: Database, limit: Limit, spans: Sequence[Span], weight: int = 1, change: Any = None
) -> list[str]:
    """Return what the audit finds after attempts of these accounts, from and to these seconds."""
    with application(database) as horae:

        @horae.job(limits=[limit])
        def call(account: str) -> None: ...

        for number, (account, start, end) in enumerate(spans, 1):
            job = horae.jobs.start(call, account=account, weight=weight)
            ended = MONDAY + end * SECOND
            write_attempt(horae, job.id, number, MONDAY + start * SECOND, ended)
        if change is not None:
            change(horae)
        return [each.message for each in horae.audit().findings if each.invariant == "limits"]


def write_attempt(horae: Horae, job_id: int, lease: int, started: Any, finished: Any) -> None:
    values: dict[str, Any] = {
        "job": job_id,
        "lease": lease,
        "started": started,
        "finished": finished,
    }
    if horae.components.database.dialect == "sqlite":
        values |= {
            name: int(values[name].timestamp() * 1_000_000) for name in ("started", "finished")
        }
    execute(
        horae,
        "INSERT INTO horae_job_attempts (job_id, lease, attempt, started_at, finished_at, outcome) "
        "VALUES (:job, :lease, 1, :started, :finished, 'finished')",
        **values,
    )


@pytest.mark.parametrize(
    ("limit", "spans"),
    [
        (AT_A_TIME, [("a", 0, 2), ("a", 1, 3), ("a", 2, 4), ("b", 1, 3)]),
        (BUCKET, [("a", 0, 9), ("a", 0, 9), ("a", 0.5, 9), ("a", 1, 9), ("b", 1, 9)]),
        (SLIDING, [("a", 0, 9), ("a", 0.1, 9), ("a", 1, 9), ("a", 1.1, 9)]),
    ],
)
def test_what_a_limit_allows_is_no_finding(
    database: Database, limit: Limit, spans: list[Span]
) -> None:
    assert findings(database, limit, spans) == []


@pytest.mark.parametrize(
    ("limit", "spans", "text"),
    [
        (
            AT_A_TIME,
            [("a", 0, 2), ("a", 1, 3), ("a", 1.5, 4)],
            "allows 2 at a time for key 'a', but job 3 started",
        ),
        (
            BUCKET,
            [("a", 0, 9), ("a", 0, 9), ("a", 0.49, 9)],
            "allows 2 per second, burst 2 for key 'a'",
        ),
        (
            SLIDING,
            [("a", 0, 9), ("a", 0.1, 9), ("a", 0.99, 9)],
            "allows 2 per second, sliding window for key 'a'",
        ),
    ],
)
def test_one_too_many_is_found(
    database: Database, limit: Limit, spans: list[Span], text: str
) -> None:
    (message,) = findings(database, limit, spans)
    assert text in message
    assert message.endswith("was one too many")


def test_weights_count(database: Database) -> None:
    assert len(findings(database, AT_A_TIME, [("a", 0, 2), ("a", 1, 3)], weight=2)) == 1


def test_a_limit_that_was_changed_is_not_judged(database: Database) -> None:
    spans = [("a", 0, 2), ("a", 1, 3), ("a", 1.5, 4)]
    assert (
        findings(
            database,
            AT_A_TIME,
            spans,
            change=lambda horae: horae.limits.set("partner", concurrency=3),
        )
        == []
    )


@pytest.mark.parametrize(
    "declared", [BUCKET, Limit(rate="2/s", burst=9, key="{account}", name="partner")]
)
def test_a_bucket_that_holds_more_than_a_burst_is_found_unless_newer_code_declares_more(
    database: Database, declared: Limit
) -> None:
    def fill(horae: Horae) -> None:
        @horae.job(limits=[declared])
        def other(account: str) -> None: ...

        horae.jobs.start(other, account="b")
        horae.components.database.transact(filing.file)
        state = json.dumps([5 * 1_000_000, (MONDAY - EPOCH) // MICROSECOND + 1, 1_000_000])
        execute(horae, "UPDATE horae_limit_buckets SET state = :state WHERE key = 'b'", state=state)

    found = findings(database, BUCKET, [("b", 0, 9)], change=fill)
    assert len(found) == (declared == BUCKET)
    assert all(
        "allows 2 per second, burst 2 for key 'b', but 5 starts are stored as free" in each
        for each in found
    )
