"""`horae`: the application of a Django project, with the settings `HORAE` and Django's database."""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Final

import django
from django.apps import apps
from django.conf import settings as django_settings
from typing_extensions import override

from horae.app import Horae
from horae.contrib.django.actors import actor_of_session
from horae.contrib.django.connections import Care, around_coroutine, around_function
from horae.contrib.django.databases import UNREAD, url_of
from horae.contrib.django.transactions import DjangoTransactions
from horae.errors import ConfigurationError, InvalidJobType
from horae.opened import Opened
from horae.types import NAMED_TRANSACTIONS, ApplicationHooks, JobContext, JobType, Registry

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from horae.settings import Settings

OWN_KEYS: Final = ("using", "dashboard")
"""Keys of `HORAE` that are no settings of Horae."""


class DjangoHorae(Horae):
    """The application of a Django project, on the database of one alias of `DATABASES`.

    Calls within `transaction.atomic` on that alias join its transaction. The alias is read when
    Horae opens and at each later use, so that a test can put another database in its place.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        """`given`: what `settings.HORAE` holds. Raises `ConfigurationError`."""
        if "database" in given:
            raise ConfigurationError(
                "HORAE['database']: the database is one of DATABASES; name its alias in"
                " HORAE['using']"
            )
        self.alias: str = given.get("using", "default")
        self.dashboard: str | None = given.get("dashboard")
        """The URL of the dashboard, for links to it; by default where this process mounts it."""
        self.transactions = DjangoTransactions(self.alias)
        chosen = {name: value for name, value in given.items() if name not in OWN_KEYS}
        chosen.setdefault("module", project())
        super().__init__(UNREAD, authenticate=actor_of_session, **chosen)

    def follow(self) -> None:
        """Read the database of the alias; close what is open if it is another one by now."""
        url, before = url_of(self.alias), self.opened.settings
        if url != before.database:
            self.opened.settings = before.model_copy(update={"database": url})
            self.close()

    def transaction(self) -> "AbstractContextManager[Connection]":
        """Open a transaction of Django that finishes the job, for the `transaction` of a
        `JobType`.
        """
        return self.transactions.begun()

    @override
    def make_opened(
        self, settings: "Settings", registry: Registry, hooks: ApplicationHooks
    ) -> Opened:
        return DjangoOpened(self, settings, registry, hooks)

    @override
    def add_type(self, job_type: JobType[Any]) -> None:
        super().add_type(job_type)
        if job_type.is_async and getattr(job_type, "_transaction", None) is in_django:
            raise InvalidJobType(
                f"job type {job_type.type!r}: transaction='django' is for functions, because"
                " Django's transactions do not work in coroutines; write `def` in place of"
                " `async def`"
            )

    if not TYPE_CHECKING:  # type checkers would accept any name

        @override
        def __getattribute__(self, name: str) -> Any:
            """Follow the alias before anything is used that depends on the database."""
            if name in OF_DATABASE:
                self.follow()
            return super().__getattribute__(name)

        @override
        def __setattr__(self, name: str, value: Any) -> None:
            """Refuse settings with another database, such as that of `horae --database`."""
            if name == "settings" and value.database != url_of(self.alias):
                raise ConfigurationError(
                    "the database of a Django project is one of DATABASES, so it cannot be"
                    " replaced; leave out --database"
                )
            super().__setattr__(name, value)


class DjangoOpened(Opened):
    """What a project has opened on the database of its alias."""

    def __init__(
        self,
        application: DjangoHorae,
        settings: "Settings",
        registry: Registry,
        hooks: ApplicationHooks,
    ) -> None:
        self._application = application
        super().__init__(settings, registry, hooks, application.transactions)

    if not TYPE_CHECKING:  # type checkers would accept any name

        @override
        def __getattribute__(self, name: str) -> Any:
            """Follow the alias before anything is used that depends on the database."""
            if name in OPENED:
                self._application.follow()
            return super().__getattribute__(name)


OPENED: Final = frozenset({"async_jobs", "components", "inline", "jobs"})
"""What is opened on a database."""
OF_DATABASE: Final = frozenset(
    {
        "aio",
        "deployments",
        "limits",
        "queues",
        "schedules",
        "settings",
    }
)
"""What an application keeps of its database, besides what is opened."""


def project() -> str:
    """Return the name of the project: the package of its settings or of its URLs."""
    named: str = getattr(django_settings, "ROOT_URLCONF", "") or ""
    named = os.environ.get("DJANGO_SETTINGS_MODULE", named)
    return named.partition(".")[0] or "django"


def in_django(_job: JobContext[Any]) -> "AbstractContextManager[Connection]":
    """Open the transaction of a body that is declared with `transaction="django"`."""
    return horae.transaction()


def set_up() -> None:
    """Set Django up, unless it is being set up already; child processes of nodes begin here."""
    if not (apps.ready or apps.loading):
        django.setup()


NAMED_TRANSACTIONS["django"] = in_django
horae: Final = DjangoHorae(getattr(django_settings, "HORAE", {}))


@horae.around
def care_for_connections(job: JobContext[Any]) -> Care:
    """Close broken and outdated connections of Django before each body and after it."""
    job_type = horae.registry.get(job.type)
    return around_coroutine() if job_type.is_async else around_function()
