"""The Django app: finds the `jobs` module of each app, and keeps Horae's tables up to date."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core import checks
from django.core.management import CommandError
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules
from typing_extensions import override

from horae.errors import HoraeError


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
        checks.register(check_transactions, checks.Tags.database)
        autodiscover_modules("jobs")
        backends = getattr(settings, "TASKS", None) or {}
        if any(str(each.get("BACKEND")).startswith(f"{self.name}.") for each in backends.values()):
            autodiscover_modules("tasks")
        post_migrate.connect(bring_tables_along, sender=self)


def bring_tables_along(*, using: str, verbosity: int = 1, **_: Any) -> None:
    """Create or upgrade Horae's tables after `manage.py migrate` on the alias of its database."""
    from horae.contrib.django.application import horae

    if using == horae.alias:
        try:
            changed = horae.migrate()
        except HoraeError as error:
            raise CommandError(f"Horae's tables cannot be brought up to date: {error}") from error
        if verbosity > 1 or (changed and verbosity == 1):
            print("Horae's tables are up to date.")  # noqa: T201 - as other handlers of Django do


def check_transactions(
    databases: Sequence[str] | None = None, **_: Any
) -> list[checks.CheckMessage]:
    """Warn of transactions on a SQLite file that take the write lock late, and are refused it."""
    from horae.contrib.django.application import horae
    from horae.contrib.django.databases import connection_of, is_of_file

    if horae.alias not in (databases or ()):
        return []
    wrapper = connection_of(horae.alias)
    if not is_of_file(wrapper) or "transaction_mode" in wrapper.settings_dict["OPTIONS"]:
        return []
    return [
        checks.Warning(
            f"Transactions on DATABASES[{horae.alias!r}] take SQLite's write lock at their first"
            " write, and are refused it if a node of Horae has written since their first read.",
            hint="Set 'OPTIONS': {'transaction_mode': 'IMMEDIATE'}.",
            id="horae.W001",
        )
    ]
