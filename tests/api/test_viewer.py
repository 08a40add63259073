"""A viewer sees what staff sees, but neither parameters nor results, in no answer and no event.

Values are planted wherever a job, a schedule or a change may keep them; then every endpoint of the document that can be
read is asked. Read-only staff is asked for the same, so that an answer in which nothing was planted proves nothing.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from httpx import Response

from horae import Backoff, Horae, Job, JobContext, JobType, Limit
from horae.api.application import HttpInterface
from horae.api.views.schedules import why_item
from horae.client.schedules.why_answer import ScheduleWhy, in_words
from horae.domain.schedules.why import WhyKind
from horae.storage.engine.database import Database
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits import filing, lane_claims
from tests.api.clients import Client, application_of, client_of, error_of
from tests.api.streams import listening
from tests.harness.applications import ELSEWHERE, application
from tests.harness.nodes import running_node, until, until_state

PLANTED: Final = "planted-7f3a"
NIGHT: Final = datetime(2026, 3, 3, 3, tzinfo=UTC)
STREAM: Final = "/api/events/"
SHOWING: Final = (
    "/api/jobs/{job_id}/",
    "/api/jobs/{job_id}/attempts/",
    "/api/jobs/{job_id}/logs/",
    "/api/jobs/{job_id}/why/",
    "/api/jobs/",
    "/api/errors/",
    "/api/audit/",
    "/api/schedules/{schedule_id}/",
    "/api/schedules/{schedule_id}/errors/",
)
"""Endpoints that show read-only staff something that was planted."""


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with application(database) as made:
        declare(made)
        yield made


@pytest.fixture
def app(horae: Horae) -> HttpInterface:
    return application_of(horae)


@pytest.fixture
def client(app: HttpInterface) -> Client:
    return lambda who: client_of(app, who)


class Described(JobType[Any]):
    """A type that shows a parameter in lists."""

    type = "described"

    def run(self, job: JobContext[Any]) -> None: ...

    def describe(self, job: Job) -> Mapping[str, Any]:
        return {"customer": PLANTED}


def declare(horae: Horae) -> None:
    """Declare types whose jobs succeed, fail, wait for another attempt, and wait for a limit."""

    @horae.job
    def echo(text: str) -> str:
        logging.getLogger("echo").warning("got %s", text)
        return text

    @horae.job(exceptions_map={ValueError: lambda error: f"{error} is wrong"})
    def fail(text: str) -> None:
        raise ValueError(text)

    @horae.job(max_attempts=2, backoff=Backoff(base="10m"), exceptions_map={ValueError: str})
    def repeat(text: str) -> None:
        raise ValueError(text)

    @horae.job(limits=[Limit(concurrency=1, key="{text}")])
    def limited(text: str) -> None: ...

    horae.register(Described)


async def plant(horae: Horae) -> None:
    """Keep the planted text in jobs, in a group, in schedules and in the log of changes."""
    horae.jobs.start("described")
    ended = [horae.jobs.start("echo", text=PLANTED, unique_key=PLANTED, owner="ownvera").id]
    ended += [horae.jobs.start("fail", text=PLANTED).id]
    repeated = horae.jobs.start("repeat", text=PLANTED)
    horae.jobs.start_group([("echo", {"text": PLANTED})])
    for job_type in ("echo", "fail"):
        added = horae.schedules.add(job_type, config={"text": PLANTED}, every="1h")
        horae.schedules.alter(added.id, config={"text": f"{PLANTED} again"})
        ended.append(horae.schedules.run_now(added.id))
    async with running_node(horae, scheduler=False):
        for job_id in ended:
            await until_state(horae, job_id, "finished", "failed")
        await until(lambda: horae.jobs.get(repeated.id).retry_reason)
    for _ in range(2):
        horae.jobs.start("limited", text=PLANTED)
    database = horae.components.database
    database.transact(filing.file)
    scope = ClaimScope(node=ELSEWHERE, types=["limited"])
    assert len(database.transact(lane_claims.claim, scope, 9, 9).claims) == 1


async def answers(client: Client, app: HttpInterface, who: str) -> dict[str, list[Response]]:
    """What all endpoints answer that can be read, for each job, group and schedule."""
    found: dict[str, list[Response]] = {}
    async with client("root") as root:
        jobs = (await root.get("/api/jobs/")).json()["jobs"]
        schedules = (await root.get("/api/schedules/")).json()["schedules"]
        deployments = (await root.get("/api/deployments/")).json()["deployments"]
    values: dict[str, list[Any]] = {
        "job_id": [job["id"] for job in jobs],
        "group_id": [job["group_id"] for job in jobs if job["group_id"]],
        "schedule_id": [each["id"] for each in schedules],
        "key": [each["key"] for each in deployments],
    }
    queries: Mapping[str, Any] = {"/api/schedules/lanes/": {"ids": str(schedules[0]["id"])}}
    async with client(who) as asking:
        for path, operations in app.openapi()["paths"].items():
            if "get" not in operations or path == STREAM:
                continue
            name = path.partition("{")[2].partition("}")[0]
            paths = (
                [path.replace(f"{{{name}}}", str(value)) for value in values[name]]
                if name
                else [path]
            )
            found[path] = [await asking.get(each, params=queries.get(path)) for each in paths]
    return found


def showing(found: Mapping[str, list[Response]]) -> set[str]:
    """The endpoints that show what was planted."""
    return {
        path for path, responses in found.items() if any(PLANTED in each.text for each in responses)
    }


async def test_no_endpoint_shows_a_viewer_what_was_planted(
    horae: Horae, app: HttpInterface, client: Client
) -> None:
    await plant(horae)
    assert set(SHOWING) - showing(await answers(client, app, "auditor")) == set()
    found = await answers(client, app, "vera")
    assert showing(found) == set()
    refused = {path for path, each in found.items() for one in each if one.status_code != 200}
    assert refused == {"/api/jobs/{job_id}/logs/"}, "a viewer sees all else that staff sees"


@pytest.mark.parametrize("error", [PLANTED, f"{PLANTED}...", f"{PLANTED} is wrong."])
def test_why_a_schedule_ran_does_not_repeat_the_error(error: str) -> None:
    answer = ScheduleWhy(
        schedule_id=1,
        name="nightly",
        timezone="UTC",
        moment=NIGHT,
        kind=WhyKind.DECIDED,
        text="",
        decision="fired",
        reason="on_time",
        job_id=7,
        job_state="failed",
        job_error=error,
        waiting_reason=f"Limit 'one' holds it back for key '{PLANTED}'.",
    )
    answer = replace(answer, text=in_words(answer, NIGHT))
    assert why_item(answer, values=True).text.count(PLANTED) == 2
    shown = why_item(answer, values=False).text
    assert shown == "It started on time. Job 7 is failed."


async def test_a_viewer_changes_nothing_and_cannot_search_for_values(
    horae: Horae, client: Client
) -> None:
    job = horae.jobs.start("echo", text=PLANTED, delay="1h")
    async with client("vera") as vera:
        me = (await vera.get("/api/session/")).json()
        assert (me["sees_all"], me["sees_values"], me["changes_own"]) == (True, False, False)
        assert error_of(await vera.post(f"/api/jobs/{job.id}/cancel/"))[0] == 403
        for query in (
            f"params.text:{PLANTED}",
            f"text:{PLANTED}",
            f'"{PLANTED}"',
            f"key:a,{PLANTED}",
            f"-error:{PLANTED}",
        ):
            for path in ("/api/jobs/", "/api/jobs/counts/"):
                assert error_of(await vera.get(path, params={"query": query}))[0] == 403
        found = await vera.get("/api/jobs/", params={"query": "type:echo"})
        assert [each["id"] for each in found.json()["jobs"]] == [job.id]


async def test_an_owner_who_is_a_viewer_sees_the_values_of_own_jobs(
    horae: Horae, client: Client
) -> None:
    own = horae.jobs.start("echo", text="mine", owner="ownvera")
    other = horae.jobs.start("echo", text=PLANTED, owner="bob")
    async with client("ownvera") as both:
        assert (await both.get(f"/api/jobs/{own.id}/")).json()["params"] == {"text": "mine"}
        assert (await both.get(f"/api/jobs/{other.id}/")).json()["params"] is None


async def test_no_event_shows_a_viewer_what_was_planted(horae: Horae, app: HttpInterface) -> None:
    async with listening(app, "vera") as viewer, listening(app, "auditor") as auditor:
        await viewer.next("hello")
        await auditor.next("hello")
        job = horae.jobs.start("described")
        assert PLANTED in str((await auditor.until("created", job.id)).data)
        created = (await viewer.until("created", job.id)).data
        assert (created["type"], created["state"]) == ("described", "pending")
        failed = horae.jobs.start("fail", text=PLANTED)
        async with running_node(horae, scheduler=False):
            assert PLANTED in str((await auditor.until("ended", failed.id)).data)
            ended = (await viewer.until("ended", failed.id)).data
        assert ended["human_readable_error"] == "not shown to viewers"
        assert PLANTED not in viewer.text
