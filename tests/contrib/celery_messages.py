"""Messages about jobs, sent by the tests themselves."""

from horae.contrib.celery.broker import CeleryBackend
from horae.contrib.celery.library import celery_module
from horae.types.backends import Message


def send_twice(broker: str, job_id: int) -> None:
    """Send two messages about a job, as after an answer that was lost."""
    app = celery_module("celery").Celery("sender", broker=broker)
    CeleryBackend(app, "export").send("export", [Message(job_id, None)] * 2)  # type: ignore[arg-type]
