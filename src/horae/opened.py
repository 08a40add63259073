"""What an application opens at its first use: its adapters, and its clients for jobs.

It is made before the clients of the application and handed to them. The bodies of jobs find their
groups by the same clients, and functions start their jobs by them.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Protocol

from horae.domain.jobs import KeepLogs
from horae.forking import ForkSafeLock, lazy_property
from horae.types import ApplicationHooks, Registry

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from horae.client.jobs import AsyncJobs, Jobs
    from horae.runtime.components import Components
    from horae.runtime.inline import InlineNode
    from horae.settings import Settings
    from horae.storage.engine import CallerThreads, Database
    from horae.types import AsyncJobGroup, Attempt, JobGroup


class JoinsTransactions(Protocol):
    """Lets Horae's calls join the transactions of another library, such as Django's ORM."""

    def lend(self) -> "AbstractContextManager[Connection] | None":
        """Lend the connection of the transaction that is open in the calling thread, if any."""
        ...

    def after_commit(self, call: Callable[[], None], /) -> None:
        """Call a function when that transaction has committed; at once if there is none."""
        ...

    def caller_threads(self, count: int, /) -> "CallerThreads":
        """Return the threads on which coroutines call the database, up to `count` for each use."""
        ...


class AdaptersOfTest(Protocol):
    """Replaces adapters of an application while a test lasts."""

    def keep(self, chosen: "Settings", /) -> "Settings":
        """Return the settings to use for an application that is bound while the test lasts."""
        ...

    def open(self, database: "Database", /) -> None:
        """Change a database before its first use."""
        ...

    def adapt(self, made: "Components", /) -> "Components":
        """Return the adapters to use instead."""
        ...


class Opened:
    """The adapters and the clients for jobs of one application, each made when it is needed."""

    def __init__(
        self,
        settings: "Settings",
        registry: Registry,
        hooks: ApplicationHooks,
        joins: JoinsTransactions | None = None,
    ) -> None:
        self.settings, self._registry, self._hooks = settings, registry, hooks
        self.joins = joins
        """Lets calls join the transactions of another library, which then has the database."""
        self.test: AdaptersOfTest | None = None
        """What replaces adapters at present; set by `horae.testing`."""
        self.opening = ForkSafeLock(reentrant=True)

    @lazy_property
    def components(self) -> "Components":
        """The opened adapters.

        Creates the tables of a new SQLite file; raises `SchemaMismatch` for other databases.
        """
        from horae.adapters import Adapters, opened_database
        from horae.client.jobs import BulkJob, Jobs
        from horae.runtime.components import Components
        from horae.storage.migrations import runner as migrations
        from horae.wakeup import DeferredChannel

        given, registry = self.settings, self._registry
        keep_logs = None
        if given.keep_logs != "off":
            keep_logs = KeepLogs(
                level=given.keep_logs, lines=given.keep_log_lines, bytes=given.keep_log_bytes
            )
        with ExitStack() as unless_opened:
            database = opened_database(given)
            unless_opened.callback(database.close)
            if self.test is not None:
                self.test.open(database)
            migrations.ensure(database)
            adapters = Adapters(given, database)
            unless_opened.pop_all()
        wakeup = adapters.wakeup
        if self.joins is not None:
            database.join(self.joins.lend, self.joins.caller_threads)
            wakeup = DeferredChannel(wakeup, self.joins.after_commit)
        jobs = Jobs(
            database,
            registry,
            adapters.live,
            wakeup,
            keep=given.keep,
            observers=self._hooks.starts,
        )
        registry.add_built_in(BulkJob(database, registry, jobs))
        made = Components(
            database,
            registry,
            adapters.live,
            wakeup,
            self._hooks,
            keep_logs,
            adapters.replica,
        )
        return made if self.test is None else self.test.adapt(made)

    @lazy_property
    def inline(self) -> "InlineNode":
        """The node that runs jobs in the thread that starts them."""
        from horae.runtime.inline import InlineNode

        return InlineNode(self.components)

    @lazy_property
    def jobs(self) -> "Jobs":
        """The client for jobs."""
        from horae.client.jobs import Jobs

        made = self.components
        return Jobs(
            made.database,
            made.registry,
            made.live,
            made.wakeup,
            keep=self.settings.keep,
            inline=lambda: self.inline,
            observers=self._hooks.starts,
        )

    @lazy_property
    def async_jobs(self) -> "AsyncJobs":
        """The client for jobs of coroutines."""
        from horae.client.jobs import AsyncJobs

        made = self.components
        return AsyncJobs(self.jobs, made.registry, made.database, made.wakeup)

    def of_body(self, attempt: "Attempt", /) -> "JobGroup":
        """Return the group of a job, for its body."""
        from horae.client.jobs import BodyGroup

        return BodyGroup(self.jobs, attempt)

    def of_coroutine(self, attempt: "Attempt", /) -> "AsyncJobGroup":
        """Return the group of a job, for its body that is a coroutine."""
        from horae.client.jobs import AsyncBodyGroup

        return AsyncBodyGroup(self.jobs, self.async_jobs, attempt)

    def for_thread(self) -> "Jobs":
        """Return the client by which functions start their jobs."""
        return self.jobs

    def for_coroutine(self) -> "AsyncJobs":
        """Return the client by which functions start their jobs from a coroutine."""
        return self.async_jobs

    def close(self) -> None:
        """Send pending notifications and close connections; a later use opens them again."""
        made = vars(self)
        if "inline" in made:
            self.inline.close()
        if "components" in made:
            if self.components.replica is not None:
                self.components.replica.close()
            self.components.wakeup.close()
            self.components.live.close()
            self.components.database.close()
        for name in ("jobs", "async_jobs", "inline", "components"):
            made.pop(name, None)
