"""What Django's `TestCase` sees: everything happens in the test's own transaction, which is rolled back."""

import unittest

import pytest
from django.db import connection
from django.test import TestCase

from horae import JobContext
from horae.contrib.django import horae
from tests.contrib.django.shop import jobs
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


@pytest.mark.usefixtures("horae")
def test_a_test_case_sees_jobs_and_bodies() -> None:
    horae.jobs.list()
    connection.close()
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(ShopTest).run(result)
    assert [text for _, text in result.errors + result.failures] == []
    assert result.testsRun == 4
    assert count_elsewhere(horae) == (0, 0)
