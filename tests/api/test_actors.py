"""An actor always has an id: without one it is refused, and is never taken for all users."""

from typing import Any, Final

import httpx
import pytest
from starlette.requests import Request

from horae import (
    EVERYBODY,
    Actor,
    ConfigurationError,
    Horae,
    InvalidRequest,
    JobDoesNotExist,
    JobState,
    Role,
)
from horae.storage.engine.database import Database
from tests.api.clients import client_of, error_of

NO_IDS: Final[list[Any]] = [
    None,
    "",
    5,
    True,
    b"alice",
    "a" * 201,
    "a\nb",
    "a\x00",
    "\x1b[2J",
    "a\u2028b",
    "\ud800",
]


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


@pytest.mark.parametrize("given", NO_IDS)
@pytest.mark.parametrize("role", Role)
def test_an_id_is_a_text_that_can_be_stored_and_shown(given: Any, role: Role) -> None:
    with pytest.raises(InvalidRequest, match=r"^actor .*: expected 1 to 200 characters"):
        Actor(given, frozenset({role}))


def test_access_for_everybody_must_be_explicit() -> None:
    assert Actor("alice").reading_as == Actor("alice").changing_as == "alice"
    looker = Actor("looker", frozenset({Role.READ_ONLY}))
    assert (looker.reading_as, looker.changing_as) == (EVERYBODY, "looker")
    assert Actor("boss", frozenset({Role.STAFF})).changing_as is EVERYBODY


@pytest.mark.parametrize("given", NO_IDS)
async def test_a_user_without_an_id_sees_and_cancels_nothing(horae: Horae, given: Any) -> None:
    job = horae.jobs.start("rebuild_index", owner="alice")

    def careless(request: Request) -> Actor:
        del request
        return Actor(given)

    client: httpx.AsyncClient = client_of(horae.asgi(careless))
    for method, path in (
        ("GET", "/api/jobs/"),
        ("GET", f"/api/jobs/{job.id}/"),
        ("GET", "/api/events/"),
        ("POST", f"/api/jobs/{job.id}/cancel/"),
    ):
        assert error_of(await client.request(method, path)) == (401, "ERROR_NOT_AUTHENTICATED")
    assert horae.jobs.get(job.id).state is JobState.PENDING


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_authenticate_function_that_returns_no_actor_is_named_in_the_log(
    horae: Horae, caplog: pytest.LogCaptureFixture, *, is_async: bool
) -> None:
    async def later(request: Request) -> Any:
        return {"id": "s3cret"}

    authenticate: Any = later if is_async else lambda _: {"id": "s3cret"}
    answer = await client_of(horae.asgi(authenticate)).get("/api/jobs/")
    assert error_of(answer) == (500, "ERROR_INTERNAL")
    assert answer.json()["detail"] == "the server is configured wrongly; see the log of the server"
    assert (
        "the application's authenticate function returned a dict, expected an Actor" in caplog.text
    )
    assert "s3cret" not in caplog.text


def test_what_is_no_function_cannot_authenticate(horae: Horae) -> None:
    wrong: Any = "alice"
    with pytest.raises(ConfigurationError, match="authenticate is 'alice', expected a function"):
        horae.asgi(wrong)
    with pytest.raises(ConfigurationError, match="authenticate is 'alice', expected a function"):
        Horae("sqlite://", authenticate=wrong)


@pytest.mark.parametrize("given", [*NO_IDS, "ada\n2026 INFO"])
def test_an_actor_of_changes_has_a_valid_id(horae: Horae, given: Any) -> None:
    with (
        pytest.raises(InvalidRequest, match=r"^actor .*: expected 1 to 200 characters"),
        horae.acting_as(given),
    ):
        horae.queues.pause("mail")
    assert horae.queues.list() == []


@pytest.mark.parametrize("given", NO_IDS)
async def test_an_owner_that_is_none_is_refused_by_every_call(horae: Horae, given: Any) -> None:
    job = horae.jobs.start("rebuild_index", owner="alice")
    for call in (
        horae.jobs.get,
        horae.jobs.attempts,
        horae.jobs.cancel,
        horae.jobs.retry,
        horae.jobs.delete,
    ):
        with pytest.raises(InvalidRequest, match="EVERYBODY"):
            call(job.id, owner=given)
    with pytest.raises(InvalidRequest, match="EVERYBODY"):
        horae.jobs.wait(job.id, timeout="0s", owner=given)
    with pytest.raises(InvalidRequest, match="EVERYBODY"):
        horae.jobs.list(owner=given)
    with pytest.raises(InvalidRequest, match="EVERYBODY"):
        await horae.aio.jobs.cancel(job.id, owner=given)
    assert horae.jobs.get(job.id, owner=EVERYBODY).state is JobState.PENDING
    with pytest.raises(JobDoesNotExist):
        horae.jobs.cancel(job.id, owner="bob")
