"""The peers: what is installed for each, how durable its jobs are, and how it is configured."""

from dataclasses import dataclass, field
from enum import Enum


class Durability(Enum):
    """What must fail before a job that was accepted is lost; budgets hold within one of these."""

    POSTGRESQL = "a committed row in PostgreSQL"
    SQLITE = "a committed row in SQLite"
    MEMORY = "in the memory of a Redis server"


@dataclass(frozen=True, slots=True)
class Peer:
    """One form of a job system."""

    name: str
    adapter: str
    """The module in `benchmarks.peers.adapters`."""
    durability: Durability
    configuration: str
    requirements: tuple[str, ...] = ()
    """What pip installs, with exact versions; nothing for Horae, which runs in its own environment."""
    variant: str = ""
    remark: str = ""
    """What its durability leaves out."""
    modules: str = field(default="benchmarks.peers.adapters", repr=False)

    @property
    def is_horae(self) -> bool:
        """Whether this is what the others are compared with."""
        return not self.requirements


PSYCOPG = "psycopg[binary]==3.3.9"
REDIS = "redis==8.1.0"
SQLALCHEMY = "SQLAlchemy==2.1.9"

PEERS: tuple[Peer, ...] = (
    Peer(
        "horae",
        "horae",
        Durability.POSTGRESQL,
        "`horae run --roles worker`, coroutines, the default concurrency",
        variant="postgresql",
    ),
    Peer(
        "pgqueuer",
        "pgqueuer",
        Durability.POSTGRESQL,
        "asyncpg, coroutines, batches of 100",
        ("pgqueuer[asyncpg]==1.6.0", "asyncpg==0.32.0"),
        remark="the end of a job is stored with its batch",
    ),
    Peer(
        "procrastinate",
        "procrastinate",
        Durability.POSTGRESQL,
        "psycopg, coroutines, 20 at a time",
        ("procrastinate==3.10.0", PSYCOPG),
    ),
    Peer(
        "huey",
        "huey",
        Durability.POSTGRESQL,
        "one thread, no results",
        ("huey==3.5.4", PSYCOPG),
        variant="postgresql",
        remark="a job leaves the store before it runs, so a crash loses it",
    ),
    Peer(
        "apscheduler",
        "apscheduler",
        Durability.POSTGRESQL,
        "one-off jobs in its SQLAlchemy store, eight threads, woken every 5 ms",
        ("APScheduler==3.11.3", SQLALCHEMY, PSYCOPG),
        remark="a job leaves the store before it runs, so a crash loses it",
    ),
    Peer(
        "dbos",
        "dbos",
        Durability.POSTGRESQL,
        "workflows without steps, looked for every 20 ms",
        ("dbos==3.4.0", PSYCOPG),
    ),
    Peer(
        "django-tasks",
        "django_tasks",
        Durability.POSTGRESQL,
        "`db_worker`, looks every 20 ms when idle",
        ("django-tasks-db[compat]==0.13.0", "django-tasks==0.12.0", "Django==5.2.19", PSYCOPG),
    ),
    Peer(
        "awa",
        "awa",
        Durability.POSTGRESQL,
        "its Rust engine, coroutines, 100 at a time",
        ("awa-pg==0.6.9",),
    ),
    Peer(
        "horae-sqlite",
        "horae",
        Durability.SQLITE,
        "`horae run --roles worker`, coroutines, the default concurrency",
        variant="sqlite",
    ),
    Peer(
        "huey-sqlite",
        "huey",
        Durability.SQLITE,
        "one thread, no results, `fsync`, looks every 10 to 100 ms when idle",
        ("huey==3.5.4", PSYCOPG),
        variant="sqlite",
        remark="a job leaves the store before it runs, so a crash loses it",
    ),
    Peer(
        "rq",
        "rq",
        Durability.MEMORY,
        "`SimpleWorker`, no results",
        ("rq==3.0.0", REDIS),
    ),
    Peer(
        "dramatiq",
        "dramatiq",
        Durability.MEMORY,
        "one process with eight threads",
        ("dramatiq==2.2.1", REDIS),
    ),
    Peer(
        "celery",
        "celery",
        Durability.MEMORY,
        "prefork with one process, no results",
        ("celery==5.7.0", "packaging==26.3", REDIS, SQLALCHEMY, PSYCOPG),
        remark="a job is acknowledged before it runs, so a crash loses it",
    ),
    Peer(
        "celery-results",
        "celery",
        Durability.MEMORY,
        "prefork with one process, results in PostgreSQL",
        ("celery==5.7.0", "packaging==26.3", REDIS, SQLALCHEMY, PSYCOPG),
        variant="results",
        remark="results are committed rows, jobs are not",
    ),
)

NOT_COMPARED = {
    "Oban for Python": "its package is not on the index that this project installs from",
    "APScheduler 4": "a pre-release, whose newest one does not start with current versions of anyio",
    "taskiq, arq, SAQ": "not built yet; their jobs are in Redis, as those of rq and dramatiq",
}
"""Which others there are, and why they are left out."""
