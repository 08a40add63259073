"""The figures by which an autoscaler chooses the number of nodes, compared with known content."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import pytest

from horae import Horae, Limit
from horae.client.operations.depth import Depth, depth_named, depths, depths_of
from horae.domain.jobs.job import Claim, NodeId
from horae.storage.engine.database import Database
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits import filing, lane_claims
from horae.storage.nodes import nodes
from horae.storage.nodes.nodes import NodeView
from horae.storage.queues.depth import DueJobs, MeanDurations
from horae.storage.queues.queues import QueueView
from tests.harness.applications import ELSEWHERE, application, claim_as_another_node, execute

ENDED: Final = "UPDATE horae_jobs SET state = 'finished', node_id = NULL, started_at = {began}, finished_at = {ended}"
MOMENTS: Final = {
    "postgresql": ("now() - interval '{} seconds'", "now()"),
    "sqlite": ("horae_now() - {} * 1000000", "horae_now()"),
}


def node(name: str, slots: int, queues: list[str] | None = None, **changes: Any) -> NodeView:
    given: dict[str, Any] = dict.fromkeys(NodeView.__dataclass_fields__)
    given |= {"id": NodeId(name), "roles": ["worker"], "queues": queues, "types": ["quick", "slow"]}
    given |= {"concurrency": slots, "running": 0, **changes}
    return NodeView(**given)


def due(queue: str, kind: str, count: int, oldest: float = 1.0, *, sent: bool = False) -> DueJobs:
    return DueJobs(queue=queue, type=kind, count=count, oldest=oldest, sent=sent)


def queue(name: str, **changes: Any) -> QueueView:
    given: dict[str, Any] = dict.fromkeys(QueueView.__dataclass_fields__)
    given |= {"name": name, "started": 0, **changes}
    return QueueView(**given)


def figures(depth: Depth) -> tuple[Any, ...]:
    return depth.due, depth.work_seconds, depth.slots, depth.seconds_ahead


KNOWN: Final = MeanDurations({"quick": 0.5, "slow": 60.0}, 2.0)


def test_work_is_measured_by_type_and_shared_by_the_slots_that_can_run_it() -> None:
    waiting = [
        due("mail", "quick", 100, 7.0),
        due("export", "slow", 4, 90.0),
        due("export", "strange", 3, 5.0),
    ]
    found = depths_of(
        waiting, KNOWN, [], [node("a", 4), node("b", 6, ["mail"]), node("c", 9, ["other"])]
    )
    assert figures(depth_named(found, "mail")) == (100, 50.0, 10, 5.0)
    assert figures(depth_named(found, "export")) == (
        7,
        246.0,
        4,
        61.5,
    )  # what is not measured counts as the mean
    assert (depth_named(found, "export").unmeasured, depth_named(found, "export").oldest_due) == (
        3,
        90.0,
    )
    assert figures(found.total) == (107, 296.0, 19, 61.5)  # as long as for the slower queue
    assert (found.total.oldest_due, found.total.unmeasured) == (90.0, 3)


def test_work_without_a_slot_has_no_time() -> None:
    waiting = [due("mail", "quick", 2)]
    for alive in (
        [],
        [node("a", 4, ["other"])],
        [node("a", 4, types=["other"])],
        [node("a", 4, roles=["scheduler"])],
    ):
        assert figures(depth_named(depths_of(waiting, KNOWN, [], alive), "mail")) == (
            2,
            1.0,
            0,
            None,
        )


def test_all_queues_together_need_at_least_as_long_as_each_of_them() -> None:
    waiting = [due("mail", "quick", 20), due("export", "slow", 10)]
    limited = depths_of(waiting, KNOWN, [queue("export", concurrency_limit=1)], [node("a", 10)])
    assert figures(depth_named(limited, "export")) == (10, 600.0, 1, 600.0)
    assert figures(limited.total) == (30, 610.0, 10, 600.0)
    unserved = depths_of(waiting, KNOWN, [], [node("a", 10, ["mail"])])
    assert figures(depth_named(unserved, "mail")) == (20, 10.0, 10, 1.0)
    assert figures(unserved.total) == (30, 610.0, 10, None)


def celery_worker(name: str, slots: int, *backends: str) -> NodeView:
    return node(name, slots, list(backends), roles=["scheduler", "celery worker"])


OWN: Final = node("a", 7)
OF_CELERY: Final = [
    celery_worker("c", 4, "celery", "celery:export"),
    celery_worker("d", 2, "celery:bulk"),
]
PROCESSES: Final = [node("e", 1, roles=["celery"]), node("f", 1, roles=["scheduler", "celery"])]


def test_slots_of_celery_workers_count_for_the_queues_that_they_serve() -> None:
    alive = [OWN, *OF_CELERY, *PROCESSES]
    for backend, slots in (
        ("celery", 4),
        ("celery:export", 4),
        ("celery:bulk", 2),
        ("celery:other", 0),
    ):
        found = depths_of(
            [due("export", "slow", 2, sent=True)], KNOWN, [queue("export", backend=backend)], alive
        )
        assert figures(depth_named(found, "export")) == (
            2,
            120.0,
            slots,
            120.0 / slots if slots else None,
        )
        idle = depths_of([], KNOWN, [queue("export", backend=backend)], alive)
        assert figures(depth_named(idle, "export")) == (0, 0.0, slots, 0.0)
    assert depths_of([], KNOWN, [], alive).total.slots == 13


def test_nodes_and_celery_workers_of_one_queue_take_no_work_from_each_other() -> None:
    """As in a queue with jobs of a type that names a backend, and of others."""
    waiting = [due("default", "quick", 14), due("default", "slow", 3, sent=True)]
    both = depths_of(waiting, KNOWN, [], [OWN, *OF_CELERY])
    assert figures(depth_named(both, "default")) == (17, 187.0, 13, 30.0)
    without = depths_of(waiting, KNOWN, [], [OWN])
    assert figures(depth_named(without, "default")) == (17, 187.0, 7, None)


def test_a_job_takes_a_second_until_one_has_ended() -> None:
    assert (
        depths_of([due("mail", "quick", 5)], MeanDurations({}, None), [], []).total.work_seconds
        == 5.0
    )


def test_an_unknown_queue_has_no_work() -> None:
    assert figures(depth_named(depths_of([], KNOWN, [], [node("a", 1)]), "mail")) == (
        0,
        0.0,
        0,
        0.0,
    )


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with application(database) as horae:

        @horae.job
        async def quick() -> None: ...

        @horae.job
        async def slow() -> None: ...

        yield horae


def end(horae: Horae, kind: str, *seconds: float) -> None:
    """End a job of this type for each of these durations."""
    began, ended = MOMENTS[horae.components.database.dialect]
    for each in seconds:
        job = horae.jobs.start(kind, queue="past")
        execute(
            horae,
            f"{ENDED.format(began=began.format(each), ended=ended)} WHERE id = :id",
            id=job.id,
        )


def test_the_figures_of_known_content(horae: Horae) -> None:
    end(horae, "quick", 1, 3)
    end(horae, "slow", 30)
    for _ in range(3):
        horae.jobs.start("quick", queue="mail")
    horae.jobs.start("slow", queue="mail")
    horae.jobs.start("slow", queue="mail", delay=timedelta(hours=1))
    first = horae.jobs.start("quick", queue="after")
    horae.jobs.start("quick", queue="after", after=[first])
    horae.jobs.start("slow", queue="held")
    horae.queues.pause("held")
    for _ in range(4):
        horae.jobs.start("slow", queue="limited")
    horae.queues.limit("limited", 2)
    horae.jobs.start("quick", queue="running")
    claim_as_another_node(horae, queues=["running"])
    found = depths(horae.components.database, [node("a", 8)])
    assert figures(depth_named(found, "mail")) == (
        4,
        pytest.approx(36.0, abs=0.1),
        8,
        pytest.approx(4.5, abs=0.1),
    )
    assert depth_named(found, "after").due == 1
    held = depth_named(found, "held")
    assert (held.paused, held.due, held.work_seconds, held.seconds_ahead) == (True, 1, 0.0, 0.0)
    assert figures(depth_named(found, "limited"))[2:] == (2, pytest.approx(60.0, abs=0.1))
    assert (depth_named(found, "running").due, depth_named(found, "running").running) == (0, 1)
    assert found.total.due == 4 + 1 + 1 + 4
    assert found.total.oldest_due >= 0


def test_jobs_under_limits_count_as_far_as_these_allow_them_to_start(horae: Horae) -> None:
    """Before a node has seen them as well: else an autoscaler would never start the first node for them."""

    @horae.job(queue="keyed", limits=[Limit(concurrency=2, key="{account}")], max_count=None)
    def keyed(account: str) -> None: ...

    @horae.job(queue="rated", limits=[Limit(rate="2/h")], max_count=None)
    def rated() -> None: ...

    horae.queues.fair("fair", "owner")
    horae.jobs.start_many("keyed", [{"account": each} for each in "aaaab"])
    horae.jobs.start_many("rated", [{}] * 5)
    for number in range(6):
        horae.jobs.start("quick", queue="fair", owner=f"owner {number % 3}")
    assert due_by_queue(horae) == {"keyed": 3, "rated": 2, "fair": 6}
    while horae.components.database.transact(filing.file):
        pass
    assert due_by_queue(horae) == {"keyed": 3, "rated": 2, "fair": 6}
    claimed = claim_from_lanes(horae, 20)
    assert len(claimed) == 11
    assert due_by_queue(horae) == {}
    execute(
        horae,
        "UPDATE horae_jobs SET state = 'finished', node_id = NULL, finished_at = run_at WHERE type = 'keyed'"
        " AND state = 'started'",
    )
    assert due_by_queue(horae) == {"keyed": 2}
    execute(horae, "UPDATE horae_limit_buckets SET opens_at = 0 WHERE opens_at IS NOT NULL")
    assert due_by_queue(horae) == {"keyed": 2, "rated": 2}


def due_by_queue(horae: Horae) -> dict[str, int]:
    return {
        each.name: each.due for each in depths(horae.components.database, []).queues if each.due
    }


def claim_from_lanes(horae: Horae, most: int) -> list[Claim]:
    scope = ClaimScope(node=ELSEWHERE, types=tuple(horae.registry.by_name), queues=None)
    return horae.components.database.transact(lane_claims.claim, scope, most, most).claims


def test_limits_of_several_lanes_are_shared(horae: Horae) -> None:
    """A job of a higher priority waits in another lane, and counts under the same limit."""

    @horae.job(limits=[Limit(concurrency=3)], max_count=None)
    def limited() -> None: ...

    for priority in (1, 1, 2, 2):
        horae.jobs.start("limited", priority=priority)
    for _ in range(2):
        assert due_by_queue(horae) == {"default": 3}
        horae.components.database.transact(filing.file)


def test_cancelled_jobs_measure_nothing(horae: Horae) -> None:
    end(horae, "quick", 4)
    horae.jobs.cancel(horae.jobs.start("slow").id)
    horae.jobs.start("slow")
    [found] = depths(horae.components.database, []).queues
    assert found.unmeasured == 1
    assert found.work_seconds == pytest.approx(4.0, abs=0.1)


def test_a_rare_type_is_measured_behind_many_others(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("horae.storage.queues.depth.SAMPLES", (2, 100))
    end(horae, "slow", 50)
    end(horae, "quick", 1, 1, 1)
    horae.jobs.start("slow")
    assert depths(horae.components.database, []).total.work_seconds == pytest.approx(50.0, abs=0.1)


def test_nodes_that_are_gone_give_no_slots(horae: Horae) -> None:
    horae.jobs.start("quick")
    assert horae.components.database.autocommit(nodes.view) == []
    assert depths(horae.components.database, []).total.seconds_ahead is None
