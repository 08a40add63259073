"""The dashboard's files, wherever the application is mounted."""

from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from horae.api.application import HttpInterface
from horae.api.resources import pages
from horae.storage.engine.database import Database
from tests.api.clients import BASE, WHO, client_of, error_of, give

INDEX = '<!doctype html><html><head><script type="module" src="./assets/app-1a2b.js"></script></head></html>'


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    return sqlite_database


@pytest.fixture
def built(app: HttpInterface, tmp_path: Path) -> Path:
    """A dashboard that has been built."""
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(INDEX)
    (folder / "assets" / "app-1a2b.js").write_text("1")
    (folder / "favicon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("secret")
    give(app, dashboard=folder)
    return folder


async def test_without_a_build_the_page_explains_how_to_build_it(
    app: HttpInterface, tmp_path: Path
) -> None:
    give(app, dashboard=tmp_path / "none")
    response = await client_of(app).get("/")
    assert (response.status_code, response.text) == (200, pages.NOT_BUILT)


@pytest.mark.usefixtures("built")
async def test_hashed_files_are_kept_for_ever_and_others_asked_for_again(
    app: HttpInterface,
) -> None:
    hashed = await client_of(app).get("/assets/app-1a2b.js")
    other = await client_of(app).get("/favicon.svg")
    assert (hashed.text, hashed.headers["cache-control"]) == ("1", pages.FOR_EVER)
    assert "javascript" in hashed.headers["content-type"]
    assert (other.text, other.headers["cache-control"]) == ("<svg/>", "no-cache")


@pytest.mark.usefixtures("built")
async def test_the_page_names_its_installation_and_colour(app: HttpInterface) -> None:
    assert "horae-band" not in (await client_of(app).get("/")).text
    settings = app.services.settings
    hostile = '"><script>alert(1)</script>'
    give(app, settings=settings.model_copy(update={"colour": "orange", "node_name": hostile}))
    text = (await client_of(app).get("/jobs")).text
    assert 'data-colour="#f59e0b" data-text="#000000"' in text
    assert 'content="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"' in text
    assert "<script>alert" not in text
    give(app, settings=settings.model_copy(update={"colour": "#003366"}))
    unnamed = (await client_of(app).get("/")).text
    assert 'name="horae-band" content="" data-colour="#003366"' in unnamed, "no host name"


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("path", ["/", "/jobs/12", "/index.html", "/schedules"])
async def test_every_address_of_the_dashboard_is_its_one_page(
    app: HttpInterface, path: str
) -> None:
    response = await client_of(app).get(path)
    assert response.text == INDEX.replace("<head>", '<head><base href="/">')
    assert response.headers["cache-control"] == "no-cache"


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    "path", ["/api/nothing", "/api/jobs/1/nothing/", "/api", "/assets/app-old.js"]
)
async def test_an_unknown_page_is_a_404(app: HttpInterface, path: str) -> None:
    assert error_of(await client_of(app).get(path)) == (404, "ERROR_NOT_FOUND")


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "//etc/passwd",
        "/a%00b",
    ],
)
async def test_no_file_outside_is_served(app: HttpInterface, path: str) -> None:
    response = await client_of(app).get(path)
    assert "secret" not in response.text
    assert "root:" not in response.text


@pytest.mark.usefixtures("built")
async def test_mounted_in_another_application(app: HttpInterface) -> None:
    outer = Starlette(routes=[Mount("/work", app)])
    transport = httpx.ASGITransport(outer)
    async with httpx.AsyncClient(
        transport=transport, base_url=BASE, headers={WHO: "alice"}
    ) as client:
        assert '<base href="/work/">' in (await client.get("/work/jobs/1")).text
        assert (await client.get("/work/api/jobs/")).json() == {"jobs": [], "next": None}
        started = await client.post("/work/api/jobs/types/export_table/", json={"table_id": 1})
        assert started.status_code == 202


@pytest.fixture
def compressed(built: Path) -> Path:
    """The same with its script compressed, as the build leaves it."""
    for suffix in (".br", ".gz"):
        (built / "assets" / f"app-1a2b.js{suffix}").write_bytes(suffix.encode())
    return built


@pytest.mark.usefixtures("compressed")
@pytest.mark.parametrize(
    ("accepted", "encoding", "content"),
    [
        ("gzip, deflate, br, zstd", "br", b".br"),
        ("gzip;q=1.0, br;q=0", "gzip", b".gz"),
        ("br;q=0.5", "br", b".br"),
        ("GZIP", "gzip", b".gz"),
        ("identity", None, b"1"),
        ("brotli, gzipped", None, b"1"),
        ("", None, b"1"),
    ],
)
async def test_a_file_travels_in_the_smallest_form_that_is_accepted(
    app: HttpInterface, accepted: str, encoding: str | None, content: bytes
) -> None:
    async with client_of(app).stream(
        "GET", "/assets/app-1a2b.js", headers={"accept-encoding": accepted}
    ) as response:
        raw = b"".join([chunk async for chunk in response.aiter_raw()])
    assert (raw, response.headers.get("content-encoding")) == (content, encoding)
    assert "javascript" in response.headers["content-type"]
    assert response.headers["cache-control"] == pages.FOR_EVER
    assert response.headers["vary"].lower() == "accept-encoding"


async def test_long_answers_travel_compressed_and_short_ones_as_they_are(
    app: HttpInterface,
) -> None:
    client = client_of(app, "alice")
    document = await client.get("/api/openapi.json", headers={"accept-encoding": "gzip"})
    assert document.headers["content-encoding"] == "gzip"
    assert int(document.headers["content-length"]) < len(document.content) / 4
    assert document.headers["x-content-type-options"] == "nosniff"
    assert (
        "content-encoding"
        not in (await client.get("/api/session/", headers={"accept-encoding": "gzip"})).headers
    )
    plain = await client.get("/api/openapi.json", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
