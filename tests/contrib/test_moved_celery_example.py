"""`examples/moved_celery`: what the command prints of the old application is what the new one declares."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import pytest

from examples.moved_celery import shop
from examples.moved_celery.after import horae, send_invoice
from horae.testing import HoraeTesting, testing

COMPARE: Final = """
from examples.moved_celery import after, before
from horae.contrib.celery.moving import read_application, written

def declared(application):
    return {
        name: (kind.queue, kind.max_attempts, kind.backoff, kind.retry_on, str(kind.named_limits), kind.time_limits.soft)
        for name, kind in application.registry.by_name.items()
    }

names = {}
exec(written(read_application(before.app, "examples.moved_celery.before:app")), names)
assert declared(names["horae"]) == declared(after.horae), declared(names["horae"])
print(*sorted(declared(after.horae)))
"""
"""In a process of its own: Celery gives the tasks of one application to all others in its process."""


@pytest.fixture
def running() -> Iterator[HoraeTesting]:
    with testing(horae) as running:
        yield running


def test_the_command_prints_what_the_new_application_declares() -> None:
    done = subprocess.run(
        [sys.executable, "-c", COMPARE], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert {"shop.send_invoice", "shop.purge_carts", "nightly"} <= set(done.stdout.split())


def test_an_invoice_is_sent_and_carts_are_purged_at_night(running: HoraeTesting) -> None:
    shop.sent.clear()
    job = send_invoice.start(order=7)
    running.drain()
    assert horae.jobs.wait(job) == "invoice of order 7"
    assert shop.sent == ["invoice of order 7"]
    running.run_due(timedelta(days=2))
    assert len(horae.jobs.list(types=["nightly"]).jobs) in {2, 3}
