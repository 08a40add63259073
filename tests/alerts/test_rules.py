"""From the findings of a look to what is told: pure functions."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from horae.alerts import AlertThresholds, Rule
from horae.alerts.rules import RULES, away, problems_of
from horae.client.doctor import (
    MOST_OF_A_KIND,
    Finding,
    failing_findings,
    late_findings,
    late_queue_findings,
    lost_findings,
    missed_findings,
    node_findings,
)
from horae.client.doctor.slow_queues import unclaimed_findings
from horae.domain.jobs.job import NodeId
from horae.errors import InvalidInterval, InvalidRequest
from horae.storage.nodes import DeadNode, NodeView
from horae.storage.queues import DueJobs, QueueView
from horae.storage.schedules import FailingSchedule, LateSchedule, MissedSchedule

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def late(number: int) -> LateSchedule:
    return LateSchedule(id=number, name=f"nightly-{number}", seconds=400)


def failing(*, gave_up: bool) -> Iterable[Finding]:
    return failing_findings(
        [FailingSchedule(id=3, name="nightly", job_type="n", streak=4, gave_up=gave_up)]
    )


def missed() -> Iterable[Finding]:
    return missed_findings(
        [MissedSchedule(id=3, name="nightly", nominal_time=NOW, count=2, reason="catch_up_none")]
    )


def lost() -> Iterable[Finding]:
    jobs = {"failed": 1, "pending": 2}
    return lost_findings(
        [DeadNode(id=NodeId("n1"), name="one", host="h/7", pid=7, died_at=NOW, jobs=jobs)]
    )


@pytest.mark.parametrize(
    ("findings", "key", "details"),
    [
        (missed(), "schedule_missed:3", {"schedule": "nightly", "runs": 2, "id": "3"}),
        (late_findings([late(3)], []), "schedule_late:3", {"schedule": "nightly-3", "id": "3"}),
        (failing(gave_up=False), "schedule_failing:3", {"schedule": "nightly", "failures": 4}),
        (failing(gave_up=True), "schedule_failing:3", {"schedule": "nightly", "failures": 4}),
        (
            late_queue_findings([DueJobs(queue="mail", type="work", count=12, oldest=7300.0)], []),
            "queue_late:mail",
            {"queue": "mail", "seconds": 7300.0, "jobs": 12, "id": None},
        ),
        (lost(), "node_dead:n1", {"node": "one", "pid": 7, "host": "h", "id": "n1"}),
    ],
)
def test_each_rule(findings: Iterable[Finding], key: str, details: dict[str, object]) -> None:
    [finding] = findings
    [problem] = problems_of([finding])
    assert (problem.key, problem.summary, problem.hold) == (key, finding.message, 0.0)
    assert problem.rule.value == key.partition(":")[0]
    assert details.items() <= problem.details.items()


def test_a_database_that_is_away_must_stay_away_before_it_is_told() -> None:
    problem = away("no route to host", AlertThresholds())
    assert (problem.key, problem.rule, problem.hold) == ("database_away", Rule.DATABASE_AWAY, 10.0)
    assert problem.summary == "the database cannot be read: no route to host"


def test_a_node_is_one_alert_before_and_after_others_have_removed_it() -> None:
    [before] = problems_of(node_findings([], [(node(), "its process has ended")]))
    [after] = problems_of(lost())
    assert before.key == after.key


def test_what_is_told_elsewhere_is_no_alert() -> None:
    assert problems_of([]) == []
    assert problems_of(node_findings([node(roles=["scheduler"])], [])) == []
    assert set(RULES.values()) == set(Rule) - {Rule.DATABASE_AWAY}


def test_many_problems_of_a_rule_are_one() -> None:
    few = problems_of(late_findings([late(n) for n in range(MOST_OF_A_KIND)], []))
    assert len(few) == MOST_OF_A_KIND
    [many] = problems_of(late_findings([late(n) for n in range(1000)], []))
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
    found = problems_of(unclaimed_findings([jobs], [view], [alive], claimed, 60.0))
    assert [each.details["free"] for each in found] == ([] if free is None else [free])
