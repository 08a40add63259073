"""Calls that follow each other closely start one job, with the parameters of the last call."""

import json
import threading
import time
from datetime import timedelta
from typing import Any

import pytest

from horae import Debounce, Horae, InvalidJobType, InvalidRequest, JobState
from tests.harness.applications import claim_as_another_node, execute, rows
from tests.harness.waiting import PATIENCE

MINUTE = timedelta(minutes=1)


@pytest.fixture
def shop(horae: Horae) -> Horae:
    @horae.job(debounce=Debounce("1m", max_wait="3m", by=("document",)))
    def index(document: int, text: str = "") -> str:
        return text

    return horae


def back(horae: Horae, job_id: int, minutes: int) -> None:
    """Let the job have been created, and become due, some minutes earlier."""
    sqlite = horae.components.database.dialect == "sqlite"
    span = f"{minutes * 60_000_000}" if sqlite else f"interval '{minutes} minutes'"
    execute(
        horae,
        f"UPDATE horae_jobs SET created_at = created_at - {span}, run_at = run_at - {span} WHERE id = {job_id}",
    )


def test_a_later_call_moves_the_job_and_replaces_its_parameters(shop: Horae) -> None:
    first = shop.jobs.start("index", document=1, text="a")
    assert timedelta(seconds=59) < first.run_at - first.created_at < timedelta(seconds=61)
    back(shop, first.id, 1)
    second = shop.jobs.start("index", document=1, text="b", priority=5, queue="slow")
    assert (second.id, second.params, second.priority, second.queue) == (
        first.id,
        {"document": 1, "text": "b"},
        5,
        "slow",
    )
    assert second.run_at - first.run_at < timedelta(seconds=30)
    assert timedelta(seconds=119) < second.run_at - second.created_at < timedelta(seconds=121)
    other = shop.jobs.start("index", document=2)
    assert other.id != first.id


def test_calls_without_a_pause_cannot_delay_it_for_ever(shop: Horae) -> None:
    first = shop.jobs.start("index", document=1)
    back(shop, first.id, 2)
    held = shop.jobs.start("index", document=1)
    assert held.run_at - held.created_at == timedelta(minutes=3)
    back(shop, first.id, 5)
    due = shop.jobs.start("index", document=1, text="last")
    assert [claim.id for claim in claim_as_another_node(shop)] == [due.id]


def test_a_job_that_has_begun_is_not_changed(shop: Horae) -> None:
    first = shop.jobs.start("index", document=1, text="a")
    shop.jobs.reschedule(first.id, delay="0s")
    (claim,) = claim_as_another_node(shop)
    second = shop.jobs.start("index", document=1, text="b")
    assert second.id != first.id
    assert json.loads(claim.params or "")["text"] == "a"
    assert shop.jobs.get(first.id).params == {"document": 1, "text": "a"}
    assert shop.jobs.start("index", document=1, text="c").id == second.id


def test_owners_have_jobs_of_their_own(shop: Horae) -> None:
    jobs = [
        shop.jobs.start("index", document=1, owner=owner)
        for owner in ("alice", "bob", None, "alice")
    ]
    assert jobs[0].id == jobs[3].id
    assert len({job.id for job in jobs}) == 3


def test_a_duration_alone_compares_all_parameters(horae: Horae) -> None:
    @horae.job(debounce="1m")
    def index(document: int) -> None: ...

    ids = [horae.jobs.start(index, document=each).id for each in (1, 2, 1)]
    assert ids[0] == ids[2] != ids[1]


def test_a_call_may_debounce_with_a_key_of_its_own(horae: Horae) -> None:
    @horae.job
    def index(document: int) -> None: ...

    ids = [
        horae.jobs.start(index, document=each, debounce="1m", unique_key="all").id
        for each in (1, 2)
    ]
    assert ids[0] == ids[1]
    assert horae.jobs.get(ids[0]).params == {"document": 2}


async def test_coroutines_can_debounce(shop: Horae) -> None:
    first = await shop.aio.jobs.start("index", document=1)
    assert (await shop.aio.jobs.start("index", document=1, text="b")).id == first.id


def test_a_batch_is_debounced_as_its_calls_would_be(shop: Horae) -> None:
    ids = shop.jobs.start_many("index", [{"document": 1, "text": text} for text in "abc"])
    assert len(set(ids)) == 1
    assert shop.jobs.get(ids[0]).params == {"document": 1, "text": "c"}


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"debounce": 30}, "debounce is 30, expected a duration"),
        ({"debounce": "1m", "delay": "1h"}, "debounce and delay exclude each other"),
        ({"delay": "1h"}, "job type 'index' has a debounce, which sets the time itself"),
        (
            {"debounce": "1m", "on_duplicate": "return"},
            "debounce and on_duplicate exclude each other",
        ),
        ({"debounce": Debounce("1m", by=("size",))}, "by names 'size', which is no parameter"),
        ({"sync": True}, "it cannot wait for later calls"),
    ],
)
def test_a_wrong_option_is_refused(shop: Horae, options: dict[str, Any], error: str) -> None:
    with pytest.raises(InvalidRequest, match=error):
        shop.jobs.start("index", document=1, **options)


@pytest.mark.one_database
def test_a_wrong_declaration_is_refused(horae: Horae) -> None:
    with pytest.raises(InvalidJobType, match="job type 'index': debounce: interval 'soon'"):

        @horae.job(debounce="soon")
        def index() -> None: ...


def test_every_claim_has_the_parameters_of_the_last_call_for_its_job(horae: Horae) -> None:
    """Calls and claims at the same time: a call either changes the job before its claim, or starts another one."""

    @horae.job(debounce=Debounce("1ms", max_wait="2ms", by=()))
    def index(text: int) -> None: ...

    last: dict[int, int] = {}
    claimed: dict[int, int] = {}
    ended = threading.Event()

    def claim() -> None:
        while not ended.is_set():
            claimed.update(
                {
                    each.id: json.loads(each.params or "")["text"]
                    for each in claim_as_another_node(horae)
                }
            )

    claimant = threading.Thread(target=claim)
    claimant.start()
    try:
        for number in range(60):
            last[horae.jobs.start(index, text=number).id] = number
        deadline = time.monotonic() + PATIENCE
        while horae.jobs.list(states=[JobState.PENDING]).jobs and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        ended.set()
        claimant.join()
    assert claimed == last


def test_concurrent_debounces_share_one_job(shop: Horae) -> None:
    line = threading.Barrier(4)
    seen = set[int]()

    def call(number: int) -> None:
        for _ in range(5):
            line.wait()
            seen.add(shop.jobs.start("index", document=1, text=str(number)).id)

    threads = [threading.Thread(target=call, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1
    assert rows(shop, "SELECT count(*) FROM horae_jobs") == [(1,)]
