"""What Django's `TestCase` sees: everything happens in the test's own transaction, which is rolled back."""

import unittest
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import SimpleTestCase, TestCase

from horae import InvalidRequest, JobContext
from horae.contrib.django import horae
from horae.testing import testing
from tests.contrib.django.shop import jobs, tasks
from tests.contrib.django.shop.models import Order
from tests.contrib.django.test_transactions import count_elsewhere


class ShopTest(TestCase):
    """A test as a project would write it."""

    __test__ = False  # pytest has no database for it; the test below runs it on each

    def test_a_started_job_is_seen(self) -> None:
        job = horae.jobs.start(jobs.ship, number=1)
        assert horae.jobs.get(job.id).params == {"number": 1}
        assert [each.id for each in horae.jobs.list(types=["ship"]).jobs] == [job.id]
        assert horae.jobs.cancel(job.id).state == "cancelled"

    def test_a_body_runs_in_it(self) -> None:
        job = horae.jobs.start(jobs.order_and_ship, number=1, sync=True)
        assert job.state == "finished"
        assert Order.objects.get().shipped_by == job.id
        assert len(horae.jobs.list(types=["ship"]).jobs) == 1

    def test_nobody_takes_it_for_lost(self) -> None:
        """The threads that watch over jobs do not see it, however long its body takes."""

        def stay(job: JobContext, number: int) -> None:
            del number
            inline = vars(horae.opened)["inline"]
            assert not vars(inline)["_running"]
            assert vars(inline)["_membership"] is None
            job.check()

        jobs.WAYS["stay"] = stay
        job = horae.jobs.start(jobs.spoil, how="stay", number=1, sync=True)
        assert (job.state, job.error) == ("finished", None)

    def test_a_failing_body_leaves_nothing(self) -> None:
        def fail(_job: object, number: int) -> None:
            Order.objects.create(number=number)
            raise ValueError("no")

        jobs.WAYS["fail"] = fail
        job = horae.jobs.start(jobs.spoil, how="fail", number=1, sync=True)
        assert job.error == "ValueError: no"
        assert not Order.objects.exists()


class TestingTest(TestCase):
    """`testing` in the transaction of the test."""

    __test__ = False

    def test_jobs_run_in_it(self) -> None:
        with testing(horae) as t:
            horae.jobs.start(jobs.order_and_ship, number=1)
            t.drain()
            [job] = t.started(jobs.ship, number=1)
        assert Order.objects.get().shipped_by == job.id
        assert horae.jobs.get(job.id).state == "finished"

    def test_its_clock_can_be_moved(self) -> None:
        with testing(horae) as t:
            job = horae.jobs.start(jobs.ship, number=1, run_at=t.now + timedelta(days=30))
            assert t.drain() == []
            assert [each.id for each in t.run_due("31d")] == [job.id]

    def test_the_writes_of_a_failed_body_are_rolled_back(self) -> None:
        def fail(_job: object, number: int) -> None:
            Order.objects.create(number=number)
            raise ValueError("no")

        jobs.WAYS["fail"] = fail
        with testing(horae) as t:
            job = horae.jobs.start(jobs.spoil, how="fail", number=1)
            t.drain(check=False)
        assert horae.jobs.get(job.id).error == "ValueError: no"
        assert not Order.objects.exists()


class CoroutineTest(TestCase):
    """What coroutines do, as with the coroutine methods of Django's ORM, is part of the test."""

    __test__ = False

    async def test_a_coroutine_starts_jobs(self) -> None:
        ids = [(await horae.aio.jobs.start(jobs.ship, number=number)).id for number in range(2)]
        ids += await horae.aio.jobs.start_many(jobs.ship, [{"number": 2}])
        listed = await horae.aio.jobs.list(types=["ship"])
        assert sorted(job.id for job in listed.jobs) == ids
        assert (await horae.aio.jobs.cancel(ids[0])).state == "cancelled"

    def test_a_coroutine_that_runs_inline_writes(self) -> None:
        job = horae.jobs.start(jobs.order_later, number=1, sync=True)
        assert (job.state, job.error) == ("finished", None)
        assert Order.objects.get().number == 1
        assert horae.jobs.get(job.result).type == "ship"

    def test_a_coroutine_that_is_drained_writes(self) -> None:
        with testing(horae) as t:
            jobs.order_later.start(number=1)
            result: Any = tasks.add_later.enqueue(1, 2)
            t.drain()
            t.started(jobs.ship, number=1)
        result.refresh()
        assert result.return_value == 3
        assert Order.objects.get().number == 1

    async def test_testing_in_a_coroutine_is_refused(self) -> None:
        with pytest.raises(InvalidRequest, match="async_to_sync"), testing(horae):
            raise AssertionError


class WithoutDatabaseTest(SimpleTestCase):
    """A test that may not use databases."""

    __test__ = False

    def test_jobs_are_refused(self) -> None:
        with pytest.raises(AssertionError, match="not allowed in SimpleTestCase"):
            horae.jobs.start(jobs.ship, number=1)


def run(case: type[SimpleTestCase]) -> int:
    """Run the tests of a case; raises AssertionError if one fails."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    assert [text for _, text in result.errors + result.failures] == []
    return result.testsRun


@pytest.mark.usefixtures("horae")
def test_testing_works_in_the_transaction_of_a_test_case() -> None:
    assert run(TestingTest) == 3
    assert count_elsewhere(horae) == (0, 0)


@pytest.mark.usefixtures("horae")
def test_coroutines_work_in_the_transaction_of_a_test_case() -> None:
    horae.jobs.list()
    connection.close()
    assert run(CoroutineTest) == 4
    assert count_elsewhere(horae) == (0, 0)


@pytest.mark.usefixtures("horae")
def test_testing_without_a_transaction_is_refused() -> None:
    with pytest.raises(InvalidRequest, match=r"django\.test\.TestCase"), testing(horae):
        raise AssertionError


@pytest.mark.usefixtures("horae")
def test_a_test_without_databases_starts_no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mail, "outbox", [], raising=False)
    connection.close()
    assert run(WithoutDatabaseTest) == 1
    assert count_elsewhere(horae) == (0, 0)


@pytest.mark.usefixtures("horae")
def test_a_call_in_a_test_run_leaves_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would close that of another thread, and no server drops a database that is in use."""
    monkeypatch.setattr(mail, "outbox", [], raising=False)
    connection.close()
    horae.jobs.list()
    assert connection.connection is None


@pytest.mark.usefixtures("horae")
def test_a_test_case_sees_jobs_and_bodies() -> None:
    horae.jobs.list()
    connection.close()
    assert run(ShopTest) == 4
    assert count_elsewhere(horae) == (0, 0)
