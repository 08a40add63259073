"""Django's tasks with the backend of django-tasks-db, on PostgreSQL."""

import sys

import django
from django.conf import settings
from django.core.management import call_command
from psycopg.conninfo import conninfo_to_dict

from benchmarks.peers.protocol import Adapter, Place, ran, stamped

POLL = "0.02"
"""Seconds between two looks of an idle worker; its default is one second."""

found = conninfo_to_dict(Place.from_environment().database)
settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": found["dbname"],
            "USER": found["user"],
            "HOST": found["host"],
            "PORT": found["port"],
            "CONN_MAX_AGE": None,
        }
    },
    INSTALLED_APPS=["django_tasks", "django_tasks_db"],
    TASKS={"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}},
    USE_TZ=True,
)
django.setup()

from django.db import connection  # noqa: E402 - needs the settings
from django_tasks import task  # noqa: E402 - needs the settings
from django_tasks_db.models import DBTaskResult  # noqa: E402 - needs the settings


@task()
def noop() -> None:
    ran()


@task()
def stamp(asked_at: int) -> None:
    stamped(asked_at)


class DjangoTasksAdapter(Adapter):
    def prepare(self) -> None:
        call_command("migrate", verbosity=0)

    def clear(self) -> None:
        DBTaskResult.objects.all().delete()

    def enqueue(self, count: int) -> None:
        for _ in range(count):
            noop.enqueue()

    def stamp(self, asked_at: int) -> None:
        stamp.enqueue(asked_at)

    def unfinished(self) -> int:
        return DBTaskResult.objects.filter(finished_at=None).count()

    def close(self) -> None:
        connection.close()


def work() -> None:
    command = ["db_worker", "--interval", POLL, "--no-startup-delay", "--no-reload"]
    call_command(*command, verbosity=0)
    sys.exit()


ADAPTER = DjangoTasksAdapter
