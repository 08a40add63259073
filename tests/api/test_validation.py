"""Wrong requests: each names what is wrong. None of it reaches a database."""

import json
from typing import Any

import pytest

from horae import Horae
from horae.storage.engine.database import Database
from tests.api.clients import Client, error_of

BODY = "ERROR_REQUEST_BODY_VALIDATION"
QUERY = "ERROR_QUERY_PARAMETER_VALIDATION"
LOOSE = "/api/jobs/types/loose/"
JSON = {"content-type": "application/json"}


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


@pytest.fixture
def horae(horae: Horae) -> Horae:
    """With a type that takes almost anything."""

    @horae.job(public=True)
    def loose(anything: Any = None, number: float = 0.0) -> None: ...

    return horae


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (b'{"table_id": "many"}', "table_id"),
        (b"{}", "table_id"),
        (b'{"table_id": 1, "name": 5}', "name"),
        (b"", "body"),
        (b"[1]", "body"),
        (b'{"table_id": 1', "15"),
    ],
)
async def test_a_wrong_body_names_the_field(client: Client, content: bytes, field: str) -> None:
    headers = {"content-type": "application/json"}
    response = await client("alice").post(
        "/api/jobs/types/duplicate_table/", content=content, headers=headers
    )
    assert error_of(response) == (400, BODY)
    detail = response.json()["detail"]
    assert list(detail) == [field] or field == "15"
    assert all(
        complaint.keys() - {"sentence"} == {"error", "code"}
        for each in detail.values()
        for complaint in each
    )


@pytest.mark.parametrize("depth", [101, 201, 254, 255, 300, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
async def test_a_body_that_is_nested_too_deep_starts_nothing(
    horae: Horae, client: Client, depth: int, opening: str
) -> None:
    closing = "]" if opening == "[" else "}"
    deep = opening * depth + "1" + closing * depth
    response = await client("alice").post(LOOSE, content=f'{{"anything": {deep}}}', headers=JSON)
    assert error_of(response) == (400, BODY)
    assert horae.jobs.list().jobs == []


@pytest.mark.parametrize(
    "literal", ["NaN", "Infinity", "-Infinity", "1e999", "[NaN]", '{"a": -Infinity}']
)
@pytest.mark.parametrize("name", ["anything", "number"])
async def test_a_number_that_json_lacks_starts_nothing(
    horae: Horae, client: Client, literal: str, name: str
) -> None:
    response = await client("alice").post(LOOSE, content=f'{{"{name}": {literal}}}', headers=JSON)
    assert error_of(response) == (400, BODY)
    assert horae.jobs.list().jobs == []


async def test_a_value_of_the_greatest_depth_starts_a_job(horae: Horae, client: Client) -> None:
    deep = "[" * 99 + "1" + "]" * 99
    response = await client("alice").post(LOOSE, content=f'{{"anything": {deep}}}', headers=JSON)
    assert response.status_code == 202
    [job] = horae.jobs.list().jobs
    assert json.dumps(job.params["anything"]) == deep


@pytest.mark.parametrize(
    ("query", "field", "code"),
    [
        ("states=", "states", "blank"),
        ("states=importing", "states", "invalid"),
        ("states=pending,", "states", "invalid"),
        ("states=!", "states", "invalid"),
        ("job_ids=", "job_ids", "blank"),
        ("job_ids=1,", "job_ids", "invalid"),
        ("job_ids=1.0", "job_ids", "invalid"),
        ("job_ids=1_0", "job_ids", "invalid"),
        ("job_ids=-1", "job_ids", "invalid"),
        ("job_ids=%D9%A1", "job_ids", "invalid"),
        ("job_ids=9223372036854775808", "job_ids", "invalid"),
        ("limit=0", "limit", "greater_than_equal"),
        ("limit=501", "limit", "less_than_equal"),
        ("cursor=x", "cursor", "string_pattern_mismatch"),
        ("state=pending", "state", "extra_forbidden"),
        ("types=%00", "types", "value_error"),
    ],
)
async def test_a_wrong_query_names_the_parameter(
    client: Client, query: str, field: str, code: str
) -> None:
    response = await client("alice").get(f"/api/jobs/?{query}")
    assert error_of(response) == (400, QUERY)
    assert {
        name: [each["code"] for each in found] for name, found in response.json()["detail"].items()
    } == {field: [code]}


async def test_a_frequent_error_is_a_sentence_for_pages_in_other_languages(client: Client) -> None:
    response = await client("alice").get("/api/jobs/?limit=0&cursor=x")
    found = response.json()["detail"]
    assert found["limit"][0]["sentence"] == {"code": "value_at_least", "values": {"bound": "1"}}
    assert found["cursor"][0]["sentence"]["code"] == "value_not_in_form"


async def test_too_many_ids_are_refused_and_not_left_out(client: Client) -> None:
    response = await client("alice").get("/api/jobs/", params={"job_ids": ",".join(["1"] * 10_001)})
    assert error_of(response) == (400, QUERY)


REFUSED = [
    ("schedules/", {"job_type": "loose"}, "value_cron_or_every"),
    ("schedules/", {"cron": "0 3 * * *", "every": "1h"}, "value_cron_or_every"),
    ("schedules/", {"every": "1h", "dst_gap": "skip"}, "value_not_with"),
    ("schedules/", {"every": "1h", "name": " "}, "value_name"),
    ("schedules/", {"every": "1h", "queue": "a\nb"}, "value_name"),
    ("schedules/", {"every": "1h", "catch_up": "all"}, "value_needs_fixed"),
    ("schedules/", {"every": "1h", "overlap": "allow_all"}, "value_needs_fixed"),
    ("schedules/", {"cron": "0 3 * * *", "catch_up_limit": 0}, "value_between"),
    ("schedules/", {"cron": "0 3 * * *", "exclude": ["calendar:shop.days"]}, "value_calendar"),
    ("jobs/types/hidden/", {}, "refused_type_not_public"),
    ("jobs/types/nothing/", {}, "value_job_type"),
    ("jobs/bulk/cancel/", {}, "value_filter_missing"),
]


@pytest.mark.parametrize(("path", "body", "code"), REFUSED)
async def test_a_refusal_has_a_code_for_pages_in_other_languages(
    horae: Horae, client: Client, path: str, body: dict[str, Any], code: str
) -> None:
    @horae.job
    def hidden() -> None: ...

    given = {"job_type": "loose", **body} if path == "schedules/" else body
    response = await client("root").post(f"/api/{path}", json=given)
    assert response.is_client_error
    assert response.json()["sentence"]["code"] == code, response.text


async def test_backfilling_an_interval_without_a_grid_is_refused_with_a_code(
    horae: Horae, client: Client
) -> None:
    schedule = horae.schedules.add("loose", every="1h")
    body = {"start": "2026-01-01T00:00Z", "end": "2026-01-02T00:00Z"}
    response = await client("root").post(f"/api/schedules/{schedule.id}/backfill/", json=body)
    assert response.json()["sentence"]["code"] == "value_backfill_needs_fixed"
