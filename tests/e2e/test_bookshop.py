"""The project of `examples/django` in a browser: an order is placed, shipped by a node, and seen on the dashboard."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.conftest import PATIENCE
from tests.harness.node_processes import ROOT, wait_until
from tests.harness.operating_system import free_loopback_port

pytestmark = pytest.mark.slow

PEOPLE = """
from django.contrib.auth.models import User
from orders.models import Book
Book.objects.create(title="The Hours", stock=2)
User.objects.create_user("ann", "ann@example.com", "ann", is_staff=True)
"""


@pytest.fixture
def bookshop(tmp_path: Path) -> Iterator[str]:
    """The URL of the project under ASGI, beside a node."""
    folder = tmp_path / "bookshop"
    shutil.copytree(ROOT / "examples/django", folder, ignore=shutil.ignore_patterns("*.db*"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    port = free_loopback_port()
    with ExitStack() as stack:
        log = stack.enter_context((tmp_path / "log").open("w"))

        def run(*arguments: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [sys.executable, *arguments], cwd=folder, env=environment, stdout=log, stderr=log
            )
            stack.callback(process.communicate)
            stack.callback(process.kill)
            return process

        assert run("manage.py", "migrate", "--verbosity", "0").wait(60) == 0
        assert run("manage.py", "shell", "-v", "0", "-c", PEOPLE).wait(60) == 0
        run("manage.py", "horae", "run", "--roles", "worker,scheduler", "--grace", "0")
        run("-m", "uvicorn", "bookshop.asgi:application", "--port", str(port))
        wait_until(lambda: listens(port))
        yield f"http://127.0.0.1:{port}"
        print((tmp_path / "log").read_text())  # noqa: T201 - pytest shows it with a failure


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


def log_in(page: Page, name: str) -> None:
    page.goto("/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(name)
    page.get_by_role("button", name="Log in").click()


def test_an_order_is_shipped_and_seen(browser: Browser, bookshop: str) -> None:
    with browser.new_context(base_url=bookshop) as anonymous:
        assert anonymous.request.get("/work/api/jobs/").status == 401
    with browser.new_context(base_url=bookshop) as context:
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        log_in(page, "ann")
        page.get_by_role("button", name="Order The Hours (2 in stock)").click()
        shipped = page.get_by_text("The Hours: shipped")

        def is_shipped() -> bool:
            page.reload()
            return shipped.count() == 1

        wait_until(is_shipped)
        expect(page.get_by_role("button", name="Order The Hours (1 in stock)")).to_be_visible()
        page.get_by_role("link", name="What is being done").click()
        page.get_by_role("link", name="Jobs", exact=True).click()
        expect(page.get_by_role("link", name="ship").first).to_be_visible()
        page.goto("/admin/horae/dashboard/")
        page.get_by_role("row", name="ship").get_by_role("link").click()
        expect(page.get_by_role("heading", name="ship")).to_be_visible()
