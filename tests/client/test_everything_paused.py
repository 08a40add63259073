"""A pause of everything: no queue gives a job, limited or not, and what was paused before stays so."""

import pytest

from horae import Horae, InvalidRequest, Limit
from horae.client.doctor import system_findings
from horae.domain.jobs import TimeLimit
from horae.domain.jobs.job import NodeId
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits import filing, lane_claims, limited_claims
from horae.storage.outcomes import time_limits
from tests.harness.applications import claim_as_another_node, execute, rows

SCOPE = ClaimScope(node=NodeId("n1"), types=["work", "limited"])


@pytest.fixture
def shop(horae: Horae) -> Horae:
    """Jobs in an open queue, in a queue that is paused by itself, and in one with a limit."""

    @horae.job
    def work() -> None: ...

    for queue in ("open", "held", "narrow"):
        horae.jobs.start(work, queue=queue)
    horae.queues.pause("held", "its disk is full")
    horae.queues.limit("narrow", 1)
    return horae


def test_no_claim_finds_a_job_until_everything_is_resumed(shop: Horae) -> None:
    database = shop.components.database
    shop.queues.pause_everything("moving house")
    assert claim_as_another_node(shop) == []
    assert database.autocommit(limited_claims.limited_queues_with_room, SCOPE, 10) == []
    assert database.transact(limited_claims.claim, SCOPE, 10, ["narrow"]).claims == []
    assert shop.queues.resume_everything()
    found = database.transact(limited_claims.claim, SCOPE, 10, ["narrow"]).claims
    assert {claim.queue for claim in found} == {"open", "narrow"}
    assert not shop.queues.resume_everything()


def test_a_queue_that_no_job_named_before_is_held_as_well(shop: Horae) -> None:
    shop.queues.pause_everything()
    shop.jobs.start("work", queue="new")
    assert claim_as_another_node(shop) == []


def test_what_was_paused_by_itself_stays_paused(shop: Horae) -> None:
    shop.queues.pause_everything("moving house")
    shop.queues.resume_everything()
    states = {view.name: (view.is_paused, view.note) for view in shop.queues.list()}
    assert states == {
        "held": (True, "its disk is full"),
        "narrow": (False, None),
        "open": (False, None),
    }


def test_the_pause_says_since_when_by_whom_and_why(shop: Horae) -> None:
    assert shop.queues.everything_paused() is None
    shop.queues.pause_everything("moving house")
    first = shop.queues.everything_paused()
    shop.queues.pause_everything("moving two houses")
    pause = shop.queues.everything_paused()
    assert first is not None
    assert pause is not None
    assert (pause.since, pause.note) == (first.since, "moving two houses")
    (actor,) = {
        row.actor for row in rows(shop, "SELECT actor FROM horae_audit WHERE target = 'everything'")
    }
    assert pause.by == actor
    execute(shop, "DELETE FROM horae_audit")
    forgotten = shop.queues.everything_paused()
    assert forgotten is not None
    assert forgotten.by is None
    with pytest.raises(InvalidRequest):
        shop.queues.pause_everything(1)  # type: ignore[arg-type]


def test_all_that_explains_waiting_says_so(shop: Horae) -> None:
    shop.queues.pause_everything("moving house")
    (job, *_) = shop.jobs.list(queues=["open"]).jobs
    assert shop.jobs.waiting_reason(job.id) == "Everything is paused."
    assert all(view.is_paused for view in shop.queues.list())
    assert "" not in {view.name for view in shop.queues.list()}
    findings = system_findings(
        shop.components.database, shop.registry, {}, [], [], shop.queues.list()
    )
    messages = [finding.message for finding in findings]
    assert any("everything has been paused since" in message for message in messages)


def test_jobs_with_limits_by_key_are_held(horae: Horae) -> None:
    @horae.job(limits=[Limit(concurrency=1)])
    def limited() -> None: ...

    horae.jobs.start(limited)
    horae.queues.pause_everything()
    database = horae.components.database
    database.transact(filing.file)
    assert database.transact(lane_claims.claim, SCOPE, 10, 10).claims == []
    horae.queues.resume_everything()
    assert len(database.transact(lane_claims.claim, SCOPE, 10, 10).claims) == 1


def test_a_time_limit_of_pending_jobs_does_not_pass_during_the_pause(shop: Horae) -> None:
    execute(shop, "UPDATE horae_jobs SET owner = 'ann'")
    database = shop.components.database
    limit = {"work": 0.000001}
    shop.queues.resume("held")
    assert len(database.autocommit(time_limits.overdue, TimeLimit.PENDING, limit)) >= 2
    shop.queues.pause_everything()
    assert database.autocommit(time_limits.overdue, TimeLimit.PENDING, limit) == []
