"""Existing Celery tasks as job types."""


def task_type() -> None:
    """Make an existing Celery task a job type."""
