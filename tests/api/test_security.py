"""Authentication and permissions: who may call, from where, and what each role may do."""

from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import SecretStr

from horae import ConfigurationError, Horae
from horae.api.application import HttpInterface
from horae.api.resources.pages import NOT_BUILT
from horae.api.security.exposure import check_exposure
from horae.api.security.origin import is_loopback
from horae.api.security.tokens import tokens_of
from horae.settings import settings
from horae.storage.engine.database import Database
from tests.api.clients import BASE, Client, by_header, client_of, error_of
from tests.api.tables import add_types
from tests.harness.applications import application

ALICE = "alice-0123456789abcdef"
ROOT = "root-0123456789abcdef"
TOKENS = (SecretStr(f"alice:owner:{ALICE}"), SecretStr(f"root:owner+staff:{ROOT}"))
NOBODY = (401, "ERROR_NOT_AUTHENTICATED")
DENIED = (403, "ERROR_PERMISSION_DENIED")
CROSS_SITE = (403, "ERROR_CROSS_SITE_REQUEST")
LOCAL = ("127.0.0.1", 50000)


def from_peer(
    app: object, peer: tuple[str, int], base: str = BASE, **headers: str
) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=peer)  # type: ignore[arg-type] # an ASGI application
    return httpx.AsyncClient(transport=transport, base_url=base, headers=headers)


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """Who may ask does not depend on the kind of database."""
    return sqlite_database


@pytest.mark.parametrize(
    "path",
    [
        "/api/jobs/",
        "/api/jobs/1/",
        "/api/queues/",
        "/api/nodes/",
        "/api/overview/",
        "/api/audit/",
        "/api/events/",
        "/api/session/",
        "/api/openapi.json",
        "/metrics",
    ],
)
async def test_an_anonymous_request_is_refused(app: HttpInterface, path: str) -> None:
    response = await client_of(app).get(path)
    assert error_of(response) == NOBODY
    assert response.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "path", ["/api/queues/", "/api/nodes/", "/api/overview/", "/api/audit/", "/metrics"]
)
async def test_owners_are_not_shown_what_is_for_staff(client: Client, path: str) -> None:
    assert error_of(await client("alice").get(path)) == DENIED
    assert (await client("auditor").get(path)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/jobs/types/export_table/"),
        ("POST", "/api/jobs/1/cancel/"),
        ("POST", "/api/jobs/1/retry/"),
        ("DELETE", "/api/jobs/1/"),
        ("POST", "/api/queues/default/pause/"),
        ("POST", "/api/queues/default/resume/"),
    ],
)
async def test_read_only_staff_change_nothing(
    horae: Horae, client: Client, method: str, path: str
) -> None:
    horae.jobs.start("rebuild_index", owner="alice")
    response = await client("auditor").request(
        method, path, json={"table_id": 1} if "types" in path else {}
    )
    assert error_of(response) == DENIED
    assert [job.state for job in horae.jobs.list().jobs] == ["pending"]


@pytest.mark.parametrize("path", ["/api/queues/default/pause/", "/api/queues/default/resume/"])
async def test_owners_hold_no_queue(client: Client, path: str) -> None:
    assert error_of(await client("alice").post(path, json={})) == DENIED


@pytest.fixture
def with_tokens(database: Database) -> object:
    with application(database, tokens=TOKENS) as horae:
        yield add_types(horae).asgi()


async def test_a_token_identifies_its_user(with_tokens: object) -> None:
    async def me(**headers: str) -> httpx.Response:
        return await client_of(with_tokens, **headers).get("/api/session/")

    assert (await me(authorization=f"Bearer {ALICE}")).json()["id"] == "alice"
    assert (await me(authorization=f"bearer {ROOT}")).json() == {
        "id": "root",
        "roles": ["owner", "staff"],
        "sees_all": True,
        "sees_values": True,
        "changes_all": True,
        "changes_own": True,
    }
    for wrong in (f"Bearer {ALICE}x", "Bearer ", f"Basic {ALICE}", ALICE):
        assert error_of(await me(authorization=wrong)) == NOBODY


async def test_with_tokens_local_requests_have_no_special_rights(with_tokens: object) -> None:
    assert error_of(await from_peer(with_tokens, LOCAL).get("/api/session/")) == NOBODY


async def test_without_tokens_there_is_no_login(client: Client) -> None:
    response = await client("alice").post("/api/session/", json={"token": ALICE})
    assert error_of(response) == (400, "ERROR_NO_TOKENS")


@pytest.fixture
async def local(database: Database) -> AsyncIterator[object]:
    """An application to which everybody on this machine is staff."""
    with application(database, local_staff=True) as horae:
        yield add_types(horae).asgi()


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
async def test_local_requests_are_staff_where_allowed(local: object, peer: str) -> None:
    me = (await from_peer(local, (peer, 50000)).get("/api/session/")).json()
    assert (me["id"], me["roles"]) == ("local", ["staff"])


@pytest.mark.parametrize(
    "peer", ["10.0.0.1", "192.168.1.5", "::2", "::ffff:10.0.0.1", "", "localhost.example"]
)
async def test_requests_of_other_machines_are_anonymous(local: object, peer: str) -> None:
    assert error_of(await from_peer(local, (peer, 50000)).get("/api/session/")) == NOBODY


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
        {"origin": "http://localhost:3000"},
        {"origin": "null"},
        {"x-forwarded-for": "10.0.0.1"},
        {"x-forwarded-proto": "https"},
        {"x-real-ip": "127.0.0.1"},
        {"origin": "http://["},
        {"forwarded": "for=10.0.0.1"},
        {"via": "1.1 proxy"},
    ],
)
async def test_another_sites_page_and_a_proxy_are_not_this_machine(
    local: object, headers: dict[str, str]
) -> None:
    assert error_of(await from_peer(local, LOCAL, **headers).get("/api/session/")) == NOBODY


@pytest.mark.parametrize(
    "headers", [{"origin": BASE}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}]
)
async def test_pages_of_the_server_itself_count_as_local(
    local: object, headers: dict[str, str]
) -> None:
    assert (await from_peer(local, LOCAL, **headers).get("/api/session/")).status_code == 200


@pytest.mark.parametrize(
    "base", ["http://evil.example", "http://localhost.evil.example", "http://10.0.0.1"]
)
async def test_a_name_that_only_leads_here_is_refused(local: object, base: str) -> None:
    """DNS rebinding: the peer is this machine and the page is its own, and yet it is a stranger's."""
    response = await from_peer(local, LOCAL, base).get("/api/session/")
    assert error_of(response) == (400, "ERROR_HOST_NOT_ALLOWED")


async def test_hosts_of_the_settings_are_served(database: Database) -> None:
    with application(database, tokens=TOKENS, allowed_hosts=("jobs.example",)) as horae:
        app, headers = horae.asgi(), {"authorization": f"Bearer {ROOT}"}
        for base, status in [
            ("http://jobs.example:81", 200),
            ("http://JOBS.example", 200),
            ("http://other.example", 400),
        ]:
            assert (
                await from_peer(app, ("10.0.0.1", 1), base, **headers).get("/api/session/")
            ).status_code == status


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({}, True),
        ({"origin": BASE}, True),
        ({"sec-fetch-site": "same-origin", "origin": BASE}, True),
        ({"sec-fetch-site": "same-origin", "origin": "http://localhost:5173"}, True),  # by a proxy
        ({"origin": "https://shop.example", "sec-fetch-site": "cross-site"}, True),
        ({"origin": "https://evil.example"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"origin": "null"}, False),
    ],
)
async def test_only_trusted_pages_change_anything(
    database: Database, headers: dict[str, str], allowed: bool
) -> None:
    with application(database, trusted_origins=("https://shop.example",)) as horae:
        app = add_types(horae).asgi(by_header)
        response = await client_of(app, "alice", **headers).post(
            "/api/jobs/types/export_table/", json={"table_id": 1}
        )
        assert response.status_code == 202 if allowed else error_of(response) == CROSS_SITE
        assert len(horae.jobs.list().jobs) == int(allowed)


@pytest.mark.parametrize("method", ["DELETE", "PATCH", "POST", "PUT"])
async def test_browsers_are_told_that_trusted_pages_may_change_things(
    database: Database, method: str
) -> None:
    origin = "https://shop.example"
    with application(database, trusted_origins=(origin,)) as horae:
        client = client_of(horae.asgi(by_header), "alice")
        asked = {"origin": origin, "access-control-request-method": method}
        told = await client.options("/api/jobs/", headers=asked)
        assert (told.status_code, told.headers["access-control-allow-origin"]) == (200, origin)


async def test_bodies_are_bounded_with_and_without_a_length(database: Database) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(4):
            yield b" " * 1000

    with application(database, max_body=2000) as horae:
        app = add_types(horae).asgi(by_header)
        path, headers = "/api/jobs/types/export_table/", {"content-type": "application/json"}
        for content in (b" " * 2001, pieces()):
            response = await client_of(app, "alice", **headers).post(path, content=content)
            assert error_of(response) == (413, "ERROR_REQUEST_TOO_LARGE")
        response = await client_of(app, "alice", **headers).post(
            path, content=b'{"table_id": 1}' + b" " * 1900
        )
        assert response.status_code == 202


async def test_every_answer_has_security_headers(app: HttpInterface, client: Client) -> None:
    for response in (
        await client("alice").get("/api/jobs/"),
        await client_of(app).get("/api/jobs/"),
        await client_of(app).get("/"),
    ):
        policy = response.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["x-content-type-options"] == "nosniff"
    assert (await client("alice").get("/api/jobs/")).headers["cache-control"] == "no-store"
    assert (await client("auditor").get("/metrics")).headers["cache-control"] == "no-store"
    assert "<script" not in NOT_BUILT
    assert "http" not in NOT_BUILT


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "jobs.example"])
def test_without_users_the_server_listens_only_locally(host: str) -> None:
    with pytest.raises(ConfigurationError, match="HORAE_TOKENS"):
        check_exposure(host, settings())
    check_exposure(host, settings(tokens=TOKENS))
    check_exposure(host, settings(), by_header)


def test_local_staff_are_never_served_beyond_this_machine() -> None:
    with pytest.raises(ConfigurationError, match="HORAE_LOCAL_STAFF"):
        check_exposure("0.0.0.0", settings(local_staff=True, tokens=TOKENS), by_header)
    check_exposure("127.0.0.1", settings(local_staff=True))


async def test_by_default_local_requests_are_not_staff(database: Database) -> None:
    """Behind a proxy with default headers every request comes from here."""
    with application(database) as horae:
        app = add_types(horae).asgi()
        for path in ("/api/session/", "/api/jobs/", "/metrics", "/api/events/"):
            assert error_of(await from_peer(app, LOCAL).get(path)) == NOBODY
        assert (await from_peer(app, LOCAL).get("/healthz")).status_code == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_by_default_the_server_listens_locally(host: str) -> None:
    check_exposure(host, settings())
    assert is_loopback(host)


@pytest.mark.parametrize(
    "entry",
    [
        "alice",
        "alice:owner",
        ":owner:0123456789abcdef",
        "alice:king:0123456789abcdef",
        "alice:owner:short",
        "alice::0123456789abcdef",
        "alice:owner:0123456789abcdef\N{SNOWMAN}",
        "alice:owner:0123456789abcdef\nmore",
        "al\nice:owner:0123456789abcdef",
        f"{'a' * 201}:owner:0123456789abcdef",
        "",
        " , ",
        f"bob:owner:{ALICE},alice:owner:{ALICE}",
    ],
)
def test_wrong_tokens_are_refused_at_once_and_not_repeated(
    entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HORAE_TOKENS", entry)
    with pytest.raises(ConfigurationError, match="HORAE_TOKENS") as caught:
        Horae()
    said = str(caught.value).replace("alice:owner:…", "").replace("id:role:secret", "")
    assert [part for part in entry.split(":")[::2] if len(part) > 4 and part in said] == []


@pytest.mark.parametrize(
    "origin",
    [
        "*",
        "https://*",
        "https://*.example",
        "null",
        "shop.example",
        "https://",
        "ftp://shop.example",
        "http://[",
        "https://shop.example/",
        "https://shop.example/page",
        "https://me@shop.example",
        "https://Shop.example",
        "https://shop.example:443",
        "https://shop.example:999999",
        "https://shop.example?",
        "https://shop example",
    ],
)
def test_an_invalid_origin_is_not_trusted(origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HORAE_TRUSTED_ORIGINS", f"https://good.example,{origin}")
    with pytest.raises(ConfigurationError, match="HORAE_TRUSTED_ORIGINS"):
        Horae()


@pytest.mark.parametrize(
    "origin", ["https://shop.example", "http://localhost:3000", "https://[::1]:8443"]
)
def test_origins_are_trusted_by_name(origin: str) -> None:
    assert settings(trusted_origins=(origin,)).trusted_origins == (origin,)


def test_two_people_cannot_share_a_secret() -> None:
    with pytest.raises(ConfigurationError, match="same secret"):
        tokens_of([f"alice:owner:{ALICE}", f"bob:owner:{ALICE}"])


def test_tokens_come_from_the_environment_and_are_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HORAE_TOKENS", f"alice:owner:{ALICE}, root:staff:{ROOT}")
    given = settings()
    assert [
        token.actor.id for token in tokens_of(each.get_secret_value() for each in given.tokens)
    ] == [
        "alice",
        "root",
    ]
    assert ALICE not in repr(given) + str(given.model_dump())
