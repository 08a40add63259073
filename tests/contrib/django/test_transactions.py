"""Jobs that are started in Django's transaction, and bodies that run in one."""

from contextlib import suppress
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from horae import InvalidRequest, JobContext, JobState, WaitTimeout
from horae.client.jobs import waiting
from horae.contrib.django import DjangoHorae
from horae.wakeup.channel import Hint
from tests.contrib.django.shop import jobs
from tests.contrib.django.shop.models import Order
from tests.harness.applications import execute, rows
from tests.harness.nodes import running_node, until, until_state
from tests.harness.waiting import Record


def count_elsewhere(horae: DjangoHorae) -> tuple[int, int]:
    """Count orders and jobs by a connection that sees only what is committed."""
    made = horae.components.database
    made.lender, lender = None, made.lender
    try:
        [(orders, found)] = rows(
            horae, "SELECT (SELECT count(*) FROM shop_order), (SELECT count(*) FROM horae_jobs)"
        )
    finally:
        made.lender = lender
    return orders, found


@pytest.fixture
def sent(horae: DjangoHorae, monkeypatch: pytest.MonkeyPatch) -> Record[Hint]:
    hints = Record[Hint]()
    channel: Any = vars(horae.components.wakeup)["_channel"]
    monkeypatch.setattr(channel, "send", lambda hint, **_: hints.append(hint))
    return hints


def test_a_job_exists_once_the_transaction_commits(horae: DjangoHorae, sent: Record[Hint]) -> None:
    with transaction.atomic():
        job = horae.jobs.start(jobs.ship, number=1)
        Order.objects.create(number=1)
        assert count_elsewhere(horae) == (0, 0)
        assert horae.jobs.get(job.id).params == {"number": 1}
        assert [each.id for each in horae.jobs.list().jobs] == [job.id]
        assert sent == []
    assert count_elsewhere(horae) == (1, 1)
    assert [hint.kind.value for hint in sent] == ["work"]


def test_a_wait_for_an_uncommitted_job_says_so(
    horae: DjangoHorae, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waiting, "HINDERED_AFTER", 0.0)
    with transaction.atomic(), pytest.raises(WaitTimeout):
        horae.jobs.wait(horae.jobs.start(jobs.ship, number=1), timeout="10ms")
    assert "the wait may not end: it is called in a transaction" in caplog.text


def test_a_rollback_leaves_no_job(horae: DjangoHorae, sent: Record[Hint]) -> None:
    with transaction.atomic():
        Order.objects.create(number=1)
        horae.jobs.start(jobs.ship, number=1)
        horae.jobs.start_many(jobs.ship, [{"number": 2}, {"number": 3}])
        transaction.set_rollback(True)
    assert count_elsewhere(horae) == (0, 0)
    assert sent == []


def test_a_refused_job_spoils_nothing(horae: DjangoHorae) -> None:
    with transaction.atomic():
        Order.objects.create(number=1)
        horae.jobs.start(jobs.ship, number=1, unique_key="1")
        with pytest.raises(Exception, match="unique"):
            horae.jobs.start(jobs.ship, number=1, unique_key="1")
    assert count_elsewhere(horae) == (1, 1)


def test_without_a_transaction_it_commits_at_once(horae: DjangoHorae, sent: Record[Hint]) -> None:
    horae.jobs.start(jobs.ship, number=1)
    assert count_elsewhere(horae) == (0, 1)
    assert len(sent) == 1


async def test_a_body_commits_with_its_job(horae: DjangoHorae) -> None:
    job = horae.jobs.start(jobs.order_and_ship, number=1)
    async with running_node(horae):
        await until_state(horae, job.id, "finished")
    assert horae.jobs.get(job.id).result == "done"
    assert count_elsewhere(horae) == (1, 2)


def fail(_job: JobContext, number: int) -> None:
    Order.objects.create(number=number)
    raise ValueError("no")


def catch_within(_job: JobContext, number: int) -> None:
    Order.objects.create(number=number)
    with suppress(IntegrityError), transaction.atomic(savepoint=False):
        Order.objects.create(number=number)


def commit(_job: JobContext, number: int) -> None:
    Order.objects.create(number=number)
    with connection.cursor() as cursor:
        cursor.execute("  COMMIT")


def roll_back(_job: JobContext, number: int) -> None:
    Order.objects.create(number=number)
    transaction.set_rollback(True)


def close(_job: JobContext, number: int) -> None:
    Order.objects.create(number=number)
    connection.close()


def roll_the_driver_back(_job: JobContext, number: int) -> None:
    Order.objects.create(number=number)
    connection.connection.rollback()


WAYS = [fail, catch_within, commit, roll_back, close, roll_the_driver_back]


async def test_a_body_that_spoils_its_transaction_leaves_nothing(horae: DjangoHorae) -> None:
    jobs.WAYS.update({way.__name__: way for way in WAYS})
    started = {
        way.__name__: horae.jobs.start(jobs.spoil, how=way.__name__, number=number).id
        for number, way in enumerate(WAYS)
    }
    async with running_node(horae, concurrency=1):
        ended = {
            name: (await until_state(horae, job_id, "failed", "finished")).state
            for name, job_id in started.items()
        }
    assert ended == dict.fromkeys(started, JobState.FAILED)
    assert count_elsewhere(horae) == (0, len(WAYS))
    for way in (catch_within, roll_back):
        error = horae.jobs.get(started[way.__name__]).error
        assert error is not None
        assert "put the statements that may fail into an atomic block" in error


async def test_a_commit_of_the_driver_fails_the_job(horae: DjangoHorae) -> None:
    def commit_the_driver(_job: JobContext, number: int) -> None:
        Order.objects.create(number=number)
        connection.connection.commit()

    jobs.WAYS["commit_the_driver"] = commit_the_driver
    job = horae.jobs.start(jobs.spoil, how="commit_the_driver", number=1)
    async with running_node(horae):
        ended = await until_state(horae, job.id, "failed", "finished")
    assert ended.state is JobState.FAILED
    assert "must not end its transaction" in (ended.error or "")


async def test_a_body_that_cancels_its_own_job_ends_cancelled(horae: DjangoHorae) -> None:
    """The cancel is rolled back with what the body has written, because the job cannot finish."""

    def cancel(job: JobContext, number: int) -> None:
        Order.objects.create(number=number)
        horae.jobs.cancel(job.id)

    jobs.WAYS["cancel"] = cancel
    job = horae.jobs.start(jobs.spoil, how="cancel", number=1)
    async with running_node(horae):
        ended = await until_state(horae, job.id, "cancelled", "failed", "finished")
        await until(lambda: horae.jobs.get(job.id).node_id is None)
    assert ended.state is JobState.CANCELLED
    assert count_elsewhere(horae) == (0, 1)


def test_a_connection_of_django_is_no_session(horae: DjangoHorae) -> None:
    with pytest.raises(InvalidRequest, match="joins Django's transaction without it"):
        horae.jobs.start(jobs.ship, number=1, session=connection)  # type: ignore[call-overload]


async def test_a_body_whose_lease_was_taken_leaves_nothing(postgres_horae: DjangoHorae) -> None:
    """As a stalled node that goes on after others have rescued its job; a file has one writer."""
    horae = postgres_horae

    def stall(job: JobContext, number: int) -> None:
        Order.objects.create(number=number)
        execute(horae, "UPDATE horae_jobs SET lease = lease + 1 WHERE id = :id", id=job.id)

    jobs.WAYS["stall"] = stall
    job = horae.jobs.start(jobs.spoil, how="stall", number=1)
    async with running_node(horae):
        await until(lambda: horae.jobs.get(job.id).lease == 2)
    assert count_elsewhere(horae) == (0, 1)
    assert horae.jobs.get(job.id).state is JobState.STARTED
