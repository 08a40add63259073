"""Browser sessions: what the cookie contains, where and how long it is valid, and how guessing is slowed down."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from horae import Horae
from horae.api.application import HttpInterface
from horae.api.security.login_throttle import LoginLimits, LoginThrottle, TooManyGuesses
from horae.storage.engine.database import Database
from tests.api.clients import error_of
from tests.harness.applications import application, execute, rows


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


ALICE = "alice-0123456789abcdef"
TOKENS = (SecretStr(f"alice:owner:{ALICE}"),)
NOBODY = (401, "ERROR_NOT_AUTHENTICATED")
HOUR = 3600


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with application(database, tokens=TOKENS) as horae:
        yield horae


@pytest.fixture
def app(horae: Horae) -> Any:
    return horae.asgi().made


def browser_at(
    app: Any, base: str = "http://localhost", cookies: Any = None, root: str = ""
) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, root_path=root)
    return httpx.AsyncClient(transport=transport, base_url=base, cookies=cookies)


async def logged_in(app: Any, base: str = "http://localhost", root: str = "") -> httpx.AsyncClient:
    browser = browser_at(app, base, root=root)
    assert (await browser.post("/api/session/", json={"token": ALICE})).json()["id"] == "alice"
    return browser


async def name_of(browser: httpx.AsyncClient) -> str | None:
    answer = await browser.get("/api/session/")
    return answer.json()["id"] if answer.status_code == 200 else None


def ago(horae: Horae, column: str, seconds: float) -> None:
    moment = f"{column} - {seconds} * interval '1 second'"
    is_sqlite = horae.components.database.dialect == "sqlite"
    execute(
        horae,
        f"UPDATE horae_sessions SET {column} = {f'{column} - {int(seconds * 1e6)}' if is_sqlite else moment}",
    )


async def test_the_cookie_is_a_key_of_which_only_a_hash_is_stored(app: Any, horae: Horae) -> None:
    browser = browser_at(app)
    answer = await browser.post("/api/session/", json={"token": ALICE})
    cookie = answer.headers["set-cookie"]
    assert ALICE not in cookie
    for said in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=604800"):
        assert said in cookie
    assert "Secure" not in cookie
    [key] = browser.cookies.jar
    [stored] = rows(horae, "SELECT key_hash, token_hash FROM horae_sessions")
    assert not {key.value, ALICE} & set(stored)
    assert await name_of(browser) == "alice"
    assert (
        error_of(await browser.get("/api/session/", headers={"authorization": "Bearer wrong"}))
        == NOBODY
    )


async def test_logging_out_ends_the_session_and_not_only_the_cookie(app: Any, horae: Horae) -> None:
    browser = await logged_in(app)
    kept = dict(browser.cookies)
    assert (await browser.delete("/api/session/")).status_code == 204
    assert not browser.cookies
    assert await name_of(browser_at(app, cookies=kept)) is None
    assert rows(horae, "SELECT count(*) FROM horae_sessions") == [(0,)]


@pytest.mark.parametrize(
    ("base", "root"),
    [("http://127.0.0.1", ""), ("http://localhost:81", ""), ("http://localhost", "/work")],
)
async def test_a_session_is_valid_only_on_its_server(app: Any, base: str, root: str) -> None:
    [cookie] = (await logged_in(app)).cookies.jar
    elsewhere = await logged_in(app, base, root)
    [other] = elsewhere.cookies.jar
    assert other.name != cookie.name
    elsewhere.cookies.clear()
    elsewhere.headers["cookie"] = f"{other.name}={cookie.value}; {cookie.name}={cookie.value}"
    assert await name_of(elsewhere) is None


async def test_over_tls_it_is_bound_to_the_host_by_its_name(app: Any) -> None:
    answer = await browser_at(app, "https://jobs.example").post(
        "/api/session/", json={"token": ALICE}
    )
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-horae_session")
    assert "Secure" in cookie


@pytest.mark.parametrize(("unused", "lasts"), [(11 * HOUR, True), (12 * HOUR, False)])
async def test_it_ends_after_half_a_day_without_use(
    app: Any, horae: Horae, unused: int, lasts: bool
) -> None:
    browser = await logged_in(app)
    ago(horae, "expires_at", unused)
    assert (await name_of(browser) is not None) is lasts
    if lasts:  # and that was use
        ago(horae, "expires_at", unused)
        assert await name_of(browser) == "alice"


async def test_it_ends_after_a_week_of_use(app: Any, horae: Horae) -> None:
    browser = await logged_in(app)
    ago(horae, "created_at", 7 * 24 * HOUR)
    assert await name_of(browser) is None


async def test_revoking_a_token_ends_its_sessions(app: Any, database: Database) -> None:
    browser = await logged_in(app)
    with application(database, tokens=(SecretStr("alice:owner:another-0123456789"),)) as later:
        assert await name_of(browser_at(later.asgi(), cookies=browser.cookies)) is None


@pytest.fixture
def linked(database: Database) -> Iterator[HttpInterface]:
    """An application without any authentication."""
    with application(database) as horae:
        made = horae.asgi().made
        assert isinstance(made, HttpInterface)
        yield made


async def test_the_link_works_once(linked: HttpInterface) -> None:
    browser, late = browser_at(linked), browser_at(linked)
    assert await name_of(browser) is None
    link = linked.entrance()
    assert error_of(await late.get("/api/session/link/wrong/")) == NOBODY
    for preview in (late.get, late.head, late.get):  # as chats and mail programs do
        shown = await preview(link)
        assert (shown.status_code, shown.headers["cache-control"]) == (200, "no-store")
        assert "set-cookie" not in shown.headers
        assert preview == late.head or '<form method="post">' in shown.text
    elsewhere = await late.post(link, headers={"origin": "https://evil.example"})
    assert elsewhere.status_code == 403
    assert error_of(await late.post("/api/session/link/wrong/")) == NOBODY
    answer = await browser.post(link, headers={"content-type": "application/x-www-form-urlencoded"})
    assert (answer.status_code, answer.headers["location"], answer.headers["cache-control"]) == (
        303,
        "/",
        "no-store",
    )
    assert (await browser.get("/api/session/")).json()["roles"] == ["staff"]
    assert error_of(await late.get(link)) == NOBODY
    assert error_of(await late.post(link)) == NOBODY
    assert (await browser.delete("/api/session/")).status_code == 204
    assert await name_of(browser) is None


async def test_a_link_leads_to_where_it_is_mounted(linked: HttpInterface) -> None:
    answer = await browser_at(linked, root="/work").post(linked.entrance())
    assert answer.headers["location"] == "/work/"
    assert "Path=/work/" in answer.headers["set-cookie"]


async def test_a_new_link_replaces_the_old_one_and_none_is_needed_with_tokens(
    linked: HttpInterface, app: Any
) -> None:
    old, new = linked.entrance(), linked.entrance()
    assert error_of(await browser_at(linked).post(old)) == NOBODY
    assert (await browser_at(linked).post(new)).status_code == 303
    assert app.entrance() == ""


async def test_with_tokens_sessions_of_the_link_are_over(linked: HttpInterface, app: Any) -> None:
    browser = browser_at(linked)
    await browser.post(linked.entrance())
    assert await name_of(browser_at(app, cookies=browser.cookies)) is None


def test_guessing_costs_more_each_time_and_is_forgiven_after_a_minute() -> None:
    now = [0.0]
    slow = LoginThrottle(lambda: now[0])
    assert [slow.delay_after("here") for _ in range(9)] == [0, 0, 0, 0.25, 0.5, 1, 2, 4, 5]
    assert slow.delay_after("elsewhere") == 0
    now[0] += LoginLimits().counted_for
    assert slow.delay_after("here") == 0
    assert max(slow.delay_after(f"address {number}") for number in range(100)) == 5


async def test_a_guesser_locks_out_no_other_user(
    app: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app.services.authenticate.throttle = LoginThrottle(limits=LoginLimits(longest_delay=0))
    browser = browser_at(app)
    for _ in range(20):
        assert (
            error_of(await browser.post("/api/session/", json={"token": "wrong-0123456789abcdef"}))
            == NOBODY
        )
    assert await name_of(await logged_in(app)) == "alice"
    assert caplog.text.count("a log-in from 127.0.0.1 failed") == 1
    assert "wrong-0123456789abcdef" not in caplog.text


async def test_the_number_of_delayed_refusals_is_bounded() -> None:
    with pytest.raises(TooManyGuesses):
        await LoginThrottle(limits=LoginLimits(most_delayed=0)).wrong("here")
