"""An application on a fresh database, and direct access to the database behind it."""

from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from sqlalchemy import Engine, create_engine, event, text

from horae import Horae
from horae.client.jobs import Jobs
from horae.client.jobs.job_reads import JobLimits
from horae.domain.jobs import Claim, JobId, NodeId
from horae.runtime.inline import InlineNode
from horae.storage.engine import SQLITE, Database
from horae.storage.jobs import ClaimScope, claims
from horae.types import Attempt, JobContext
from horae.wakeup import Hint
from tests.harness.waiting import Record

ELSEWHERE = NodeId("elsewhere")


def url_of(database: Database) -> str:
    """Return the URL with its password, as an application would write it."""
    return database.url.render_as_string(hide_password=False)


@contextmanager
def application(database: Database, **settings: Any) -> Generator[Horae]:
    """A Horae on the database, closed in the end."""
    with closing(Horae(url_of(database), **settings)) as horae:
        yield horae


def declare_as(horae: Horae, declared: Horae) -> None:
    """Let an application know the job types and queues that another one declares."""
    for job_type in declared.registry:
        horae.registry.add(job_type)
    for queue in declared.registry.queues.values():
        horae.registry.add_queue(queue)


def limit_jobs(horae: Horae, **limits: Any) -> None:
    """Give the client for jobs other limits than the usual ones."""
    made = horae.components
    inline = InlineNode(made)
    vars(horae.opened)["jobs"] = Jobs(
        made.database,
        made.registry,
        made.live,
        made.wakeup,
        keep=horae.settings.keep,
        inline=lambda: inline,
        limits=JobLimits(**limits),
    )


@contextmanager
def own_engine(database: Database) -> Generator[Engine]:
    """The application's own engine on the same database, made as applications do."""
    behind_pooler: dict[str, Any] = {"connect_args": {"prepare_threshold": None}}
    engine = create_engine(database.url, **(behind_pooler if database.pooled else {}))
    try:
        yield engine
    finally:
        engine.dispose()


def claim_as_another_node(
    horae: Horae, limit: int = 100, queues: Sequence[str] | None = None
) -> list[Claim]:
    """Claim the due jobs, as a node that knows every type."""
    scope = ClaimScope(node=ELSEWHERE, types=tuple(horae.registry.by_name), queues=queues)
    return horae.components.database.autocommit(claims.claim, scope, limit)


def rows(horae: Horae, statement: str, **values: Any) -> list[Any]:
    """Query the database without Horae's code."""
    return horae.components.database.autocommit(
        lambda connection: list(connection.execute(text(statement), values))
    )


def execute(horae: Horae, statement: str, **values: Any) -> None:
    """Change the database without Horae's code."""
    with horae.components.database.engine.begin() as connection:
        connection.execute(text(statement), values)


def spoil(horae: Horae, table: str, change: str, where: str) -> None:
    """As a tool would that knows nothing of the CHECKs."""
    database = horae.components.database
    with database.own_connection() as connection:
        if database.dialect == SQLITE:
            connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
        else:
            connection.exec_driver_sql(
                f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {table}_readable"
            )
        connection.exec_driver_sql(f"UPDATE {table} SET {change} WHERE {where}")


def attempt_of(job: JobContext[Any]) -> Attempt:
    """What the node knows of the attempt that a body sees."""
    return job._attempt  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def attempts_of(horae: Horae, job_id: int) -> list[str]:
    """Return the outcomes of all attempts, oldest first."""
    return [attempt.outcome.value for attempt in horae.jobs.attempts(job_id)]


def live_rows(horae: Horae, job_ids: Sequence[int]) -> int:
    """Return how many reports and requests the live store has for these jobs."""
    ids = [JobId(job_id) for job_id in job_ids]
    return len(horae.components.live.read(ids)) + len(horae.components.live.cancel_requests(ids))


@contextmanager
def counted_statements(horae: Horae) -> Generator[Record[str]]:
    """Collect the statements that this application sends to its database inside the block."""
    seen = Record[str]()

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    engines = (horae.components.database.engine, horae.components.database.autocommit_engine)
    for engine in engines:
        event.listen(engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        for engine in engines:
            event.remove(engine, "before_cursor_execute", note)


class ReceivedHints:
    """Records every hint that this process sends or receives."""

    def __init__(self, horae: Horae) -> None:
        self.hints = Record[Hint]()
        self.end = horae.components.wakeup.subscribe(self.hints.append)

    def kinds(self) -> list[str]:
        return [hint.kind.value for hint in self.hints]
