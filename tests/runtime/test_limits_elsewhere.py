"""Jobs with limits of their type in a queue that a backend runs: refused, since they would wait for ever."""

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, ClassVar, Final

import pytest

from horae import Horae, Limit
from horae.client.doctor.backends import backend_findings
from horae.errors import ConfigurationError, InvalidRequest
from horae.runtime.backends.checks import check_backends
from horae.storage.engine.database import Database
from horae.types.options.start_options import StartOptions
from tests.harness.applications import execute, url_of
from tests.runtime.test_dispatching import FakeBackend, found_by_doctor

REFUSED: Final = "queue 'reports' has backend 'celery:slow', and job type '{}' has limits, which hold only for jobs that"
LIMITED: Final = REFUSED.format("limited")
IN_REPORTS: Final = StartOptions(queue="reports")
BACKENDS: Final = {"reports": "celery:slow"}


def application(database: Database, **settings: Any) -> Horae:
    horae = Horae(url_of(database), **settings)
    horae.registry.backends["celery"] = FakeBackend()

    @horae.job(limits=[Limit(concurrency=1, key="{account}")])
    def limited(account: str = "a") -> None: ...

    @horae.job(limits=[Limit(concurrency=1, key=lambda given: given.account)])
    def sometimes(account: str | None = None) -> None: ...

    @horae.job
    def own() -> None: ...

    return horae


@pytest.fixture(params=["settings", "database"])
def horae(request: pytest.FixtureRequest, database: Database) -> Iterator[Horae]:
    """An application that names the backend of the queue, or that finds in the database what another one has named."""
    with closing(application(database, queue_backends=BACKENDS)) as named:
        if request.param == "settings":
            yield named
            return
        check_backends(named.components)
    with closing(application(database)) as horae:
        yield horae


def start_within(horae: Horae) -> None:
    with horae.components.database.engine.begin() as connection:
        horae.jobs.start("limited", queue="reports", session=connection)


WAYS: Final[dict[str, Callable[[Horae], object]]] = {
    "one": lambda horae: horae.jobs.start("limited", queue="reports"),
    "guarded": lambda horae: horae.jobs.start(
        "limited", queue="reports", unique_key="k", expires="1h"
    ),
    "debounced": lambda horae: horae.jobs.start("limited", queue="reports", debounce="1m"),
    "within": start_within,
    "many": lambda horae: horae.jobs.start_many("limited", [{}] * 2, options=IN_REPORTS),
    "group": lambda horae: horae.jobs.start_group([("own", {}), ("limited", {}, IN_REPORTS)]),
    "then": lambda horae: horae.jobs.start_group(["own"], then=("limited", {}, IN_REPORTS)),
}


@pytest.mark.one_database
@pytest.mark.parametrize("way", WAYS)
def test_a_start_is_refused(horae: Horae, way: str) -> None:
    with pytest.raises(InvalidRequest, match=LIMITED):
        WAYS[way](horae)
    assert horae.jobs.list().jobs == []


@pytest.mark.one_database
def test_a_batch_is_refused_if_one_of_its_jobs_has_limits(horae: Horae) -> None:
    with pytest.raises(InvalidRequest, match=REFUSED.format("sometimes")):
        horae.jobs.start_many("sometimes", [{}, {"account": "a"}], options=IN_REPORTS)
    assert horae.jobs.list().jobs == []


@pytest.mark.one_database
async def test_a_start_in_async_code_is_refused(horae: Horae) -> None:
    with pytest.raises(InvalidRequest, match=LIMITED):
        await horae.aio.jobs.start("limited", queue="reports")


def test_jobs_that_can_start_are_accepted(horae: Horae) -> None:
    jobs = horae.jobs
    assert (
        jobs.start("sometimes", queue="reports").waits_for is None
    )  # its key says: no limit for this one
    assert jobs.start("own", queue="reports").state == "pending"
    assert jobs.start("limited", queue="other").waits_for == "limit"


@pytest.mark.one_database
class TestSchedules:
    def test_of_such_a_type_are_refused_when_they_are_made_or_changed(self, horae: Horae) -> None:
        schedules = horae.schedules
        with pytest.raises(InvalidRequest, match=LIMITED):
            schedules.add("limited", name="a", every="1h", queue="reports")
        with pytest.raises(InvalidRequest, match=LIMITED):
            schedules.put("b", "limited", every="1h", queue="reports")
        schedules.add("limited", name="c", every="1h")
        with pytest.raises(InvalidRequest, match=LIMITED):
            schedules.alter("c", queue="reports")
        with pytest.raises(InvalidRequest, match=LIMITED):
            schedules.put("c", "limited", every="1h", queue="reports")
        assert [(view.name, view.queue) for view in schedules.list()] == [("c", "default")]

    def test_a_run_by_hand_is_refused(self, horae: Horae) -> None:
        horae.schedules.add("limited", name="a", every="1h")
        execute(horae, "UPDATE horae_schedules SET queue = 'reports'")
        with pytest.raises(InvalidRequest, match=LIMITED):
            horae.schedules.run_now("a")
        assert horae.jobs.list().jobs == []

    async def test_a_declared_one_is_refused_when_it_is_deployed(self, horae: Horae) -> None:
        @horae.every("1h", queue="reports", limits=[Limit(rate="1/s")])
        def nightly() -> None: ...

        with pytest.raises(InvalidRequest, match=REFUSED.format("nightly")):
            horae.deploy()
        assert horae.schedules.list() == []

    def test_limits_that_a_type_gets_later_leave_its_schedule_as_it_is(
        self, horae: Horae, caplog: pytest.LogCaptureFixture
    ) -> None:
        horae.schedules.add("own", name="a", every="1h", queue="reports")
        horae.registry.remove("own")
        horae.job(name="own", limits=[Limit(rate="1/s")])(lambda: None)
        horae.deployments.refresh()
        assert "schedule a: the options of its jobs cannot be computed here" in caplog.text
        assert REFUSED.format("own") in caplog.text


class TestTheQueueGetsABackend:
    """The same, in the other order: a queue that has limited work is not given to a backend."""

    @pytest.mark.parametrize("what", ["schedule 'late'", "a pending job"])
    def test_at_run_time(self, database: Database, what: str) -> None:
        with closing(application(database)) as horae:
            self.add_work(horae, what)
            expected = f"queue 'reports': {what} in it is of job type 'limited', which has limits, and these hold only"
            with pytest.raises(ConfigurationError, match=expected):
                horae.queues.set_backend("reports", "celery:slow")
            horae.queues.set_backend("reports", "horae")
            horae.queues.set_backend("other", "celery")

    @pytest.mark.parametrize("what", ["schedule 'late'", "a pending job"])
    async def test_by_a_node_that_starts_with_another_setting(
        self, database: Database, what: str
    ) -> None:
        with closing(application(database)) as before:
            self.add_work(before, what)
        with closing(application(database, queue_backends=BACKENDS)) as horae:
            with pytest.raises(
                ConfigurationError, match=f"queue 'reports': {what} in it is of job type 'limited'"
            ):
                await horae.node().run()
            assert [queue.backend for queue in horae.queues.list()] in ([], [None])

    def test_what_slipped_through_stops_no_node_and_is_reported(self, database: Database) -> None:
        with closing(application(database, queue_backends=BACKENDS)) as horae:
            check_backends(horae.components)
            job = horae.jobs.start("limited")
            execute(horae, "UPDATE horae_jobs SET queue = 'reports'")
            check_backends(horae.components)
            assert "its limits hold only on Horae's nodes" in str(horae.jobs.waiting_reason(job.id))
        with closing(application(database)) as horae:
            problem = (
                "1 job of type 'limited' in queue 'reports' cannot start: a backend runs them, and"
            )
            assert [
                level for level, message in found_by_doctor(horae) if message.startswith(problem)
            ] == ["problem"]

    @staticmethod
    def add_work(horae: Horae, what: str) -> None:
        if what == "a pending job":
            horae.jobs.start("limited", queue="reports")
        else:
            horae.schedules.add("limited", name="late", every="1h", queue="reports")


def test_the_own_queue_of_a_type_with_a_backend_gets_no_limits_by_key(database: Database) -> None:
    with closing(application(database)) as horae:
        horae.job(name="export", backend="celery")(lambda: None)
        expected = "but job type 'export' of this queue has backend 'celery'; limit the concurrency of the queue instead"
        with pytest.raises(ConfigurationError, match=expected):
            horae.queues.fair("default", "owner")
        with pytest.raises(ConfigurationError, match=expected):
            horae.queues.limit_by_key("default", Limit(rate="1/s"))
        horae.queues.fair("default", None)
        horae.queues.limit_by_key("default", None)
        horae.queues.limit("default", 3)
        horae.queues.fair("other", "owner")
        assert horae.jobs.start("export").waits_for is None
        with pytest.raises(
            InvalidRequest,
            match="'export' has backend 'celery', and queue 'other' has limits by key",
        ):
            horae.schedules.add("export", every="1h", queue="other")


class TestAQueueThatWorkOfSuchATypeNames:
    """Its type has another queue of its own, so only the schedule or the job tells."""

    WORK: ClassVar[dict[str, Callable[[Horae], object]]] = {
        "cron": lambda horae: horae.schedules.add("export", cron="0 3 * * *", queue="late"),
        "interval": lambda horae: horae.schedules.add("export", every="1h", queue="late"),
        "job": lambda horae: horae.jobs.start("export", queue="late"),
    }

    @pytest.fixture(params=WORK)
    def horae(self, request: pytest.FixtureRequest, database: Database) -> Iterator[Horae]:
        with closing(application(database)) as horae:
            horae.job(name="export", backend="celery")(lambda: None)
            self.WORK[request.param](horae)
            yield horae

    EXPECTED: ClassVar = (
        "queue 'late': .* in it is of job type 'export', which a backend runs; move the schedules"
    )

    def test_gets_no_turns_and_no_limits_by_key(self, horae: Horae) -> None:
        with pytest.raises(ConfigurationError, match=self.EXPECTED):
            horae.queues.fair("late", "owner")
        with pytest.raises(ConfigurationError, match=self.EXPECTED):
            horae.queues.limit_by_key("late", Limit(rate="1/s"))
        assert [queue.fair_by for queue in horae.queues.list() if queue.name == "late"] in (
            [],
            [None],
        )
        horae.queues.limit("late", 1)
        horae.queues.fair("other", "owner")

    def test_gets_none_by_a_declaration(self, horae: Horae) -> None:
        horae.queue("late", fair_by="owner")
        with pytest.raises(ConfigurationError, match=self.EXPECTED):
            horae.deploy()

    def test_gets_them_once_the_work_has_gone(self, horae: Horae) -> None:
        for schedule in horae.schedules.list():
            horae.schedules.alter(schedule.id, queue="elsewhere")
        for job in horae.jobs.list().jobs:
            horae.jobs.cancel(job.id)
        horae.queues.fair("late", "owner")


def test_a_job_that_is_retried_after_its_type_got_a_backend_has_no_limits(
    database: Database,
) -> None:
    with closing(application(database)) as horae:
        job = horae.jobs.start("limited")
        horae.jobs.cancel(job.id)
        horae.registry.remove("limited")
        horae.job(name="limited", backend="celery")(lambda account="a": None)
        assert horae.jobs.retry(job.id).waits_for is None


@pytest.mark.parametrize("what", ["turns", "rate"])
def test_a_queue_that_gets_them_from_a_program_without_the_type_is_reported(
    database: Database, what: str
) -> None:
    """As from `horae queues fair` without the application; what the advice names makes the jobs start."""
    with closing(application(database)) as horae, closing(Horae(url_of(database))) as operator:
        horae.job(name="export", backend="celery")(lambda: None)
        if what == "turns":
            operator.queues.fair("default", "owner")
        else:
            operator.queues.limit_by_key("default", Limit(rate="1/s"))
        job = horae.jobs.start("export")
        found = backend_findings(horae.registry, {}, database)
        [finding] = [each for each in found if each.check == "limits"]
        assert finding.message.startswith("1 job of type 'export' in queue 'default' cannot start")
        assert (
            "`horae queues fair default --by none`, `horae queues limit default --rate none`"
            in str(finding.advice)
        )
        operator.queues.fair("default", None)
        operator.queues.limit_by_key("default", None)
        assert horae.jobs.get(job.id).waits_for is None
        assert [level for level, _ in found_by_doctor(horae) if level != "ok"] == []
