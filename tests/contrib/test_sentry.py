"""What Sentry receives: events of a real client whose transport keeps the envelopes."""

import json
import logging
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pytest
import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport
from typing_extensions import override

from horae import Backoff, Discard, Horae, JobContext, Retry, Secret, Snooze
from horae.contrib.sentry import instrument, uninstrument
from horae.contrib.sentry.monitors import config_of, slug_of
from horae.storage.engine.database import Database
from horae.types import TriggerKeywords, rules_of, trigger_of
from tests.contrib import sentry_application
from tests.harness.applications import application, claim_as_another_node
from tests.harness.nodes import running_node, until, until_state

pytestmark = pytest.mark.one_database

SECRET = "sesame-opens-the-door"


class Kept(Transport):
    """Keeps what would be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.items: list[dict[str, Any]] = []

    @override
    def capture_envelope(self, envelope: Envelope) -> None:
        for item in envelope.items:
            if item.headers.get("type") in ("event", "check_in"):
                self.items.append(json.loads(item.get_bytes()))

    @property
    def events(self) -> list[dict[str, Any]]:
        return [item for item in self.items if "check_in_id" not in item]

    @property
    def check_ins(self) -> list[dict[str, Any]]:
        return [item for item in self.items if "check_in_id" in item]

    def has_check_ins(self, count: int) -> bool:
        return len(self.check_ins) == count


@pytest.fixture
def sentry() -> Iterator[Kept]:
    kept = Kept()
    # The integration of SQLAlchemy would listen for all statements of this process, also later.
    sentry_sdk.init(
        dsn="http://key@localhost/1",
        transport=kept,
        default_integrations=True,
        auto_enabling_integrations=False,
    )
    yield kept
    sentry_sdk.get_client().close()
    sentry_sdk.get_global_scope().set_client(None)


@pytest.fixture
def horae(database: Database, sentry: Kept) -> Iterator[Horae]:
    with application(database) as horae:
        instrument(horae)
        yield horae


async def test_each_failed_attempt_is_one_event(horae: Horae, sentry: Kept) -> None:
    @horae.job(max_attempts=2, backoff=Backoff(base="1ms"))
    def fails(customer: int, password: Annotated[str, Secret()]) -> None:
        local = password
        sentry_sdk.add_breadcrumb(message="looking up")
        raise LookupError(f"no entry for {local}")

    job = horae.jobs.start(fails, owner="alice", customer=4711, password=SECRET)
    async with running_node(horae):
        await until_state(horae, job.id, "failed")
    first, second = sentry.events
    [error] = first["exception"]["values"]
    assert (error["type"], error["value"]) == ("LookupError", "no entry for ••••••")
    assert error["stacktrace"]["frames"][-1]["function"] == "fails"
    assert error["mechanism"] == {"type": "horae", "handled": False}
    assert first["user"]["id"] == "alice"
    assert first["transaction"] == "fails"
    assert [crumb["message"] for crumb in first["breadcrumbs"]["values"]] == ["looking up"]
    tags = {name: value for name, value in first["tags"].items() if name.startswith("horae.")}
    assert tags == {
        "horae.job": str(job.id),
        "horae.type": "fails",
        "horae.queue": "default",
        "horae.attempt": "1",
        "horae.outcome": "failed",
    }
    assert second["tags"]["horae.attempt"] == "2"
    assert first["contexts"]["parameters"]["customer"] == 4711
    assert "retry_in" in first["contexts"]["job"]
    assert "retry_in" not in second["contexts"]["job"]
    assert SECRET not in json.dumps(sentry.items)


@pytest.mark.parametrize(
    ("decision", "count"),
    [
        (Snooze("1h"), 0),
        (Discard("not needed"), 0),
        (Retry("not yet", after="1h"), 0),
        (LookupError("no luck"), 1),
        (SystemExit(3), 1),
    ],
)
async def test_a_decision_is_no_error(
    horae: Horae, sentry: Kept, decision: BaseException, count: int
) -> None:
    @horae.job(max_attempts=2)
    def decides() -> None:
        raise decision

    job = horae.jobs.start(decides)
    async with running_node(horae):
        await until(lambda: horae.jobs.attempts(job.id))
    assert len(sentry.events) == count


async def test_a_retry_that_is_not_left_is_an_error(horae: Horae, sentry: Kept) -> None:
    @horae.job
    def decides() -> None:
        raise Retry("not yet")

    job = horae.jobs.start(decides)
    async with running_node(horae):
        await until_state(horae, job.id, "failed")
    assert [event["exception"]["values"][-1]["type"] for event in sentry.events] == ["Retry"]


async def test_a_cancelled_job_is_no_error(horae: Horae, sentry: Kept) -> None:
    @horae.job
    def waits(job: JobContext) -> None:
        for _ in job.progress.track(range(10_000_000)):
            job.check()

    job = horae.jobs.start(waits)
    async with running_node(horae):
        await until_state(horae, job.id, "started")
        await horae.aio.jobs.cancel(job.id)
    assert sentry.events == []


def test_only_the_failure_of_the_job_may_be_reported(database: Database, sentry: Kept) -> None:
    with application(database) as horae:
        instrument(horae, only_final=True)

        @horae.job(max_attempts=3, backoff=Backoff(base="1ms"))
        def fails() -> None:
            raise LookupError

        horae.jobs.start(fails, sync=True)
        [event] = sentry.events
        assert event["tags"]["horae.attempt"] == "3"
        uninstrument(horae)
        uninstrument(horae)
        assert (horae.hooks.around, horae.hooks.settlements) == ([], [])


async def test_what_else_is_logged_is_still_reported(horae: Horae, sentry: Kept) -> None:
    @horae.job
    def logs(job: JobContext) -> None:
        job.log.error("look here")

    job = horae.jobs.start(logs, sync=True)
    [event] = sentry.events
    assert event["logentry"]["message"] == "look here"
    assert event["tags"]["horae.job"] == str(job.id)
    logging.getLogger("horae.runtime").error("the disk is full")
    assert len(sentry.events) == 2


async def test_runs_of_schedules_check_in(horae: Horae, sentry: Kept) -> None:
    @horae.cron("30 3 * * 1-5", timezone="Europe/Berlin", max_runtime="90s")
    def nightly(job: JobContext) -> None:
        if len(sentry.check_ins) > 1:
            raise LookupError

    horae.deploy()
    [schedule] = horae.schedules.list()
    async with running_node(horae):
        for count in (2, 4):
            await until_state(horae, horae.schedules.run_now(schedule.id), "finished", "failed")
            await until(partial(sentry.has_check_ins, count))
            await until(lambda: horae.schedules.get(schedule.id).state == "idle")
    begun, ended, begun_again, failed = sentry.check_ins
    assert [each["status"] for each in sentry.check_ins] == [
        "in_progress",
        "ok",
        "in_progress",
        "error",
    ]
    assert begun["check_in_id"] == ended["check_in_id"] != begun_again["check_in_id"]
    assert begun_again["check_in_id"] == failed["check_in_id"]
    assert {each["monitor_slug"] for each in sentry.check_ins} == {"nightly"}
    assert 0 <= ended["duration"] < 20
    assert ended["monitor_config"] == {
        "schedule": {"type": "crontab", "value": "30 3 * * 1-5"},
        "timezone": "Europe/Berlin",
        "checkin_margin": 1,
        "max_runtime": 2,
    }
    [event] = sentry.events
    assert event["tags"]["horae.schedule"] == str(schedule.id)


class Broken(Transport):
    @override
    def capture_envelope(self, envelope: Envelope) -> None:
        raise RuntimeError("the transport is broken")


def test_a_broken_client_breaks_no_job(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    sentry_sdk.init(
        dsn="http://key@localhost/1", transport=Broken(), auto_enabling_integrations=False
    )
    with application(database) as horae:
        instrument(horae)

        @horae.job
        def fails() -> None:
            raise LookupError

        assert horae.jobs.start(fails, sync=True).state == "failed"
    sentry_sdk.get_global_scope().set_client(None)


def test_without_a_client_nothing_happens(database: Database) -> None:
    with application(database) as horae:
        instrument(horae)

        @horae.job
        def fails() -> None:
            raise LookupError

        assert horae.jobs.start(fails, sync=True).state == "failed"


@pytest.mark.slow
async def test_attempts_in_child_processes_are_reported_once_even_if_killed(
    tmp_path: Path, sentry: Kept
) -> None:
    horae = sentry_application.horae
    horae.settings = horae.settings.model_copy(
        update={"database": f"sqlite:///{tmp_path}/horae.db"}
    )
    with closing(horae):
        async with running_node(horae):
            for declared in (sentry_application.fails, sentry_application.is_killed):
                job = await horae.aio.jobs.start(declared)
                await until_state(horae, job.id, "failed")
    failed, killed = sentry.events
    [error] = failed["exception"]["values"]
    assert (error["type"], error["value"]) == ("LookupError", "no entry")
    assert error["stacktrace"]["frames"][-1]["function"] == "fails"
    assert killed["tags"]["horae.outcome"] == "failed"
    assert "killed" in killed["exception"]["values"][0]["value"]


@pytest.mark.parametrize(
    ("trigger", "schedule"),
    [
        ({"cron": "*/5 * * * *"}, {"type": "crontab", "value": "*/5 * * * *"}),
        ({"cron": "5/15 8-18/2 * * *"}, {"type": "crontab", "value": "5-59/15 8-18/2 * * *"}),
        ({"cron": "0 15 3 * * 1"}, {"type": "crontab", "value": "15 3 * * 1"}),
        ({"cron": "30 15 3 * * 1"}, None),
        ({"cron": "0 15 3 * * 1 2099"}, None),
        ({"every": "90m"}, {"type": "interval", "value": 90, "unit": "minute"}),
        ({"every": "2h"}, {"type": "interval", "value": 2, "unit": "hour"}),
        ({"every": "14 days"}, {"type": "interval", "value": 2, "unit": "week"}),
        ({"every": "3 months"}, {"type": "interval", "value": 3, "unit": "month"}),
        ({"every": "2 years"}, {"type": "interval", "value": 2, "unit": "year"}),
        ({"every": "10s"}, None),
        ({"every": "90s"}, None),
    ],
)
def test_monitors(trigger: TriggerKeywords, schedule: Any) -> None:
    rules = rules_of("key", trigger_of(trigger), {})
    config = config_of(rules, timedelta(minutes=5))
    assert (config and config["schedule"]) == schedule
    if config is not None:
        assert config["checkin_margin"] == 5
        assert "max_runtime" not in config


def test_slugs() -> None:
    assert slug_of("nightly_report-2") == "nightly_report-2"
    names = ("Nightly", "nightly report", "nightly.report", "n" * 51, "n" * 52, "é")
    slugs = [slug_of(name) for name in names]
    assert len(set(slugs)) == len(names)
    assert all(len(slug) <= 50 and slug.strip("-") == slug for slug in slugs)


async def test_the_crash_of_another_node_is_reported(horae: Horae, sentry: Kept) -> None:
    @horae.job
    def is_lost() -> None: ...

    job = horae.jobs.start(is_lost)
    assert len(claim_as_another_node(horae)) == 1
    async with running_node(horae):
        await until_state(horae, job.id, "failed")
        await until(lambda: sentry.events)
    [event] = sentry.events
    assert event["tags"]["horae.outcome"] == "crashed"
    [error] = event["exception"]["values"]
    assert error["value"] == "node elsewhere stopped in the middle of the job"
