"""Jobs that a backend runs: when messages about them are sent, sent again, and what a worker claims."""

import asyncio
import logging
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from random import Random
from typing import Any
from unittest.mock import create_autospec

import pytest
from sqlalchemy import event

from horae import Backoff, Horae, JobContext, Limit
from horae.client.doctor.backends import backend_findings
from horae.client.doctor.system import system_findings
from horae.contrib.celery.message_node import MessageNode
from horae.domain.jobs.job import JobId
from horae.errors import ConfigurationError, DatabaseUnavailable, InvalidJobType, InvalidRequest
from horae.runtime.backends.checks import check_backends
from horae.runtime.backends.dispatcher import Dispatcher
from horae.runtime.signals import Signals
from horae.runtime.timing import DispatcherTiming
from horae.storage.engine.database import Database
from horae.storage.operations.unserved import why_unserved
from horae.storage.queues import queues
from horae.types.backends import Message
from horae.types.options.start_options import StartOptions
from tests.harness.applications import execute, rows, url_of
from tests.harness.checked import findings
from tests.harness.nodes import running_node, until, until_state

AT_ONCE = DispatcherTiming(compare_every=0.0, lost_after=0.0)
AT_ONCE_BACKOFF = Backoff(base=timedelta(0), jitter=0)


class FakeBackend:
    """A system that keeps the messages; `broken`, `lost`: what it raises for messages and for questions."""

    usual_destination = "export"

    def __init__(self) -> None:
        self.sent: list[tuple[str, int]] = []
        self.waits = 0
        self.broken: Exception | None = None
        self.lost: Exception | None = None

    def check(self) -> None:
        """Accept everything."""

    def send(self, destination: str, messages: Sequence[Message]) -> None:
        if self.broken is not None:
            raise self.broken
        self.sent += [(destination, message.job_id) for message in messages]

    def depth(self, destination: str) -> int:
        del destination
        if self.lost is not None:
            raise self.lost
        return self.waits


@pytest.fixture
def settings() -> dict[str, Any]:
    return {"queue_backends": {"reports": "celery:slow"}}


@pytest.fixture
def horae(database: Database, settings: dict[str, Any]) -> Iterator[Horae]:
    with closing(Horae(url_of(database), **settings)) as horae:

        @horae.job(backend="celery", max_attempts=2, backoff=AT_ONCE_BACKOFF, max_count=None)
        def export(job: JobContext, *, failures: int = 0) -> str:
            if job.attempt <= failures:
                raise RuntimeError
            return "exported"

        @horae.job(max_count=None)
        def own() -> None: ...

        @horae.job(queue="reports", max_count=None)
        def report() -> None: ...

        yield horae


@pytest.fixture
def backend(horae: Horae) -> FakeBackend:
    horae.registry.backends["celery"] = made = FakeBackend()
    check_backends(horae.components)
    return made


def dispatcher(horae: Horae, timing: DispatcherTiming | None = None) -> Dispatcher:
    """Without a timing it never compares the messages with the jobs."""
    made = Dispatcher(horae.components, Signals(), timing or DispatcherTiming(), Random(1))
    if timing is None:
        vars(made)["_compare_at"] = math.inf
    return made


async def test_messages_go_to_the_place_of_the_type_or_else_of_the_queue(
    horae: Horae, backend: FakeBackend
) -> None:
    export, report = horae.jobs.start("export"), horae.jobs.start("report")
    both = horae.jobs.start("export", queue="reports")
    horae.jobs.start("own")
    dispatcher(horae).dispatch()
    assert sorted(backend.sent) == [("export", export.id), ("export", both.id), ("slow", report.id)]
    dispatcher(horae).dispatch()
    assert len(backend.sent) == 3


async def test_horaes_nodes_leave_them_alone(horae: Horae, backend: FakeBackend) -> None:
    waiting = [horae.jobs.start(kind) for kind in ("export", "report")]
    backend.broken = ConnectionError("no broker")
    async with running_node(horae):
        own = horae.jobs.start("own")
        await until_state(horae, own.id, "finished")
    assert [horae.jobs.get(job.id).state for job in waiting] == ["pending", "pending"]


async def test_nothing_is_sent_before_the_job_is_committed_and_due(
    horae: Horae, backend: FakeBackend
) -> None:
    later = horae.jobs.start("export", delay="1h")
    with horae.components.database.engine.begin() as connection:
        horae.jobs.start("export", session=connection)
        connection.rollback()
    dispatcher(horae).dispatch()
    assert backend.sent == []
    horae.jobs.reschedule(later.id, delay="0s")
    dispatcher(horae).dispatch()
    assert backend.sent == [("export", later.id)]


async def test_a_worker_runs_a_job_once(
    horae: Horae, backend: FakeBackend, worker: MessageNode
) -> None:
    job = horae.jobs.start("export")
    assert not worker.run_job(job.id)  # no message about it was sent
    dispatcher(horae).dispatch()
    assert worker.run_job(job.id)
    assert not worker.run_job(job.id)
    done = horae.jobs.get(job.id)
    assert (done.state, done.result, done.attempt) == ("finished", "exported", 1)
    assert not worker.run_job(JobId(4711))


async def test_a_retry_gets_a_message_of_its_own(
    horae: Horae, backend: FakeBackend, worker: MessageNode
) -> None:
    job = horae.jobs.start("export", failures=1)
    for attempt in (1, 2):
        dispatcher(horae).dispatch()
        assert len(backend.sent) == attempt
        assert worker.run_job(job.id)
    assert (await until_state(horae, job.id, "finished")).attempt == 2
    assert findings(horae.components.database) == []


async def test_a_cancelled_job_is_not_run(
    horae: Horae, backend: FakeBackend, worker: MessageNode
) -> None:
    job = horae.jobs.start("export")
    dispatcher(horae).dispatch()
    horae.jobs.cancel(job.id)
    assert not worker.run_job(job.id)
    assert horae.jobs.get(job.id).state == "cancelled"


async def test_a_lost_message_is_sent_again(horae: Horae, backend: FakeBackend) -> None:
    job = horae.jobs.start("export")
    dispatching = dispatcher(horae, AT_ONCE)
    backend.waits = 1
    dispatching.dispatch()
    dispatching.dispatch()
    assert backend.sent == [("export", job.id)]  # it waits there
    backend.waits = 0
    dispatching.dispatch()
    assert backend.sent == [("export", job.id)] * 2


async def test_a_message_among_those_of_others_is_sent_again_in_the_end(
    horae: Horae, backend: FakeBackend
) -> None:
    job = horae.jobs.start("export")
    dispatching = dispatcher(
        horae, DispatcherTiming(compare_every=0.0, lost_after=0.0, lost_for_certain=0.0)
    )
    backend.waits = 100
    dispatching.dispatch()
    dispatching.dispatch()
    assert backend.sent.count(("export", job.id)) >= 2


async def test_what_cannot_be_sent_is_tried_again(
    horae: Horae, backend: FakeBackend, worker: MessageNode, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = [horae.jobs.start("export") for _ in range(3)]
    backend.broken = ConnectionError("no broker")
    dispatching = dispatcher(horae)
    with caplog.at_level(logging.WARNING):
        dispatching.dispatch()
        dispatching.dispatch()
    assert [record.getMessage() for record in caplog.records] == [
        "queue export of celery accepts no messages: no broker"
    ]
    assert not worker.run_job(jobs[0].id)
    backend.broken = None
    while dispatching.dispatch():
        pass
    dispatching.dispatch()
    assert sorted(backend.sent) == [("export", job.id) for job in jobs]


async def test_a_paused_queue(horae: Horae, backend: FakeBackend, worker: MessageNode) -> None:
    sent = horae.jobs.start("export")
    dispatcher(horae).dispatch()
    horae.queues.pause("default")
    horae.jobs.start("export")
    dispatcher(horae).dispatch()
    assert backend.sent == [("export", sent.id)]
    assert not worker.run_job(sent.id)
    horae.queues.resume("default")
    assert worker.run_job(sent.id)


async def test_a_queue_with_a_limit(
    horae: Horae, backend: FakeBackend, worker: MessageNode
) -> None:
    horae.queues.limit("default", 2)
    jobs = [horae.jobs.start("export") for _ in range(4)]
    dispatching = dispatcher(horae)
    dispatching.dispatch()
    assert [job_id for _, job_id in backend.sent] == [job.id for job in jobs[:2]]
    horae.queues.limit("default", 1)
    execute(
        horae,
        f"UPDATE horae_jobs SET state = 'started', node_id = 'n', lease = 1, sent_at = NULL WHERE id = {jobs[0].id}",
    )
    assert not worker.run_job(jobs[1].id)  # another one runs
    assert rows(horae, f"SELECT sent_at FROM horae_jobs WHERE id = {jobs[1].id}")[0][0] is None
    execute(
        horae, f"UPDATE horae_jobs SET state = 'pending', node_id = NULL WHERE id = {jobs[0].id}"
    )
    vars(dispatching)["_limits_at"] = 0.0
    dispatching.dispatch()
    assert worker.run_job(jobs[0].id)


async def test_jobs_that_no_other_system_runs_any_more_are_left_to_nodes(
    horae: Horae, backend: FakeBackend, database: Database
) -> None:
    job = horae.jobs.start("export")
    dispatcher(horae).dispatch()
    with closing(Horae(url_of(database))) as after:

        @after.job(name="export", max_count=None)
        def export_without_celery(*, failures: int = 0) -> None: ...

        dispatcher(after, AT_ONCE).dispatch()
        async with running_node(after):
            await until_state(after, job.id, "finished")


async def test_a_node_without_backends_asks_nothing(database: Database) -> None:
    with closing(Horae(url_of(database))) as plain:
        plain.job(name="own")(lambda: None)
        statements: list[str] = []
        async with running_node(plain):
            await until_state(plain, plain.jobs.start("own").id, "finished")
            for engine in (
                plain.components.database.engine,
                plain.components.database.autocommit_engine,
            ):
                event.listen(
                    engine, "before_cursor_execute", lambda *call: statements.append(call[2])
                )
            await until_state(plain, plain.jobs.start("own").id, "finished")
        assert [text for text in statements if "sent_at IS NOT NULL" in text] == []


async def test_only_a_node_with_backends_logs_that_it_cannot_send(
    horae: Horae,
    database: Database,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    away = create_autospec(
        Dispatcher.dispatch, side_effect=DatabaseUnavailable("the database", "refused")
    )
    monkeypatch.setattr(Dispatcher, "dispatch", away)
    timing = DispatcherTiming(without_backends=0.0, poll=0.01)
    with closing(Horae(url_of(database))) as without:
        for one, logged in ((without, False), (horae, True)):
            away.reset_mock()
            running = asyncio.ensure_future(dispatcher(one, timing).run())
            await until(lambda: away.call_count > 1)
            running.cancel()
            await asyncio.wait([running])
            assert ("no jobs can be sent to backends" in caplog.text) is logged


async def test_why_a_job_waits(horae: Horae, backend: FakeBackend) -> None:
    job = horae.jobs.start("report")
    assert "No message about it was sent yet" in str(horae.jobs.waiting_reason(job.id))
    dispatcher(horae).dispatch()
    assert "A message about it was sent 0 s ago" in str(horae.jobs.waiting_reason(job.id))


def found_by_doctor(horae: Horae) -> list[tuple[str, str]]:
    database, backends = horae.components.database, horae.settings.queue_backends
    findings = backend_findings(horae.registry, backends, database)
    return [(finding.level.value, finding.message) for finding in findings]


async def test_what_the_doctor_says(horae: Horae, backend: FakeBackend) -> None:
    job = horae.jobs.start("export")
    dispatcher(horae).dispatch()
    answers = ("ok", "queue slow answers; 0 messages in it")
    assert found_by_doctor(horae) == [("ok", "queue export answers; 0 messages in it"), answers]
    is_sqlite = horae.components.database.dialect == "sqlite"
    back = "sent_at - 300 * 1000000" if is_sqlite else "sent_at - interval '300 seconds'"
    execute(horae, f"UPDATE horae_jobs SET sent_at = {back} WHERE id = {job.id}")
    assert found_by_doctor(horae) == [
        ("warning", "no worker has taken 1 message in queue export, the oldest sent 300 s ago"),
        answers,
    ]
    backend.lost = ConnectionError("no broker")
    assert [level for level, _ in found_by_doctor(horae)] == ["problem", "problem"]


async def test_a_queue_whose_backend_no_node_serves_is_reported(
    horae: Horae, database: Database
) -> None:
    """Nothing is sent about its jobs, and no node of Horae runs them."""
    with closing(Horae(url_of(database))) as other:
        other.job(name="odd", queue="export")(lambda: None)
        other.queues.set_backend("export", "celery")
        job = other.jobs.start("odd")
        is_sqlite = database.dialect == "sqlite"
        back = "run_at - 60 * 1000000" if is_sqlite else "run_at - interval '60 seconds'"
        execute(other, f"UPDATE horae_jobs SET run_at = {back}")
        seen = database.autocommit(queues.view)
        found = [
            each.message for each in system_findings(database, other.registry, {}, [], [], seen)
        ]
        unsent = r"1 due job of type 'odd' in queue 'export' \(the oldest for \d+ s\) waits: a backend runs them"
        assert [message for message in found if re.match(unsent, message)]
        assert other.jobs.get(job.id).state == "pending"


async def test_a_wait_for_a_job_that_was_sent_logs_no_missing_node(
    horae: Horae, backend: FakeBackend
) -> None:
    job = horae.jobs.start("export")
    assert "no node runs jobs" in str(horae.components.database.autocommit(why_unserved, job.id))
    dispatcher(horae).dispatch()
    assert horae.components.database.autocommit(why_unserved, job.id) is None


def start_in_mail(horae: Horae, way: str) -> None:
    jobs, options = horae.jobs, StartOptions(queue="mail")
    match way:
        case "one":
            jobs.start("export", queue="mail")
        case "guarded":
            jobs.start("export", queue="mail", unique_key="k", expires="1h")
        case "within":
            with horae.components.database.engine.begin() as connection:
                jobs.start("export", queue="mail", session=connection)
        case "many":
            jobs.start_many("export", [{}] * 2, options=options)
        case "group":
            jobs.start_group([("own", {}), ("export", {}, options)])
        case _:
            jobs.start_group(["own"], then=("export", {}, options))


class TestBadInput:
    async def test_no_application_is_set_up(self, horae: Horae) -> None:
        with pytest.raises(
            ConfigurationError, match="has backend 'celery', but no such application is set up"
        ):
            await horae.node().run()
        assert rows(horae, "SELECT id FROM horae_nodes") == []

    async def test_two_deployments_that_name_different_backends(
        self, horae: Horae, backend: FakeBackend, database: Database
    ) -> None:
        with closing(Horae(url_of(database), queue_backends={"reports": "horae"})) as other:
            with pytest.raises(
                ConfigurationError,
                match="queue 'reports': this application names the backend 'horae'",
            ):
                await other.node().run()
            other.queues.set_backend("reports", "horae")
            check_backends(other.components)
        with pytest.raises(ConfigurationError, match="`horae queues backend reports celery:slow`"):
            check_backends(horae.components)

    @pytest.mark.one_database
    @pytest.mark.parametrize("text", ["rabbit", "", "celery:", "celery:a b", "horae", 3])
    def test_a_type_with_an_unknown_backend(self, horae: Horae, text: Any) -> None:
        with pytest.raises(
            (InvalidJobType, InvalidRequest), match="expected 'celery' or 'celery:QUEUE'"
        ):
            horae.job(name="odd", backend=text)(lambda: None)

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            ({"isolation": "process"}, "isolation='process' is not for a type with a backend"),
            ({"limits": [Limit(concurrency=1)]}, "limits are not for a type with a backend"),
        ],
    )
    def test_options_that_do_not_go_together(
        self, horae: Horae, options: Any, problem: str
    ) -> None:
        with pytest.raises(InvalidJobType, match=problem):
            horae.job(name="odd", backend="celery", **options)(lambda: None)

    def test_limits_by_key_and_turns_in_a_queue_with_a_backend(
        self, horae: Horae, backend: FakeBackend
    ) -> None:
        with pytest.raises(ConfigurationError, match="the backend of this queue is 'celery:slow'"):
            horae.queues.fair("reports", "owner")
        with pytest.raises(ConfigurationError, match="the backend of this queue is 'celery:slow'"):
            horae.queues.limit_by_key("reports", Limit(rate="1/s"))
        horae.queues.limit("reports", 1)
        assert [
            (queue.name, queue.fair_by, queue.limits, queue.backend)
            for queue in horae.queues.list()
        ] == [("reports", None, None, "celery:slow")]
        horae.queues.fair("mail", "owner")
        with pytest.raises(
            ConfigurationError,
            match="limits by key and turns hold only for jobs that Horae's nodes",
        ):
            horae.queues.set_backend("mail", "celery")

    async def test_a_queue_with_turns_that_an_application_gives_a_backend(
        self, database: Database
    ) -> None:
        with closing(Horae(url_of(database), queue_backends={"mail": "celery"})) as horae:
            horae.registry.backends["celery"] = FakeBackend()
            horae.queues.fair("mail", "owner")
            with pytest.raises(
                ConfigurationError, match="queue 'mail': limits by key and turns hold only"
            ):
                await horae.node().run()
            assert horae.queues.list()[0].backend is None

    @pytest.mark.parametrize(
        ("declared", "problem"),
        [
            ({"queue": "reports"}, "queue 'reports' declares limits by key or turns"),
            ({"limits": [Limit(rate="1/s")]}, "job type 'report' declares limits by key or turns"),
            (
                {"queue": "default"},
                "job type 'export' has backend 'celery', and its queue 'default' declares limits",
            ),
        ],
    )
    async def test_declared_limits_by_key(
        self, horae: Horae, backend: FakeBackend, declared: dict[str, Any], problem: str
    ) -> None:
        if "queue" in declared:
            horae.queue(declared["queue"], fair_by="owner")
        else:
            horae.registry.remove("report")
            horae.job(name="report", queue="reports", **declared)(lambda: None)
        with pytest.raises(ConfigurationError, match=problem):
            await horae.node().run()
        assert rows(horae, "SELECT id FROM horae_nodes") == []

    async def test_jobs_that_cannot_start_are_reported(
        self, horae: Horae, backend: FakeBackend
    ) -> None:
        horae.queues.fair("mail", "owner")
        with closing(Horae(url_of(horae.components.database))) as other:  # which knows no backend
            other.job(name="export")(lambda: None)
            job = other.jobs.start("export", queue="mail")
        dispatcher(horae).dispatch()
        assert backend.sent == []
        problem = (
            "problem",
            "1 job of type 'export' in queue 'mail' cannot start: a backend runs them, and",
        )
        assert problem in [
            (level, message[: len(problem[1])]) for level, message in found_by_doctor(horae)
        ]
        horae.queues.fair("mail", None)
        dispatcher(horae).dispatch()
        assert [job_id for _, job_id in backend.sent] == [job.id]

    @pytest.mark.one_database
    @pytest.mark.parametrize("way", ["one", "guarded", "within", "many", "group", "then"])
    @pytest.mark.parametrize("limited", [True, False])
    def test_jobs_that_could_not_start_are_refused(
        self, horae: Horae, backend: FakeBackend, way: str, *, limited: bool
    ) -> None:
        if limited:
            horae.queues.limit_by_key("mail", Limit(rate="1/s"))
        else:
            horae.queues.fair("mail", "owner")
        jobs = horae.jobs
        with pytest.raises(
            InvalidRequest,
            match="'export' has backend 'celery', and queue 'mail' has limits by key",
        ):
            start_in_mail(horae, way)
        assert jobs.list().jobs == []
        assert jobs.get(jobs.start("own", queue="mail").id).waits_for == "limit"
        assert jobs.start("export", queue="other").state == "pending"

    @pytest.mark.parametrize("given", [{"a": "rabbit"}, "a", "a=b"])
    def test_a_setting_that_is_wrong(self, given: Any) -> None:
        with pytest.raises(ConfigurationError, match="queue_backends"):
            Horae(queue_backends=given)

    def test_the_setting_as_text(self) -> None:
        assert Horae(queue_backends="a=celery, b = celery:slow").settings.queue_backends == {
            "a": "celery",
            "b": "celery:slow",
        }
