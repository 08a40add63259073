"""The number of jobs that an owner may have: counted and inserted in one step."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from horae import Horae, MaxJobCountExceeded, StartOptions
from horae.domain.jobs.job import Claim
from horae.domain.jobs.uniqueness import OnDuplicate
from horae.errors import DuplicateJob
from horae.storage.outcomes import settling
from tests.harness.applications import ELSEWHERE, claim_as_another_node, rows


@pytest.fixture
def exporting(horae: Horae) -> Horae:
    @horae.job(max_count=2)
    def export() -> None: ...

    return horae


def test_one_more_than_the_limit_is_refused(exporting: Horae) -> None:
    exporting.jobs.start("export", owner="alice")
    exporting.jobs.start("export", owner="alice", delay=timedelta(days=1))
    with pytest.raises(MaxJobCountExceeded) as caught:
        exporting.jobs.start("export", owner="alice")
    assert (caught.value.owner, caught.value.max_count, caught.value.job_type) == (
        "alice",
        2,
        "export",
    )


def test_jobs_are_counted_by_default_only_for_public_types(horae: Horae) -> None:
    @horae.job
    def internal() -> None: ...

    @horae.job(public=True)
    def open_to_users() -> None: ...

    for _ in range(3):
        horae.jobs.start(internal, owner="alice")
    horae.jobs.start(open_to_users, owner="alice")
    with pytest.raises(MaxJobCountExceeded):
        horae.jobs.start(open_to_users, owner="alice")


def test_the_default_of_public_types_does_not_count_batches(horae: Horae) -> None:
    @horae.job(public=True)
    def open_to_users() -> None: ...

    assert len(horae.jobs.start_many(open_to_users, [{}, {}, {}], owner="alice")) == 3
    with pytest.raises(MaxJobCountExceeded):
        horae.jobs.start(open_to_users, owner="alice")
    assert len(horae.jobs.start_many(open_to_users, [{}, {}], owner="alice")) == 2


def test_each_owner_and_no_owner_have_their_own_count(exporting: Horae) -> None:
    @exporting.job
    def other() -> None: ...

    for _ in range(2):
        exporting.jobs.start("export", owner="alice")
    exporting.jobs.start("export", owner="bob")
    exporting.jobs.start(other, owner="alice")
    for _ in range(3):
        exporting.jobs.start("export")


def test_a_cancelled_pending_job_makes_room(exporting: Horae) -> None:
    first, _ = (exporting.jobs.start("export", owner="alice") for _ in range(2))
    exporting.jobs.cancel(first.id)
    exporting.jobs.start("export", owner="alice")


def test_a_cancelled_job_counts_until_its_body_has_stopped(exporting: Horae) -> None:
    first, _ = (exporting.jobs.start("export", owner="alice") for _ in range(2))
    claims: dict[int, Claim] = {claim.id: claim for claim in claim_as_another_node(exporting)}
    exporting.jobs.cancel(first.id)
    with pytest.raises(MaxJobCountExceeded):
        exporting.jobs.start("export", owner="alice")
    stopped = [(first.id, claims[first.id].lease)]
    exporting.components.database.transact(settling.release, ELSEWHERE, stopped)
    exporting.jobs.start("export", owner="alice")


def test_a_batch_is_counted_as_a_whole(exporting: Horae) -> None:
    options = StartOptions(owner="alice")
    with pytest.raises(MaxJobCountExceeded):
        exporting.jobs.start_many("export", [{}, {}, {}], options=options)
    assert rows(exporting, "SELECT id FROM horae_jobs") == []
    exporting.jobs.start_many("export", [{}, {}], options=options)
    with pytest.raises(MaxJobCountExceeded):
        exporting.jobs.start_many("export", [{}], options=options)


def test_concurrent_starts_never_exceed_the_limit(exporting: Horae) -> None:
    threads, rounds = 8, 5
    line = threading.Barrier(threads)

    def compete(number: int) -> int:
        won = 0
        for turn in range(rounds):
            line.wait()
            try:
                if number % 2:
                    exporting.jobs.start("export", owner=f"owner {turn}")
                else:
                    exporting.jobs.start_many(
                        "export", [{}], options=StartOptions(owner=f"owner {turn}")
                    )
                won += 1
            except MaxJobCountExceeded:
                pass
        return won

    with ThreadPoolExecutor(threads) as pool:
        won = sum(pool.map(compete, range(threads)))
    counts = rows(exporting, "SELECT count(*) FROM horae_jobs GROUP BY owner")
    assert [count for (count,) in counts] == [2] * rounds
    assert won == 2 * rounds


def test_concurrent_starts_share_one_unique_key(horae: Horae) -> None:
    @horae.job
    def nightly() -> None: ...

    threads, rounds = 8, 5
    line = threading.Barrier(threads)

    def compete(number: int) -> list[int]:
        ids: list[int] = []
        for turn in range(rounds):
            line.wait()
            choice: OnDuplicate = "return" if number % 2 else "refuse"
            try:
                ids.append(horae.jobs.start(nightly, unique_key=f"{turn}", on_duplicate=choice).id)
            except DuplicateJob as error:
                ids.append(error.job_id)
        return ids

    with ThreadPoolExecutor(threads) as pool:
        answers = list(pool.map(compete, range(threads)))
    assert all(answer == answers[0] for answer in answers)
    assert len(rows(horae, "SELECT id FROM horae_jobs")) == rounds
