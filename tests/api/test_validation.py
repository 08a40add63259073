"""Wrong requests: each names what is wrong. None of it reaches a database."""

import pytest

from horae.storage.database import Database
from tests.api.clients import Client, error_of

BODY = "ERROR_REQUEST_BODY_VALIDATION"
QUERY = "ERROR_QUERY_PARAMETER_VALIDATION"


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


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
    response = await client("alice").post("/api/jobs/types/duplicate_table/", content=content, headers=headers)
    assert error_of(response) == (400, BODY)
    detail = response.json()["detail"]
    assert list(detail) == [field] or field == "15"
    assert all(complaint.keys() == {"error", "code"} for each in detail.values() for complaint in each)


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
async def test_a_wrong_query_names_the_parameter(client: Client, query: str, field: str, code: str) -> None:
    response = await client("alice").get(f"/api/jobs/?{query}")
    assert error_of(response) == (400, QUERY)
    assert {name: [each["code"] for each in found] for name, found in response.json()["detail"].items()} == {
        field: [code]
    }


async def test_too_many_ids_are_refused_and_not_left_out(client: Client) -> None:
    response = await client("alice").get("/api/jobs/", params={"job_ids": ",".join(["1"] * 10_001)})
    assert error_of(response) == (400, QUERY)
