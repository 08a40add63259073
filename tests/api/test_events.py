"""The stream of events: who receives which changes, and what a client receives after an interruption."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from datetime import datetime
from typing import Any

import pytest
from typing_extensions import override

from horae import Horae, Job, JobContext, JobType
from horae.api.application import HttpInterface
from horae.api.stream.event import Change
from horae.api.stream.job_source import JobSource
from horae.api.stream.timing import EventsTiming, HubTiming, JobSourceTiming
from horae.api.views.jobs import JobViews
from horae.client.jobs.job_reads import JobPage
from horae.client.jobs.jobs import Jobs
from horae.live.store import LiveReport
from horae.storage.engine.database import Database
from horae.storage.outcomes import cancelling
from horae.wakeup import Hint, HintKind
from tests.api.clients import Client, application_of, give
from tests.api.streams import listening
from tests.api.tables import add_types
from tests.harness.applications import (
    application,
    claim_as_another_node,
    counted_statements,
    execute,
)
from tests.harness.nodes import running_node


async def test_a_stream_greets_and_reports_every_state_of_a_job(
    horae: Horae, app: HttpInterface
) -> None:
    async with listening(app, "alice") as stream:
        hello = await stream.next("hello")
        assert (stream.status, hello.data) == (200, {"resumed": False})
        job = horae.jobs.start("rebuild_index", owner="alice")
        created = await stream.until("created", job.id)
        claim = claim_as_another_node(horae)[0]
        assert (await stream.until("started", job.id)).data["node"] == "elsewhere"
        horae.components.live.publish([LiveReport(job.id, claim.lease, 30, "shard-2")])
        progress = (await stream.until("progress", job.id)).data
        assert (progress["state"], progress["progress_percentage"]) == ("shard-2", 30)
        horae.jobs.cancel(job.id)
        assert (await stream.until("ended", job.id)).data["state"] == "cancelled"
    assert {
        "id",
        "type",
        "state",
        "progress_percentage",
        "human_readable_error",
        "change",
    } <= created.data.keys()


async def test_an_event_equals_the_row_in_the_list(
    horae: Horae, app: HttpInterface, client: Client
) -> None:
    async with listening(app, "alice") as stream:
        await stream.next("hello")
        job = horae.jobs.start("duplicate_table", owner="alice", table_id=2)
        told = (await stream.until("created", job.id)).data
        listed = (await client("alice").get("/api/jobs/")).json()["jobs"][0]
        del listed["error_line"], listed["error_sentence"]  # only the list has them, for staff
        assert told == {**listed, "change": "created"}
        assert told["copied_table"] == "copy"


async def test_a_type_may_add_values_with_the_names_of_stored_ones(
    horae: Horae, app: HttpInterface, client: Client
) -> None:
    @horae.register
    class Described(JobType[Any]):
        type = "described"

        def run(self, job: JobContext[Any]) -> None: ...

        def describe(self, job: Job) -> Mapping[str, Any]:
            return {"created_at": "long ago", "node_id": 7, "run_at": None, "change": "none"}

    async with listening(app, "alice") as stream:
        await stream.next("hello")
        job = horae.jobs.start("described", owner="alice")
        told = (await stream.until("created", job.id)).data
        [listed] = (await client("alice").get("/api/jobs/")).json()["jobs"]
        detail = (await client("alice").get(f"/api/jobs/{job.id}/")).json()
    for shown in (told, listed, detail):
        assert (shown["created_at"], shown["node_id"], shown["run_at"]) == ("long ago", 7, None)
        assert datetime.fromisoformat(shown["created_on"]) == job.created_at
        assert (datetime.fromisoformat(shown["due_on"]), shown["node"]) == (job.run_at, None)


async def test_owners_get_events_of_their_own_jobs_and_staff_of_all(
    horae: Horae, app: HttpInterface
) -> None:
    async with (
        listening(app, "alice") as alice,
        listening(app, "bob") as bob,
        listening(app, "auditor") as auditor,
    ):
        for stream in (alice, bob, auditor):
            await stream.next("hello")
        ids = {
            owner: horae.jobs.start("rebuild_index", owner=owner).id for owner in ("alice", "bob")
        }
        nobodys = horae.jobs.start("rebuild_index").id
        await auditor.until("created", nobodys)
        horae.jobs.cancel(ids["bob"])
        await bob.until("ended", ids["bob"])
        horae.jobs.cancel(ids["alice"])
        await alice.until("ended", ids["alice"])
        heard = {
            id(s): {m.data["id"] for m in s.messages if m.name == "job"}
            for s in (alice, bob, auditor)
        }
    assert heard == {
        id(alice): {ids["alice"]},
        id(bob): {ids["bob"]},
        id(auditor): {*ids.values(), nobodys},
    }


async def test_a_reconnecting_client_resumes_where_it_was(horae: Horae, app: HttpInterface) -> None:
    async with listening(app, "bob") as other:
        await other.next("hello")
        async with listening(app, "alice") as stream:
            await stream.next("hello")
            first = horae.jobs.start("rebuild_index", owner="alice").id
            last = (await stream.until("created", first)).identity
        missed = horae.jobs.start("rebuild_index", owner="alice").id
        horae.jobs.cancel(first)
        between = horae.jobs.start("rebuild_index", owner="bob").id
        await other.until("created", between)  # so the changes before it have been seen too
        async with listening(app, "alice", last) as stream:
            assert (await stream.next("hello")).data == {"resumed": True}
            told = [await stream.next(), await stream.next()]
            assert {(each.data["id"], each.data["change"]) for each in told} == {
                (missed, "created"),
                (first, "ended"),
            }
            after = told[-1].identity
        async with listening(app, "alice", after) as stream:
            assert (await stream.next("hello")).data == {"resumed": True}
            assert [message.name for message in stream.messages] == ["hello"]


async def test_too_many_changes_become_one_event_to_staff(horae: Horae, app: HttpInterface) -> None:
    give(app, events_timing=EventsTiming(hub=HubTiming(most_each=5)))
    async with listening(app, "root") as root, listening(app, "alice") as alice:
        await root.next("hello")
        await alice.next("hello")
        job_ids = horae.jobs.start_many("rebuild_index", [{} for _ in range(20)])
        own = horae.jobs.start("rebuild_index", owner="alice").id
        await root.next("reset")
        await alice.until("created", own)
        assert len(job_ids) == 20
        assert [message.name for message in alice.messages] == ["hello", "job"]


async def test_a_retry_is_an_event(horae: Horae, app: HttpInterface) -> None:
    job = horae.jobs.start("rebuild_index", owner="alice")
    claim_as_another_node(horae)
    async with listening(app, "alice") as stream:
        await stream.next("hello")
        execute(
            horae,
            "UPDATE horae_jobs SET state = 'pending', node_id = NULL WHERE id = :id",
            id=job.id,
        )
        assert (await stream.until("waiting", job.id)).data["state"] == "pending"


async def test_a_change_during_a_query_is_reported_once(horae: Horae) -> None:
    class Hasty(Jobs):
        """Whose jobs go on between a look and the reading of what it found."""

        @override
        def list(self, **filters: Any) -> JobPage:
            for job_id in filters["ids"]:
                horae.jobs.cancel(job_id)
            return horae.jobs.list(**filters)

    views = JobViews(horae.components.database, horae.registry)
    source = JobSource(horae.components, object.__new__(Hasty), views, JobSourceTiming())
    assert source.changes(lambda _: True) == []
    job = horae.jobs.start("rebuild_index")
    told = source.changes(lambda _: True)
    assert told is not None
    assert [(change, changed.id) for change, changed in told] == [(Change.ENDED, job.id)]
    assert source.changes(lambda _: True) == []


async def test_an_end_that_was_committed_late_is_reported(horae: Horae) -> None:
    """As one of a request of Django that goes on for seconds after it has cancelled a job."""
    components = horae.components
    source = JobSource(
        components,
        horae.jobs,
        JobViews(components.database, horae.registry),
        JobSourceTiming(late=0.0),
    )
    assert source.poll(lambda _: True) == []
    job = horae.jobs.start("rebuild_index")
    assert len(source.poll(lambda _: True) or ()) == 1
    with components.database.engine.begin() as connection:
        cancelling.cancel(connection, job.id, None)
        for _ in range(JobSourceTiming().new_for):
            assert source.poll(lambda _: True) == []
    source.on_hint(Hint(HintKind.ENDED, (job.id,)))
    found = source.poll(lambda _: True) or []
    assert [json.loads(each.data)["change"] for each in found] == ["ended"]
    assert source.poll(lambda _: True) == []


@pytest.fixture
def crowded(database: Database) -> Iterator[Horae]:
    """An application that lets a thousand listen."""
    with application(database, max_streams=1000, max_streams_each=500) as horae:
        yield add_types(horae)


async def test_a_thousand_listen_and_one_looks(crowded: Horae) -> None:
    horae, app = crowded, application_of(crowded)
    async with AsyncExitStack() as stack:
        streams = [
            await stack.enter_async_context(listening(app, "alice" if number % 2 else "root"))
            for number in range(1000)
        ]
        await asyncio.gather(*(stream.next("hello") for stream in streams))
        assert app.services.hub.listening == 1000
        with counted_statements(horae) as statements:
            job = horae.jobs.start("rebuild_index", owner="alice")
            await asyncio.gather(*(stream.until("created", job.id) for stream in streams))
        assert len(statements) < 50
    assert app.services.hub.listening == 0


async def test_events_follow_a_job_on_a_node_to_its_end(horae: Horae, app: HttpInterface) -> None:
    async with listening(app, "alice") as stream, running_node(horae):
        await stream.next("hello")
        job = horae.jobs.start("export_table", owner="alice", table_id=1)
        ended = await stream.until("ended", job.id)
        assert (ended.data["state"], ended.data["progress_percentage"]) == ("finished", 100)
