"""The audit of groups and dependencies: it names what contradicts the rules, and nothing else."""

import pytest

from horae import Horae
from horae.domain.jobs.job import AttemptOutcome, JobState, Settlement
from horae.storage.outcomes import settling
from tests.harness.applications import ELSEWHERE, claim_as_another_node, execute


def settle(horae: Horae, number: int) -> None:
    """Finish so many jobs, as another node."""
    claims = claim_as_another_node(horae, number)
    ends = [
        Settlement(claim.id, claim.lease, JobState.FINISHED, AttemptOutcome.FINISHED)
        for claim in claims
    ]
    horae.components.database.transact(settling.settle, ELSEWHERE, ends)


@pytest.fixture
def ids(horae: Horae) -> tuple[int, int, int]:
    """A group of which one member has ended, the job after it, and a job that waits for a member."""

    @horae.job
    def work() -> None: ...

    @horae.job
    def last_work() -> None: ...

    group = horae.jobs.start_group([work, work, work], then=last_work)
    last = list(horae.jobs.members(group.id))[-1]
    waiting = horae.jobs.start(work, after=[last])
    settle(horae, 1)
    assert group.then_id is not None
    assert horae.audit().clean
    return group.id, group.then_id, waiting.id


PLANTED = {
    "counts 1 members": "UPDATE horae_groups SET finished = 2",
    "counts 3 members": "UPDATE horae_groups SET total = 4",
    "before all members have ended": "UPDATE horae_jobs SET waits_for = NULL WHERE id = :then",
    "waits for other jobs, but all": "UPDATE horae_dependencies SET ended = true",
    "whose end it will never learn": "UPDATE horae_jobs SET awaited = NULL WHERE id = (SELECT after_id FROM horae_dependencies)",
    "has begun, although": "UPDATE horae_jobs SET started_at = created_at WHERE id = :waiting",
    "was cancelled, but": "UPDATE horae_jobs SET started_at = created_at WHERE id = :then",
}


@pytest.mark.parametrize("message", PLANTED)
def test_contradictions_are_found(horae: Horae, ids: tuple[int, int, int], message: str) -> None:
    _, then, waiting = ids
    if message == "was cancelled, but":
        horae.jobs.cancel_group(ids[0])
    execute(
        horae,
        PLANTED[message],
        **{
            name: value
            for name, value in (("then", then), ("waiting", waiting))
            if f":{name}" in PLANTED[message]
        },
    )
    found = [finding.message for finding in horae.audit().findings]
    assert any(message in each for each in found), found


def test_then_that_still_waits_is_found(horae: Horae, ids: tuple[int, int, int]) -> None:
    group, then, _ = ids
    settle(horae, 3)
    assert horae.audit().clean
    execute(horae, "UPDATE horae_jobs SET waits_for = 'jobs' WHERE id = :then", then=then)
    found = [finding.message for finding in horae.audit().findings]
    assert any(
        f"group {group}: all of its members have ended, but job {then} still waits" in each
        for each in found
    )


def test_a_job_that_was_cancelled_while_it_waited_is_no_contradiction(horae: Horae) -> None:
    @horae.job
    def work() -> None: ...

    first = horae.jobs.start(work)
    waiting = horae.jobs.start(work, after=[first])
    horae.jobs.cancel(waiting.id)
    settle(horae, 1)
    assert horae.jobs.get(first.id).state is JobState.FINISHED
    assert [finding.message for finding in horae.audit().findings] == []
