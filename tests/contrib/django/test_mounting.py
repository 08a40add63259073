"""The API beside Django's views, under ASGI and WSGI, for the users of Django's sessions."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from django.contrib.auth.models import Permission, User
from django.core.asgi import get_asgi_application
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.test import Client, RequestFactory

from horae import ConfigurationError
from horae.contrib.django import DjangoHorae, asgi_with_horae, owner_of, wsgi_with_horae
from horae.contrib.django import horae as application
from tests.contrib.django.conftest import on_database
from tests.contrib.django.shop import jobs

Ask = Callable[..., httpx.Response]
CROSS_SITE: Final = {"sec-fetch-site": "cross-site", "origin": "https://elsewhere.example"}


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with all tables of the project, and users of each kind."""
    file = tmp_path_factory.mktemp("shop") / "shop.sqlite3"
    with on_database({"ENGINE": "django.db.backends.sqlite3", "NAME": str(file)}):
        call_command("migrate", verbosity=0, run_syncdb=True)
        for name in ("ann", "bob", "vera", "gone"):
            User.objects.create_user(name)
        User.objects.create_user("staff", is_staff=True)
        vera = User.objects.get(username="vera")
        vera.user_permissions.add(Permission.objects.get(codename="view_dashboard"))
        application.close()
    return file


@pytest.fixture
def horae(migrated: Path, tmp_path: Path) -> Iterator[DjangoHorae]:
    shutil.copy(migrated, tmp_path / "shop.sqlite3")
    with on_database(
        {"ENGINE": "django.db.backends.sqlite3", "NAME": str(tmp_path / "shop.sqlite3")}
    ):
        yield application
        application.close()


def cookie_of(name: str) -> dict[str, str]:
    """The cookie of a user who has logged in."""
    client = Client()
    client.force_login(User.objects.get(username=name))
    return {"cookie": f"sessionid={client.cookies['sessionid'].value}"}


@pytest.fixture(params=["asgi", "wsgi"])
def ask(request: pytest.FixtureRequest, horae: DjangoHorae) -> Iterator[Ask]:
    """Ask the project as a server would."""
    del horae
    if request.param == "wsgi":
        transport = httpx.WSGITransport(wsgi_with_horae(get_wsgi_application(), at="/work"))
        with httpx.Client(transport=transport, base_url="http://testserver") as client:
            yield client.request
        return
    mounted = httpx.ASGITransport(asgi_with_horae(get_asgi_application(), at="/work"))
    loop = asyncio.new_event_loop()
    asynchronous = httpx.AsyncClient(transport=mounted, base_url="http://testserver")
    yield lambda *given, **named: loop.run_until_complete(asynchronous.request(*given, **named))
    loop.run_until_complete(asynchronous.aclose())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def test_the_views_of_django_stay_where_they_are(ask: Ask) -> None:
    assert "Django administration" in ask("GET", "/admin/login/").text
    assert ask("GET", "/workshop").status_code == 404
    assert ask("GET", "/work").status_code == 307
    assert ask("GET", "/work/healthz").status_code == 200
    assert '<base href="/work/">' in ask("GET", "/work/jobs").text


def test_nobody_is_refused(ask: Ask) -> None:
    refused = ask("GET", "/work/api/session/")
    assert refused.status_code == 401
    # By it the page asks for no token.
    assert refused.json()["sentence"]["code"] == "refused_not_logged_in_there"
    assert ask("GET", "/work/api/jobs/", headers={"cookie": "sessionid=x"}).status_code == 401


def test_users_see_what_they_may(horae: DjangoHorae, ask: Ask) -> None:
    ann, bob, vera, staff = map(cookie_of, ("ann", "bob", "vera", "staff"))
    owner = owner_of(User.objects.get(username="ann"))
    job = horae.jobs.start(jobs.ship, number=1, owner=owner)
    path = f"/work/api/jobs/{job.id}/"
    assert ask("GET", path, headers=ann).json()["type"] == "ship"
    assert ask("GET", path, headers=bob).status_code == 404
    assert ask("GET", path, headers=vera).status_code == 200
    for headers, status in (
        (bob, 404),
        (vera, 404),
        ({**staff, **CROSS_SITE}, 403),
        ({**ann, **CROSS_SITE}, 403),
        (ann, 200),
        (staff, 200),
    ):
        assert ask("POST", f"{path}cancel/", headers=headers).status_code == status, headers
    assert ask("GET", "/work/api/nodes/", headers=ann).status_code == 403
    assert ask("GET", "/work/api/nodes/", headers=vera).status_code == 200


def test_a_session_ends_with_its_user(ask: Ask) -> None:
    gone, ann = cookie_of("gone"), cookie_of("ann")
    assert ask("GET", "/work/api/jobs/", headers=gone).status_code == 200
    User.objects.filter(username="gone").update(is_active=False)
    assert ask("GET", "/work/api/jobs/", headers=gone).status_code == 401
    user = User.objects.get(username="ann")
    user.set_password("new")  # ends all sessions
    user.save()
    assert ask("GET", "/work/api/jobs/", headers=ann).status_code == 401


def test_the_owner_of_a_request_is_its_user(horae: DjangoHorae) -> None:
    del horae
    client = Client()
    client.force_login(User.objects.get(username="ann"))
    request: Any = RequestFactory().get("/")
    request.user = User.objects.get(username="ann")
    assert owner_of(request.user) == str(request.user.pk)
    request.user.is_active = False
    assert owner_of(request.user) is None


def test_streams_are_refused_under_wsgi_alone(ask: Ask, request: pytest.FixtureRequest) -> None:
    if request.node.callspec.params["ask"] == "wsgi":
        assert ask("GET", "/work/api/events/").status_code == 501
    else:
        assert ask("GET", "/work/api/events/").status_code == 401


@pytest.mark.parametrize("at", ["", "/", "work", "/{work}", "//work"])
def test_a_path_of_no_use_is_refused(at: str) -> None:
    with pytest.raises(ConfigurationError, match="at is"):
        asgi_with_horae(None, at=at)


def test_the_admin_lists_jobs_and_links_to_the_dashboard(
    horae: DjangoHorae, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(horae, "dashboard", "/work/")
    job = horae.jobs.start(jobs.ship, number=1, owner="<b>")
    client = Client()
    client.force_login(User.objects.get(username="staff"))
    assert "Jobs and schedules" in client.get("/admin/").content.decode()
    page = client.get("/admin/horae/dashboard/").content.decode()
    assert f'href="/work/jobs/{job.id}"' in page
    assert "&lt;b&gt;" in page
    assert client.get("/admin/horae/dashboard/add/").status_code == 403
    client.force_login(User.objects.get(username="ann"))
    assert client.get("/admin/horae/dashboard/").status_code == 302


FORKED: Final = """
import os, signal
from django.core.wsgi import get_wsgi_application
from horae.contrib.django import wsgi_with_horae

application = wsgi_with_horae(get_wsgi_application())
environ = {
    "REQUEST_METHOD": "GET", "PATH_INFO": "/horae/healthz", "SERVER_NAME": "x", "SERVER_PORT": "80",
    "HTTP_HOST": "x", "wsgi.url_scheme": "http", "wsgi.input": None,
}
if (child := os.fork()) == 0:
    signal.alarm(20)
    answered = b"".join(application(environ, lambda status, headers, *_: print(status, flush=True)))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_server_may_fork_after_it_has_loaded_the_project(horae: DjangoHorae) -> None:
    file = horae.settings.database.removeprefix("sqlite:///")
    given = {"ENGINE": "django.db.backends.sqlite3", "NAME": file}
    ran = subprocess.run(
        [sys.executable, "-c", FORKED],
        env={**os.environ, "SHOP_DATABASE": json.dumps(given)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "200 OK\n"), ran.stderr
