"""What is wrong now: how it is told, counted and put together."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.client.doctor import (
    MOST_OF_A_KIND,
    About,
    Deed,
    Level,
    Noun,
    late_queue_findings,
    lost_findings,
    missed_findings,
    problem,
    together,
)
from horae.client.doctor.finding import NAMED
from horae.client.doctor.schedules import paused_findings
from horae.client.doctor.slow_queues import unclaimed_findings
from horae.client.doctor.work import queue_findings, work_findings
from horae.client.operations.overview import (
    failure_findings,
    unreadable_findings,
)
from horae.domain.jobs import Field, Is, parse_query, written_term
from horae.domain.jobs.job import NodeId
from horae.storage.nodes import DeadNode
from horae.storage.operations import DueWork, LastChange, TypeCounts
from horae.storage.queues import DueJobs, QueueView
from horae.storage.schedules import MissedSchedule, PausedSchedule
from tests.unit.test_schedule_findings import NODE

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
ANN = LastChange(NOON, "ann")


def queue(name: str, **changed: object) -> QueueView:
    view = QueueView(
        name=name,
        paused_at=None,
        note=None,
        concurrency_limit=None,
        pending=3,
        due=3,
        started=0,
        oldest_due=700.0,
    )
    return replace(view, **changed)  # type: ignore[arg-type]


@given(
    st.text(
        st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=50
    )
)
def test_a_written_term_finds_exactly_its_value(name: str) -> None:
    (term,) = parse_query(written_term(Field.QUEUE, name)).terms
    assert term.condition == Is(Field.QUEUE, (name,))
    assert not term.negated


def test_a_paused_queue_names_who_and_why_and_can_be_resumed() -> None:
    (found,) = queue_findings([queue("mail", paused_at=NOON, note="moving")], {"mail": ANN})
    assert "paused since 2026-03-02 12:00 UTC by ann (moving); 3 jobs wait" in found.message
    assert (found.began(NOON), found.deeds) == (NOON, (Deed.RESUME,))
    assert found.about == About(Noun.QUEUE, "mail")
    assert found.counted is not None
    assert found.counted.query == "state:pending queue:mail"


def test_due_work_that_nobody_takes_has_lasted_as_long_as_its_oldest_job() -> None:
    work = DueWork(queue="mail", type="send letter", count=12, oldest=300.0)
    (found,) = work_findings([work], [NODE], [], known=[])
    assert (found.kind, found.level) == ("type_unknown", Level.PROBLEM)
    assert found.began(NOON) == NOON - timedelta(minutes=5)
    assert found.counted is not None
    assert found.counted.query == 'state:pending queue:mail type:"send letter"'
    (unserved,) = work_findings(
        [replace(work, type="known")], [replace(NODE, queues=["other"])], [], known=[]
    )
    assert unserved.kind == "queue_unserved"


def test_a_queue_that_is_behind_can_be_paused() -> None:
    waiting = [
        DueJobs(queue="mail", type="a", count=3, oldest=700.0),
        DueJobs(queue="mail", type="b", count=1, oldest=900.0),
        DueJobs(queue="held", type="a", count=1, oldest=900.0),
    ]
    views = [queue("mail"), queue("held", paused_at=NOON)]
    (found,) = late_queue_findings(waiting, views)
    assert found.message == (
        "queue 'mail' is behind: a job has been due for 15 min, and 4 jobs wait for long"
    )
    assert (found.deeds, found.since) == ((Deed.PAUSE,), timedelta(seconds=900))


def test_a_pause_is_no_remedy_for_a_queue_that_its_limit_holds_back() -> None:
    waiting = [DueJobs(queue="mail", type="a", count=3, oldest=700.0)]
    (found,) = late_queue_findings(waiting, [queue("mail", concurrency_limit=2, started=2)])
    assert found.deeds == ()
    assert found.advice == "Raise the limit, if what it protects can take more."


def test_slots_that_claim_nothing_are_reported_unless_everything_is_paused() -> None:
    due = [DueJobs(queue="mail", type="known", count=2, oldest=90.0)]
    (found,) = unclaimed_findings(due, [queue("mail")], [NODE], [], 60.0)
    assert found.message.startswith("2 jobs due in queue 'mail' and 8 slots free")
    held = queue("mail", everything_is_paused=True)
    assert list(unclaimed_findings(due, [held], [NODE], [], 60.0)) == []


@pytest.mark.parametrize(
    ("jobs", "level", "words"),
    [
        ({}, Level.WARNING, "it held no job"),
        ({"pending": 2}, Level.WARNING, "it held 2 jobs: 2 to run again"),
        ({"failed": 1, "pending": 2}, Level.PROBLEM, "it held 3 jobs: 1 failed, 2 to run again"),
    ],
)
def test_a_lost_node_says_what_became_of_its_jobs(
    jobs: dict[str, int], level: Level, words: str
) -> None:
    node = DeadNode(id=NodeId("n1"), name="left", host="h/7", pid=7, died_at=NOON, jobs=jobs)
    (found,) = lost_findings([node])
    assert (found.level, found.since) == (level, NOON)
    assert found.message == f"node 'left' (pid 7 on h) has died; {words}"


def test_paused_schedules_are_named_and_the_others_counted() -> None:
    paused = [
        PausedSchedule(id=7, name="nightly", note="disk"),
        PausedSchedule(id=8, name="b", note=None),
    ]
    first, second, rest = paused_findings(paused, 5, {"7": ANN})
    assert first.message == "'nightly' has been paused since 2026-03-02 12:00 UTC by ann (disk)"
    assert (second.message, second.since) == ("'b' has been paused", None)
    assert rest.message == "3 more are paused"
    assert second.about == About(Noun.SCHEDULE, "b", "8")


def test_missed_runs_are_counted_from_the_first_one() -> None:
    missed = MissedSchedule(id=3, name="s", nominal_time=NOON, count=2, reason="too_late")
    (found,) = missed_findings([missed])
    assert found.message == (
        "schedule 's' has missed 2 runs, the first due at 2026-03-02 12:00:00 UTC (too_late)"
    )


def test_a_failing_type_is_wrong_and_its_jobs_can_be_retried() -> None:
    counts = TypeCounts(type="pay", finished=4, failed=6, first_failed=NOON)
    (found,) = failure_findings([counts, TypeCounts(type="fine", finished=90, failed=6)])
    assert (found.level, found.since, found.deeds) == (Level.PROBLEM, NOON, (Deed.RETRY,))
    assert found.counted is not None
    assert found.counted.count == 6
    parse_query(found.counted.query)


def test_unreadable_rows_are_counted_by_table() -> None:
    one, many = unreadable_findings({"horae_jobs": 1, "horae_nodes": 2})
    assert one.message.endswith("lists and nodes skip it")
    assert many.message.startswith("2 rows of horae_nodes")


def test_many_problems_of_a_kind_are_one() -> None:
    many = [
        problem("work", f"m{number}", "advice", "queue_unserved")
        for number in range(MOST_OF_A_KIND + 1)
    ]
    other = problem("nodes", "n", "advice", "no_worker")
    found = together([*many, other])
    assert [each.kind for each in found] == ["queue_unserved", "no_worker"]
    assert found[0].message == f"m0; m1; m2; m3; m4; and {MOST_OF_A_KIND + 1 - NAMED} more"
    assert together(many[:-1]) == many[:-1]
