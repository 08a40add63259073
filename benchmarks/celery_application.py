"""The Celery application that is measured: a plain task, whose results are in PostgreSQL, and the same as a job."""

import os

from horae import Horae
from horae.contrib.celery import setup
from horae.contrib.celery.library import celery_module

app = celery_module("celery").Celery(
    "measured", broker=os.environ["CELERY_BROKER_URL"], backend=f"db+{os.environ['HORAE_DATABASE']}"
)
app.conf.update(worker_hijack_root_logger=False, database_create_tables_at_setup=True)
horae = Horae(os.environ["HORAE_DATABASE"])
setup(app, horae)


@app.task(name="plain.noop")
def plain() -> None: ...


@horae.job(backend="celery", max_count=None)
def noop() -> None: ...
