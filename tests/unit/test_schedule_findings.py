"""Findings about schedules that are late, fail, were disabled, or start jobs of unknown types."""

from datetime import UTC, datetime
from typing import Any

from horae.client.doctor.finding import Level
from horae.client.doctor.schedules import schedule_findings
from horae.domain.jobs.job import NodeId
from horae.storage.nodes.nodes import NodeView
from horae.storage.schedules.clock_setbacks import WaitingSchedule
from horae.storage.schedules.health import FailingSchedule, LateSchedule, ScheduleHealth

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NODE = NodeView(
    id=NodeId("n1"),
    name="left",
    host="h",
    pid=7,
    version="1",
    roles=["scheduler", "worker"],
    queues=None,
    types=["known"],
    concurrency=10,
    lock_key=1,
    started_at=NOON,
    heartbeat_at=NOON,
    process_ended=False,
    silence=0.1,
    lock_free=False,
    running=2,
)


def failing(number: int, *, gave_up: bool, streak: int = 4) -> FailingSchedule:
    return FailingSchedule(
        id=number, name=f"s{number}", job_type="known", streak=streak, gave_up=gave_up
    )


def told(
    alive: bool = True, known: tuple[str, ...] = (), **troubles: Any
) -> list[tuple[Level, str]]:
    given: dict[str, Any] = {"late": [], "failing": [], "job_types": {"known": 3}} | troubles
    findings = schedule_findings(ScheduleHealth(**given), [NODE] if alive else [], known=known)
    return [(finding.level, finding.message) for finding in findings]


def test_a_healthy_schedule_has_no_findings() -> None:
    assert told() == [(Level.OK, "3 enabled, none is late or failing")]
    assert told(alive=False) == told()


def test_lateness_depends_on_the_running_nodes() -> None:
    late = [LateSchedule(id=3, name="nightly", seconds=75.2)]
    words = "schedule 'nightly' should have started 75 s ago but has not"
    assert told(late=late) == [(Level.PROBLEM, words)]
    assert told(alive=False, late=late) == [(Level.PROBLEM, f"{words}: no node fires schedules")]


def test_those_that_gave_up_are_problems_and_the_others_warnings() -> None:
    found = told(failing=[failing(1, gave_up=True, streak=2), failing(7, gave_up=False, streak=1)])
    assert found == [
        (
            Level.PROBLEM,
            "schedule 's1' is disabled, because its retries are used up: 2 failures in a row",
        ),
        (Level.WARNING, "schedule 's7' keeps failing: 1 failure in a row"),
    ]


def test_types_that_no_live_node_knows() -> None:
    types = {"known": 1, "gone": 2}
    assert told(job_types=types) == [
        (
            Level.PROBLEM,
            "2 schedules for jobs of type 'gone', which no live node knows",
        )
    ]
    assert told(job_types=types, known=("gone",))[0][1].endswith("but this application does")
    assert told(alive=False, job_types=types) == [(Level.OK, "3 enabled, none is late or failing")]


def test_a_clock_that_was_set_back_names_who_waits_and_why() -> None:
    later = NOON.replace(hour=13)
    waiting = [
        WaitingSchedule(number, f"s{number}", later, later, is_interval=False)
        for number in range(7)
    ]
    waiting.append(WaitingSchedule(8, "beat", later, later, is_interval=True))
    until = "until 2026-03-02 13:00:00 UTC"
    named = ", ".join(f"'s{number}' {until}" for number in range(5))
    why = "the clock of the database was set back"
    assert told(waiting=waiting) == [
        (Level.WARNING, f"{why}; schedules wait, as earlier times are decided: {named} and 2 more"),
        (Level.WARNING, f"{why}; intervals wait for their next start: 'beat' {until}"),
    ]
