"""From what was seen to what is wrong: pure functions."""

from datetime import UTC, datetime
from typing import Any

import pytest

from horae.alerts import AlertThresholds, Rule
from horae.alerts.rules import MOST_OF_A_RULE, LostNode, Observation, problems_of
from horae.client.doctor import IdleSlots, LateQueue, idle_slots
from horae.domain.jobs.job import NodeId
from horae.errors import InvalidInterval, InvalidRequest
from horae.storage.nodes import NodeView
from horae.storage.queues import DueJobs, QueueView
from horae.storage.schedules import FailingSchedule, LateSchedule, MissedSchedule

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
USUAL = AlertThresholds()


def late(number: int) -> LateSchedule:
    return LateSchedule(id=number, name=f"nightly-{number}", seconds=400)


@pytest.mark.parametrize(
    ("seen", "key", "summary"),
    [
        (
            Observation(away="no route to host"),
            "database_away",
            "the database cannot be read: no route to host",
        ),
        (
            Observation(late=[late(3)]),
            "schedule_late:3",
            "schedule 'nightly-3' should have started 7 min ago and has not",
        ),
        (
            Observation(
                missed=[
                    MissedSchedule(
                        id=3, name="nightly", nominal_time=NOW, count=2, reason="catch_up_none"
                    )
                ]
            ),
            "schedule_missed:3",
            (
                "schedule 'nightly' has missed 2 runs, the latest due at 2026-03-01 12:00:00 UTC"
                " (catch_up_none)"
            ),
        ),
        (
            Observation(
                failing=[
                    FailingSchedule(id=3, name="nightly", job_type="n", streak=4, gave_up=True)
                ]
            ),
            "schedule_failing:3",
            (
                "schedule 'nightly' has failed 4 times in a row, and is disabled, because its retries"
                " are used up"
            ),
        ),
        (
            Observation(late_queues=[LateQueue(name="mail", seconds=7300, due=12)]),
            "queue_late:mail",
            "a job in queue 'mail' has been due for 2 h; 12 wait for long",
        ),
        (
            Observation(idle_slots=[IdleSlots(queue="mail", due=2, free=8, seconds=61)]),
            "nothing_claimed:mail",
            "2 due in queue 'mail' and 8 slots free for them, but nothing was claimed in 61 s",
        ),
        (
            Observation(
                dead_nodes=[
                    LostNode(
                        id="n1",
                        name="one",
                        host="h",
                        pid=7,
                        held=3,
                        fate="1 failed, 2 to run again",
                    )
                ]
            ),
            "node_dead:n1",
            (
                "node 'one' (pid 7 on h) has stopped without unregistering; it held 3 jobs:"
                " 1 failed, 2 to run again"
            ),
        ),
    ],
)
def test_each_rule(seen: Observation, key: str, summary: str) -> None:
    [problem] = problems_of(seen, USUAL)
    assert (problem.key, problem.summary) == (key, summary)
    assert problem.rule.value == key.partition(":")[0]
    assert problem.hold == (10.0 if problem.rule is Rule.DATABASE_AWAY else 0.0)


def test_nothing_seen_is_no_problem() -> None:
    assert problems_of(Observation(), USUAL) == []


def test_many_problems_of_a_rule_are_one() -> None:
    few = problems_of(Observation(late=[late(n) for n in range(MOST_OF_A_RULE)]), USUAL)
    assert len(few) == MOST_OF_A_RULE
    [many] = problems_of(Observation(late=[late(n) for n in range(1000)]), USUAL)
    assert (many.key, many.details) == ("schedule_late", {"count": 1000})
    assert many.summary.endswith("; and 995 more")


@pytest.mark.parametrize(
    "given",
    [{"queue_late": "soon"}, {"queue_late": "-5m"}, {"queue_late": 5}, {"failures": 0}],
)
def test_thresholds_are_checked(given: dict[str, Any]) -> None:
    with pytest.raises((InvalidRequest, InvalidInterval), match=next(iter(given))):
        AlertThresholds(**given)


def node(**given: Any) -> NodeView:
    usual: dict[str, Any] = {
        "id": NodeId("n1"),
        "name": "one",
        "host": "h",
        "pid": 1,
        "version": "1",
        "roles": ["worker"],
        "queues": None,
        "types": ["work"],
        "concurrency": 4,
        "lock_key": None,
        "started_at": NOW,
        "heartbeat_at": NOW,
        "process_ended": False,
        "silence": 0.0,
        "lock_free": False,
        "running": 0,
    }
    return NodeView(**(usual | given))


def queue(**given: Any) -> QueueView:
    usual: dict[str, Any] = {
        "name": "mail",
        "paused_at": None,
        "note": None,
        "concurrency_limit": None,
        "pending": 1,
        "due": 1,
        "started": 0,
        "oldest_due": 70.0,
    }
    return QueueView(**(usual | given))


def due(**given: Any) -> DueJobs:
    usual: dict[str, Any] = {"queue": "mail", "type": "work", "count": 1, "oldest": 70.0}
    return DueJobs(**(usual | given))


@pytest.mark.parametrize(
    ("jobs", "view", "alive", "claimed", "free"),
    [
        (due(), queue(), node(), (), 4),
        (due(), queue(), node(running=3), (), 1),
        (due(), queue(), node(running=4), (), None),
        (due(), queue(), node(running=9), (), None),
        (due(oldest=59.0), queue(), node(), (), None),
        (due(), queue(), node(), ("mail",), None),
        (due(), queue(), node(), ("other",), 4),
        (due(), queue(paused_at=NOW), node(), (), None),
        (due(), queue(concurrency_limit=2, started=2), node(), (), None),
        (due(), queue(concurrency_limit=2, started=1), node(), (), 4),
        (due(), queue(), node(types=["other"]), (), None),
        (due(), queue(), node(queues=["other"]), (), None),
        (due(), queue(), node(roles=["scheduler"]), (), None),
        (due(sent=True), queue(), node(), (), None),
    ],
)
def test_free_slots_that_claim_nothing(
    jobs: DueJobs, view: QueueView, alive: NodeView, claimed: tuple[str, ...], free: int | None
) -> None:
    found = idle_slots([jobs], [view], [alive], claimed, 60.0)
    assert [each.free for each in found] == ([] if free is None else [free])
