"""Jobs over HTTP: shapes, filters, and every error with its code."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from typing_extensions import override

from horae import Horae, Job, JobContext, JobState, JobType, Secret
from horae.api.views.jobs import JobViews
from horae.live.store import LiveReport
from horae.storage.engine.database import Database
from tests.api.clients import Client, application_of, client_of, error_of
from tests.harness.applications import application, claim_as_another_node, execute, limit_jobs
from tests.harness.nodes import running_node, until_state


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


BODY = "ERROR_REQUEST_BODY_VALIDATION"
MISSING = (404, "ERROR_JOB_DOES_NOT_EXIST")
COMMON = {
    "id",
    "type",
    "state",
    "progress_percentage",
    "human_readable_error",
    "human_readable_error_sentence",
    "created_on",
    "updated_on",
    "started_on",
    "finished_on",
    "due_on",
    "label",
    "owner",
    "queue",
    "priority",
    "attempt",
    "max_attempts",
    "retry_reason",
    "retry_reason_sentence",
    "expires_on",
    "error_code",
    "node",
    "cancelled_by",
    "schedule_id",
    "tags",
    "group_id",
    "waits_for",
}
DETAIL = {
    "params",
    "result",
    "error",
    "error_sentence",
    "unique_key",
    "retry_of",
    "retried_as",
    "queue_is_paused",
    "waiting_reason",
    "waiting_reason_sentence",
    "weight",
}


def start(
    horae: Horae, owner: str | None = "alice", kind: str = "rebuild_index", **values: Any
) -> int:
    return horae.jobs.start(kind, owner=owner, **values).id


async def test_starting_answers_with_the_job(horae: Horae, client: Client) -> None:
    response = await client("alice").post("/api/jobs/types/duplicate_table/", json={"table_id": 7})
    job = response.json()
    assert (response.status_code, job["state"], job["progress_percentage"], job["owner"]) == (
        202,
        "pending",
        0,
        "alice",
    )
    assert job.keys() == COMMON | DETAIL | {"copied_table"}
    assert (job["human_readable_error"], job["copied_table"], job["params"]) == (
        "",
        "copy",
        {"table_id": 7, "name": "copy"},
    )
    assert horae.jobs.get(job["id"]).owner == "alice"


async def test_a_body_without_the_json_content_type_is_refused(client: Client) -> None:
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    response = await client("alice").post(
        "/api/jobs/types/duplicate_table/", content='{"table_id": 7}', headers=form
    )
    assert response.status_code == 400
    assert "Content-Type: application/json" in response.json()["detail"]


async def test_a_type_adds_to_a_job_everywhere_and_replaces_nothing(
    horae: Horae, client: Client
) -> None:
    job_id = start(horae, kind="duplicate_table", table_id=1, name="other")
    one = (await client("alice").get(f"/api/jobs/{job_id}/")).json()
    listed = (await client("alice").get("/api/jobs/")).json()["jobs"][0]
    assert (one["copied_table"], one["id"], listed["copied_table"], listed["id"]) == (
        "other",
        job_id,
        "other",
        job_id,
    )
    assert listed.keys() == COMMON | {"copied_table", "error_line", "error_sentence"}


async def test_a_type_that_answers_with_anything_replaces_nothing_and_breaks_nothing(
    horae: Horae, client: Client
) -> None:
    class Careless(JobType):
        type = "careless"

        @override
        def run(self, job: JobContext) -> None: ...

        @override
        def describe(self, job: Job) -> Mapping[str, Any]:
            return {"id": "never this", "owner": 7, "extra": {"since": job.created_at}}

    class Broken(JobType):
        type = "broken"

        @override
        def run(self, job: JobContext) -> None: ...

        @override
        def describe(self, job: Job) -> Mapping[str, Any]:
            raise RuntimeError(job.type)

    horae.register(Careless)
    horae.register(Broken)
    careless, broken = start(horae, kind="careless"), start(horae, kind="broken")
    jobs = {job["id"]: job for job in (await client("alice").get("/api/jobs/")).json()["jobs"]}
    assert (jobs[careless]["id"], jobs[careless]["owner"]) == (careless, "alice")
    assert jobs[careless]["extra"]["since"].startswith("2")
    assert jobs[broken].keys() == COMMON | {"error_line", "error_sentence"}


async def test_a_type_describes_jobs_whose_values_a_list_leaves_out(
    horae: Horae, client: Client
) -> None:
    limit_jobs(horae, listed_bytes=0)
    for number in range(1, 4):
        start(
            horae,
            kind="duplicate_table",
            table_id=number,
            name=f"table {number}",
            owner=f"owner {number}",
        )
    listed = (await client("root").get("/api/jobs/")).json()["jobs"]
    assert [job["copied_table"] for job in listed] == ["table 3", "table 2", "table 1"]


def test_an_ended_job_shows_its_state_and_not_its_last_label(horae: Horae) -> None:
    views = JobViews(horae.components.database, horae.registry)
    ended = replace(
        horae.jobs.start("rebuild_index"), state=JobState.FAILED, label="importing-table-7"
    )
    assert (views.view(ended).state, views.view(ended).label) == ("failed", "importing-table-7")


async def test_meta_does_not_change_the_fields_of_a_job(horae: Horae, client: Client) -> None:
    job_id = start(horae, meta={"retry_of": "somebody"})
    assert (await client("alice").get(f"/api/jobs/{job_id}/")).json()["retry_of"] is None


async def test_a_parameter_is_never_taken_for_an_option(horae: Horae, client: Client) -> None:
    body = {"table_id": 1, "owner": "bob", "priority": 9}
    response = await client("alice").post("/api/jobs/types/export_table/", json=body)
    assert error_of(response) == (400, BODY)
    assert horae.jobs.list().jobs == []


async def test_exceptions_of_a_type_are_mapped_as_declared(client: Client) -> None:
    missing = await client("alice").post("/api/jobs/types/duplicate_table/", json={"table_id": 404})
    locked = await client("alice").post("/api/jobs/types/duplicate_table/", json={"table_id": 423})
    assert missing.status_code == 404
    assert missing.json() == {
        "error": "ERROR_TABLE_DOES_NOT_EXIST",
        "detail": "There is no such table: 404",
    }
    assert (locked.status_code, locked.json()) == (
        400,
        {"error": "ERROR_TABLE_LOCKED", "detail": "table 423 is locked"},
    )


async def test_the_count_limit_has_its_code(client: Client) -> None:
    path, body = "/api/jobs/types/duplicate_table/", {"table_id": 1}
    assert (await client("alice").post(path, json=body)).status_code == 202
    assert error_of(await client("alice").post(path, json=body)) == (
        400,
        "ERROR_MAX_JOB_COUNT_EXCEEDED",
    )
    assert (await client("bob").post(path, json=body)).status_code == 202


@pytest.mark.parametrize("name", ["rebuild_index", "nonsense"])
async def test_a_type_that_is_not_public_looks_like_one_that_does_not_exist(
    client: Client, name: str
) -> None:
    response = await client("alice").post(f"/api/jobs/types/{name}/", json={})
    assert error_of(response) == (400, "ERROR_JOB_TYPE_DOES_NOT_EXIST")
    known = response.json()["detail"].partition("public: ")[2]
    assert "duplicate_table" in known
    assert name not in known


async def test_staff_learn_that_a_type_is_not_public(client: Client) -> None:
    root, members = client("root"), {"members": [{"type": "rebuild_index"}]}
    for response in (
        await root.post("/api/jobs/types/rebuild_index/", json={}),
        await root.post("/api/groups/", json=members),
        await root.post("/api/groups/", json={"members": [], "then": {"type": "rebuild_index"}}),
    ):
        assert error_of(response) == (403, "ERROR_JOB_TYPE_NOT_PUBLIC")
        what, _, rest = response.json()["detail"].partition("(public: ")
        assert what == "job type 'rebuild_index' is not public, so it cannot be started over HTTP "
        assert rest.startswith("duplicate_table")
        assert rest.endswith("or start it in Python or with `horae jobs start rebuild_index`")
    unknown = await root.post("/api/jobs/types/nonsense/", json={})
    assert error_of(unknown) == (400, "ERROR_JOB_TYPE_DOES_NOT_EXIST")


async def test_jobs_of_others_are_missing(horae: Horae, client: Client) -> None:
    job_id = start(horae)
    bob = client("bob")
    for response in (
        await bob.get(f"/api/jobs/{job_id}/"),
        await bob.get(f"/api/jobs/{job_id}/attempts/"),
        await bob.post(f"/api/jobs/{job_id}/cancel/"),
        await bob.post(f"/api/jobs/{job_id}/retry/"),
        await bob.post(f"/api/jobs/{job_id}/reschedule/", json={"delay": "1h"}),
        await bob.get("/api/jobs/999/"),
        await bob.get("/api/jobs/x/"),
        await bob.get("/api/jobs/99999999999999999999/"),
    ):
        assert error_of(response) == MISSING
    assert (await bob.get("/api/jobs/")).json() == {"jobs": [], "next": None}
    assert (await bob.get(f"/api/jobs/?job_ids={job_id}")).json()["jobs"] == []
    start(horae, "bob")
    assert (await bob.get("/api/jobs/?owner=alice")).json()["jobs"] == []
    assert len((await bob.get("/api/jobs/?owner=bob")).json()["jobs"]) == 1


async def test_a_pending_job_is_rescheduled_by_its_owner(horae: Horae, client: Client) -> None:
    path = f"/api/jobs/{start(horae)}/reschedule/"
    moved = await client("alice").post(path, json={"run_at": "2090-01-01T00:00:00Z"})
    assert (moved.status_code, moved.json()["due_on"]) == (200, "2090-01-01T00:00:00Z")
    assert (await client("root").post(path, json={"delay": "1h"})).json()["due_on"] < "2090"
    assert error_of(await client("alice").post(path, json={})) == (400, "ERROR_INVALID_REQUEST")
    assert error_of(await client("alice").post(path, json={"delay": "soon"})) == (
        400,
        "ERROR_INVALID_INTERVAL",
    )
    for refused in ("2090-01-01T00:00:00", 3786912000, "3786912000"):
        assert (await client("alice").post(path, json={"run_at": refused})).status_code == 400
    await client("alice").post(path.replace("reschedule", "cancel"))
    assert error_of(await client("alice").post(path, json={"delay": "1h"})) == (
        400,
        "ERROR_JOB_NOT_RESCHEDULABLE",
    )


async def test_staff_see_everybodys_jobs(horae: Horae, client: Client) -> None:
    ids = {start(horae), start(horae, "bob"), start(horae, None)}
    for who in ("auditor", "root"):
        assert {job["id"] for job in (await client(who).get("/api/jobs/")).json()["jobs"]} == ids
        assert len((await client(who).get("/api/jobs/?owner=bob")).json()["jobs"]) == 1


async def test_read_only_staff_see_errors_and_tracebacks(horae: Horae, client: Client) -> None:
    @horae.job
    def fails() -> None:
        raise ValueError("for developers")

    job_id = horae.jobs.start(fails, owner="alice").id
    async with running_node(horae):
        await until_state(horae, job_id, "failed")
    shown: dict[str, tuple[Any, Any, Any]] = {}
    for who in ("alice", "auditor", "root"):
        job = (await client(who).get(f"/api/jobs/{job_id}/")).json()
        [attempt] = (await client(who).get(f"/api/jobs/{job_id}/attempts/")).json()["attempts"]
        shown[who] = (job["error"], attempt["error"], attempt["traceback"])
    assert shown["alice"] == (None, None, None)
    assert shown["auditor"] == shown["root"]
    assert all("for developers" in text for text in shown["auditor"])


async def test_cancelling_twice_is_no_error_and_then_it_is_final(
    horae: Horae, client: Client
) -> None:
    job_id = start(horae)
    for _ in range(2):
        response = await client("alice").post(f"/api/jobs/{job_id}/cancel/")
        assert (response.status_code, response.json()["state"]) == (200, "cancelled")
        assert response.json()["cancelled_by"] == "alice"
    assert (await client("alice").get(f"/api/jobs/{job_id}/")).json()["state"] == "cancelled"


async def test_a_finished_job_cannot_be_cancelled_nor_retried(horae: Horae, client: Client) -> None:
    job_id = start(horae)
    async with running_node(horae):
        await until_state(horae, job_id, "finished")
    assert error_of(await client("alice").post(f"/api/jobs/{job_id}/cancel/")) == (
        400,
        "ERROR_JOB_NOT_CANCELLABLE",
    )
    assert error_of(await client("root").post(f"/api/jobs/{job_id}/retry/")) == (
        400,
        "ERROR_JOB_NOT_RETRYABLE",
    )
    job = (await client("alice").get(f"/api/jobs/{job_id}/")).json()
    assert (job["state"], job["result"], job["progress_percentage"]) == ("finished", 4, 100)
    assert job["finished_on"] >= job["started_on"] >= job["created_on"]
    attempts = (await client("alice").get(f"/api/jobs/{job_id}/attempts/")).json()["attempts"]
    assert [(each["attempt"], each["outcome"]) for each in attempts] == [(1, "finished")]


async def test_a_retry_is_a_new_job_that_names_the_old_one(horae: Horae, client: Client) -> None:
    job_id = start(horae, kind="duplicate_table", table_id=3)
    await client("alice").post(f"/api/jobs/{job_id}/cancel/")
    response = await client("alice").post(f"/api/jobs/{job_id}/retry/")
    again = response.json()
    assert (
        response.status_code,
        again["retry_of"],
        again["owner"],
        again["params"]["table_id"],
    ) == (
        202,
        job_id,
        "alice",
        3,
    )
    first = (await client("alice").get(f"/api/jobs/{job_id}/")).json()
    assert (first["retry_of"], first["retried_as"]) == (None, again["id"])
    assert again["retried_as"] is None


async def test_ended_jobs_are_listed_by_their_end(horae: Horae, client: Client) -> None:
    ids = [start(horae) for _ in range(4)]
    for job_id in (ids[2], ids[0], ids[3]):
        await client("alice").post(f"/api/jobs/{job_id}/cancel/")

    async def listed(order: str) -> list[int]:
        found: list[int] = []
        cursor = ""
        while True:
            page = await client("alice").get(f"/api/jobs/?order={order}&limit=2{cursor}")
            found += [job["id"] for job in page.json()["jobs"]]
            if page.json()["next"] is None:
                return found
            cursor = f"&cursor={page.json()['next']}"

    assert await listed("last_ended") == [ids[3], ids[0], ids[2]]
    assert await listed("first_ended") == [ids[2], ids[0], ids[3]]
    wrong = await client("alice").get("/api/jobs/?order=last_ended&cursor=7")
    assert error_of(wrong) == (400, "ERROR_INVALID_REQUEST")
    assert (await client("bob").get("/api/jobs/?order=last_ended")).json()["jobs"] == []


async def test_an_owner_retries_only_what_could_be_started(horae: Horae, client: Client) -> None:
    job_id = start(horae)
    await client("alice").post(f"/api/jobs/{job_id}/cancel/")
    assert error_of(await client("alice").post(f"/api/jobs/{job_id}/retry/")) == (
        403,
        "ERROR_PERMISSION_DENIED",
    )
    again = (await client("root").post(f"/api/jobs/{job_id}/retry/")).json()
    assert again["owner"] == "alice"


async def test_staff_delete_what_has_ended(horae: Horae, client: Client) -> None:
    job_id = start(horae)
    assert error_of(await client("alice").delete(f"/api/jobs/{job_id}/")) == (
        403,
        "ERROR_PERMISSION_DENIED",
    )
    assert error_of(await client("root").delete(f"/api/jobs/{job_id}/")) == (
        400,
        "ERROR_JOB_NOT_DELETABLE",
    )
    horae.jobs.cancel(job_id)
    assert (await client("root").delete(f"/api/jobs/{job_id}/")).status_code == 204
    assert error_of(await client("root").get(f"/api/jobs/{job_id}/")) == MISSING


async def test_a_server_that_does_not_know_the_type_leaves_the_job_to_others(
    horae: Horae, client: Client
) -> None:
    job_id = start(horae)
    horae.jobs.cancel(job_id)
    execute(horae, "UPDATE horae_jobs SET type = 'elsewhere'")
    left = await client("root").delete(f"/api/jobs/{job_id}/")
    assert (left.status_code, left.json()["id"], left.json()["state"]) == (202, job_id, "cancelled")


@pytest.fixture
def assorted(horae: Horae) -> dict[str, int]:
    """One job in each state that needs no node."""
    started, pending, cancelled = (start(horae) for _ in range(3))
    horae.jobs.cancel(cancelled)
    claim_as_another_node(horae, 1)
    return {"started": started, "pending": pending, "cancelled": cancelled}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("pending", {"pending"}),
        ("started,cancelled", {"started", "cancelled"}),
        ("!pending", {"started", "cancelled"}),
        ("!cancelled,!pending", {"started"}),
        ("pending,!cancelled,started", {"pending", "started"}),
        ("!cancelled,started,pending", {"pending", "started"}),
        ("started , cancelled", {"started", "cancelled"}),
        ("pending,!pending", set[str]()),
    ],
)
async def test_states_filter_in_any_order(
    client: Client, assorted: dict[str, int], states: str, expected: set[str]
) -> None:
    found = (await client("alice").get("/api/jobs/", params={"states": states})).json()["jobs"]
    assert {job["id"] for job in found} == {assorted[name] for name in expected}


async def test_a_label_is_the_state_that_is_shown_and_counts_as_started(
    horae: Horae, client: Client, assorted: dict[str, int]
) -> None:
    job = horae.jobs.get(assorted["started"])
    horae.components.live.publish([LiveReport(job.id, job.lease, 40, "importing-table-7")])
    shown = (await client("alice").get("/api/jobs/?states=started")).json()["jobs"]
    assert [
        (each["id"], each["state"], each["label"], each["progress_percentage"]) for each in shown
    ] == [(job.id, "importing-table-7", "importing-table-7", 40)]
    horae.jobs.cancel(job.id)
    assert (await client("alice").get(f"/api/jobs/{job.id}/")).json()["state"] == "cancelled"


async def test_pages_follow_each_other_without_gap_or_repetition(
    horae: Horae, client: Client
) -> None:
    ids = [start(horae) for _ in range(7)]
    seen: list[int] = []
    cursor: str | None = ""
    while cursor is not None:
        query = {"limit": "3", **({"cursor": cursor} if cursor else {})}
        page = (await client("alice").get("/api/jobs/", params=query)).json()
        assert len(page["jobs"]) <= 3
        seen += [job["id"] for job in page["jobs"]]
        cursor = page["next"]
        start(horae)  # newer than the cursor, so no page may show it
    assert seen == ids[::-1]


async def test_asking_for_ids_is_never_cut_short(horae: Horae, client: Client) -> None:
    ids = [start(horae) for _ in range(12)]
    asked = ",".join(map(str, [*ids, 99999, ids[0]]))
    page = (await client("alice").get("/api/jobs/", params={"job_ids": asked, "limit": 2})).json()
    assert sorted(job["id"] for job in page["jobs"]) == ids
    assert page["next"] is None


@pytest.mark.parametrize(
    ("given", "text"), [("x" * 1001, "at most 1000 characters"), ("", "at least 1 character")]
)
async def test_the_length_of_a_text_is_counted_in_characters(
    client: Client, given: str, text: str
) -> None:
    for refused in (
        await client("alice").get("/api/jobs/", params={"query": given}),
        await client("root").post("/api/jobs/bulk/cancel/", json={"query": given}),
    ):
        assert refused.status_code == 400
        ((error,),) = refused.json()["detail"].values()
        assert error["error"] == f"String should have {text}"


async def test_types_and_queues_filter(horae: Horae, client: Client) -> None:
    export = start(horae, kind="export_table", table_id=1)
    other = start(horae)
    alice = client("alice")
    assert [
        job["id"] for job in (await alice.get("/api/jobs/?types=export_table,x")).json()["jobs"]
    ] == [export]
    assert len((await alice.get("/api/jobs/?types=export_table,rebuild_index")).json()["jobs"]) == 2
    assert (await alice.get("/api/jobs/?queues=fast")).json()["jobs"] == []
    assert {job["id"] for job in (await alice.get("/api/jobs/?queues=default")).json()["jobs"]} == {
        export,
        other,
    }


async def test_many_requests_at_once_are_answered(horae: Horae, client: Client) -> None:
    job_id = start(horae)
    alice = client("alice")
    answers = await asyncio.gather(*(alice.get(f"/api/jobs/{job_id}/") for _ in range(50)))
    assert {answer.status_code for answer in answers} == {200}


class TestSearch:
    async def test_terms_narrow_the_list(self, horae: Horae, client: Client) -> None:
        first, second = start(horae, tags=["nightly"]), start(horae)
        answers = {
            query: ids_of((await client("root").get("/api/jobs/", params={"query": query})).json())
            for query in (
                "tag:nightly",
                "-tag:nightly",
                "type:rebuild*",
                "owner:alice state:failed",
            )
        }
        assert answers == {
            "tag:nightly": [first],
            "-tag:nightly": [second],
            "type:rebuild*": [second, first],
            "owner:alice state:failed": [],
        }
        listed = (await client("root").get("/api/jobs/", params={"query": "tag:nightly"})).json()[
            "jobs"
        ]
        assert listed[0]["tags"] == ["nightly"]

    async def test_another_user_finds_nothing_by_any_term(
        self, horae: Horae, client: Client
    ) -> None:
        job = start(horae, tags=["nightly"], unique_key="k")
        for query in (
            f"id:{job}",
            "owner:alice",
            "tag:nightly",
            "key:k",
            "-owner:bob",
            "type:rebuild_index",
            "created:<1d",
        ):
            response = await client("bob").get("/api/jobs/", params={"query": query})
            assert (response.status_code, response.json()) == (200, {"jobs": [], "next": None})

    async def test_owners_do_not_search_the_texts_for_developers(
        self, horae: Horae, client: Client
    ) -> None:
        start(horae)
        ended = "state = 'failed', finished_at = created_at"
        execute(
            horae,
            f"UPDATE horae_jobs SET {ended}, error = 'host db-7', human_readable_error = 'No answer'",
        )
        found = {
            (who, query): len(
                (await client(who).get("/api/jobs/", params={"query": query})).json()["jobs"]
            )
            for who in ("alice", "root")
            for query in ("error:db-7", "error:answer")
        }
        assert found == {
            ("alice", "error:db-7"): 0,
            ("alice", "error:answer"): 1,
            ("root", "error:db-7"): 1,
            ("root", "error:answer"): 1,
        }

    @pytest.mark.parametrize(
        ("query", "reason"),
        [
            ("x" * 1001, "1000"),
            ("", "1"),
        ],
    )
    async def test_a_query_of_a_wrong_length_is_refused_with_the_reason(
        self, client: Client, query: str, reason: str
    ) -> None:
        response = await client("root").get("/api/jobs/", params={"query": query})
        assert error_of(response) == (400, "ERROR_QUERY_PARAMETER_VALIDATION")
        assert reason in response.text

    async def test_a_bad_query_is_refused_with_the_place(self, client: Client) -> None:
        query = "owner:a state:fail"
        for response in (
            await client("root").get("/api/jobs/", params={"query": query}),
            await client("root").get("/api/jobs/counts/", params={"query": query}),
            await client("root").post("/api/jobs/bulk/cancel/", json={"query": query}),
        ):
            assert error_of(response) == (400, "ERROR_JOB_QUERY")
            body = response.json()
            assert (body["position"], body["length"]) == (9, 10)
            assert "did you mean 'failed'?" in body["detail"]

    async def test_an_unknown_zone_is_refused(self, client: Client) -> None:
        given = {"query": "since:today", "timezone": "Mars"}
        response = await client("root").get("/api/jobs/", params=given)
        assert error_of(response) == (400, "ERROR_INVALID_REQUEST")

    async def test_states_are_counted_for_a_query(self, horae: Horae, client: Client) -> None:
        for owner in ("alice", "bob"):
            start(horae, owner=owner)
        start(horae)
        counted = {
            (who, query): {
                each["state"]: (each["count"], each["complete"])
                for each in (
                    await client(who).get("/api/jobs/counts/", params={"query": query})
                ).json()["counts"]
            }["pending"]
            for who in ("alice", "root")
            for query in ("type:rebuild*", "type:other", "-state:pending")
        }
        assert counted == {
            ("alice", "type:rebuild*"): (2, True),
            ("alice", "type:other"): (0, True),
            ("alice", "-state:pending"): (0, True),
            ("root", "type:rebuild*"): (3, True),
            ("root", "type:other"): (0, True),
            ("root", "-state:pending"): (0, True),
        }

    async def test_the_oldest_come_first_if_asked(self, horae: Horae, client: Client) -> None:
        ids = [start(horae) for _ in range(3)]
        asked = {"order": "oldest", "limit": "2"}
        page = (await client("root").get("/api/jobs/", params=asked)).json()
        assert ids_of(page) == ids[:2]
        rest = (
            await client("root").get("/api/jobs/", params={**asked, "cursor": page["next"]})
        ).json()
        assert (ids_of(rest), rest["next"]) == (ids[2:], None)

    async def test_staff_see_the_line_of_the_error_in_the_list(
        self, horae: Horae, client: Client
    ) -> None:
        start(horae)
        ended = "state = 'failed', finished_at = created_at"
        execute(horae, f"UPDATE horae_jobs SET {ended}, error = 'OSError: no\ndisk'")
        lines = [
            (await client(who).get("/api/jobs/")).json()["jobs"][0]["error_line"]
            for who in ("alice", "root")
        ]
        assert lines == [None, "OSError: no"]

    async def test_a_parameter_that_no_type_has_is_refused(self, client: Client) -> None:
        response = await client("root").get("/api/jobs/", params={"query": "params.missing:1"})
        assert error_of(response) == (400, "ERROR_JOB_QUERY")
        assert "no job type that this program declares" in response.text


def ids_of(body: Mapping[str, Any]) -> list[int]:
    return [job["id"] for job in body["jobs"]]


async def test_large_values_are_read_if_asked_for(database: Database, tmp_path: Path) -> None:
    store = f"file://{tmp_path}/store"
    with application(database, large_values=store, large_values_over=1000) as horae:

        @horae.job()
        def echo(text: str, code: Annotated[str, Secret()]) -> str:
            return text

        job = horae.jobs.start(echo, text="long" * 1000, code="hidden" * 1000, owner="alice")
        async with running_node(horae):
            await horae.aio.jobs.wait(job, timeout="20s")
        client = client_of(application_of(horae), "alice")
        shown = (await client.get(f"/api/jobs/{job.id}/")).json()
        assert shown["params"]["text"].keys() == {"$stored", "size", "sha256"}
        assert shown["result"]["size"] == 4002
        whole = (await client.get(f"/api/jobs/{job.id}/?large_values=true")).json()
        assert (whole["params"], whole["result"]) == (
            {"text": "long" * 1000, "code": "••••••"},
            "long" * 1000,
        )
        assert (await client.get(f"/api/jobs/{job.id}/?large_values=x")).status_code == 400
        other = client_of(application_of(horae), "bob")
        assert (await other.get(f"/api/jobs/{job.id}/?large_values=true")).status_code == 404
