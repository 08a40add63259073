"""The Django app: finds the `jobs` module of each app, and keeps Horae's tables up to date."""

from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules
from typing_extensions import override


class HoraeConfig(AppConfig):
    """Horae as an app of a Django project."""

    name = "horae.contrib.django"
    label = "horae"
    verbose_name = "Horae"

    @override
    def ready(self) -> None:
        """Import the job types of all apps, and the tasks of Django that are to run as jobs."""
        from horae.contrib.django.application import horae
        from horae.contrib.django.temporary_databases import prepare_for_tests

        prepare_for_tests(horae)
        autodiscover_modules("jobs")
        backends = getattr(settings, "TASKS", None) or {}
        if any(str(each.get("BACKEND")).startswith(f"{self.name}.") for each in backends.values()):
            autodiscover_modules("tasks")
        post_migrate.connect(bring_tables_along, sender=self)


def bring_tables_along(*, using: str, verbosity: int = 1, **_: Any) -> None:
    """Create or upgrade Horae's tables after `manage.py migrate` on the alias of its database."""
    from horae.contrib.django.application import horae

    if using == horae.alias:
        horae.migrate()
        if verbosity > 1:
            print("Horae's tables are up to date.")  # noqa: T201 - as other handlers of Django do
