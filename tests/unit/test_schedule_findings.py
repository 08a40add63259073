"""Findings about schedules that are late, fail, were disabled, or start jobs of unknown types."""

from datetime import UTC, datetime
from typing import Any

from horae.client.doctor.finding import Level
from horae.client.doctor.schedules import schedule_findings
from horae.domain.jobs.job import NodeId
from horae.storage.nodes.nodes import NodeView
from horae.storage.schedules.clock_setbacks import WaitingSchedule
from horae.storage.schedules.health import FailingSchedule, OverdueSchedules, ScheduleHealth

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
    given: dict[str, Any] = {"overdue": None, "failing": [], "job_types": {"known": 3}} | troubles
    findings = schedule_findings(ScheduleHealth(**given), [NODE] if alive else [], known=known)
    return [(finding.level, finding.message) for finding in findings]


def test_a_healthy_schedule_has_no_findings() -> None:
    assert told() == [(Level.OK, "3 enabled, none is late or failing")]
    assert told(alive=False) == told()


def test_lateness_depends_on_the_running_nodes() -> None:
    late = OverdueSchedules(count=3, name="nightly", seconds=75.2)
    words = "'nightly' and 2 more should have started (the oldest 75 s ago) but did not"
    assert told(overdue=late) == [(Level.PROBLEM, words)]
    assert told(alive=False, overdue=late) == [(Level.PROBLEM, f"{words}: no node fires schedules")]


def test_a_few_are_named_and_the_others_counted() -> None:
    many = [failing(number, gave_up=number < 7, streak=1 + number % 2) for number in range(1, 14)]
    found = told(failing=many)
    assert [level for level, _ in found] == [Level.PROBLEM] * 6 + [Level.WARNING] * 6
    assert found[0][1] == "'s1' is disabled, because its retries are used up: 2 failures in a row"
    assert found[1][1].endswith("1 failure in a row")
    assert found[5][1] == "1 more are disabled after failures"
    assert found[6][1] == "'s7' keeps failing: 2 failures in a row"
    assert found[11][1] == "2 more have failed several times in a row"
    assert len(told(failing=many[:5])) == 5


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
