"""`examples/moved_celery`: what the command prints of the old application is what the new one declares."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from examples.moved_celery import before, shop
from examples.moved_celery.after import horae, send_invoice
from horae import Horae
from horae.contrib.celery.moving import read_application, written
from horae.testing import HoraeTesting, testing


@pytest.fixture
def running() -> Iterator[HoraeTesting]:
    with testing(horae) as running:
        yield running


def declared(application: Horae) -> dict[str, Any]:
    """What an application declares of each job type, apart from its function."""
    return {
        name: (
            job_type.queue,
            job_type.max_attempts,
            job_type.backoff,
            job_type.retry_on,
            str(job_type.named_limits),
            job_type.time_limits.soft,
        )
        for name, job_type in application.registry.by_name.items()
    }


def test_the_command_prints_what_the_new_application_declares() -> None:
    celery = read_application(before.app, "examples.moved_celery.before:app")
    names: dict[str, Any] = {}
    exec(written(celery), names)
    printed: Horae = names["horae"]
    assert set(declared(printed)) >= {"shop.send_invoice", "shop.purge_carts", "nightly"}
    assert declared(printed) == declared(horae)


def test_an_invoice_is_sent_and_carts_are_purged_at_night(running: HoraeTesting) -> None:
    shop.sent.clear()
    job = send_invoice.start(order=7)
    running.drain()
    assert horae.jobs.wait(job) == "invoice of order 7"
    assert shop.sent == ["invoice of order 7"]
    running.run_due(timedelta(days=2))
    assert len(horae.jobs.list(types=["nightly"]).jobs) in {2, 3}
