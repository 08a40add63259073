"""A shop that has Celery already, and adds Horae. Workers: `celery -A examples.celery.app worker`."""

import os
import time
from typing import Any

from horae import Horae, JobContext
from horae.contrib.celery import setup, task_type
from horae.contrib.celery.library import celery_module
from horae.runtime.timing import DispatcherTiming, Timing

# What the shop had before: a Celery application with a task that reports how far it is.
app = celery_module("celery").Celery(
    "shop", broker=os.environ.get("CELERY_BROKER_URL", "redis://localhost")
)


@app.task(bind=True, name="shop.import_csv")
def import_csv(self: Any, rows: int) -> int:
    for done in range(rows):
        time.sleep(0.05)
        self.update_state(state="IMPORTING", meta={"current": done + 1, "total": rows})
    return rows


# What it adds. The timing is only so short because the demonstration loses messages on purpose.
horae = Horae(os.environ.get("HORAE_DATABASE", "sqlite:///shop.db"))
setup(app, horae, timing=Timing(dispatcher=DispatcherTiming(lost_after=2.0, compare_every=1.0)))
task_type(horae, "shop.import_csv")


@horae.job(backend="celery", max_attempts=3)
def export_orders(job: JobContext, orders: int = 20) -> int:
    for _ in job.progress.track(range(orders)):
        time.sleep(0.05)
    return os.getpid()


@horae.every("1s", backend="celery")
def refresh_rates() -> None:
    """Run on the workers, which need no beat."""
