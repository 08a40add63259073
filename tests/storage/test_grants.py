"""Processes that use the database as roles with few privileges: each can do what it must, and nothing else."""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from typing import Annotated, Final

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from horae import Horae, Limit, Secret
from horae.errors import DatabaseAccessDenied, DuplicateJob, MaxJobCountExceeded
from horae.storage.engine.database import Database
from horae.storage.migrations.grants import Privileges, grants
from tests.cli.conftest import call
from tests.harness.applications import url_of
from tests.harness.nodes import POLLS_QUICKLY, running_node, until, until_state

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.direct,  # the harness connects PgBouncer as the superuser
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]

AsRole = Callable[[Privileges], str]
RESULT: Final = "the secret result"


@pytest.fixture
def owner(database: Database) -> Iterator[psycopg.Connection]:
    """A connection of the owner of the tables."""
    plain = (
        make_url(url_of(database))
        .set(drivername="postgresql")
        .render_as_string(hide_password=False)
    )
    with closing(psycopg.connect(plain, autocommit=True)) as connection:
        yield connection


@pytest.fixture
def as_role(database: Database, owner: psycopg.Connection) -> Iterator[AsRole]:
    """Make a role with the privileges of a kind, and return the URL by which it connects."""
    made: list[sql.Identifier] = []
    owner.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")  # for PostgreSQL 14

    def make(kind: Privileges) -> str:
        name = f"Horae-{kind.value}-{secrets.token_hex(4)}"
        made.append(sql.Identifier(name))
        owner.execute(sql.SQL("CREATE ROLE {} LOGIN").format(made[-1]))
        for _ in range(2):  # it is run again after each migration
            owner.execute(grants(kind, name).encode())
        return make_url(url_of(database)).set(username=name).render_as_string(hide_password=False)

    yield make
    for role in made:
        owner.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(role))
        owner.execute(sql.SQL("DROP ROLE {}").format(role))


def role_of(url: str) -> str:
    name = make_url(url).username
    assert name is not None
    return name


def application(url: str) -> Horae:
    horae = Horae(url)

    @horae.job(max_attempts=2)
    async def report(of: str = "ada") -> str:
        return f"{RESULT} of {of}"

    @horae.job(max_count=1)
    async def export() -> None: ...

    @horae.job(limits=[Limit(concurrency=1, key="{of}")])
    async def send(of: str = "ada") -> None: ...

    @horae.every("1h")
    async def tidy() -> None: ...

    return horae


def is_refused(url: str, *statements: str) -> bool:
    """Return whether the database refuses each of these statements for lack of privileges."""
    refused = 0
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with closing(psycopg.connect(plain, autocommit=True)) as connection:
        for statement in statements:
            try:
                connection.execute(statement.encode())
            except psycopg.errors.InsufficientPrivilege:
                refused += 1
    return refused == len(statements)


TIES: Final = (
    *(
        "id",
        "retry_of",
        "max_runtime",
        "schedule_id",
        "nominal_time",
        "deployment_id",
        "run_reason",
        "group_id",
        "awaited",
    ),
    *(
        "attempt",
        "lease",
        "node_id",
        "lane_id",
        "sent_at",
        "hook_owed",
        "cancelled_by",
        "started_at",
        "tags",
    ),
)
"""Columns that tie a job to others or to what has happened to it."""
DEEP: Final = "[" * 4000 + "]" * 4000
SLOWEST: Final = '{"amount": 1, "period": 31622400000000, "burst": 2147483647}'
FORGED: Final[Sequence[Mapping[str, object]]] = (
    {"priority": -(2**31)},
    {"priority": 2**31 - 1},
    {"updated_at": "9999-12-30"},
    {"type": ""},
    {"params": DEEP},
    {"params": "9" * 5000},
    {"meta": f'{{"a": {DEEP}}}'},
    {"type": "hides", "params": DEEP},
    *(
        {"type": "fails", "max_attempts": 2, "backoff": each}
        for each in (DEEP, "5", "[]", '{"base": 1e308}')
    ),
    *(
        {"limits": each, "waits_for": "limit"}
        for each in (
            DEEP,
            "5",
            '{"limits": 5}',
            '{"limits": [[["x"], {}, {}]]}',
            '{"limits": ["abc"]}',
            *(
                f'{{"weight": {each}, "limits": []}}'
                for each in ("-1", 2**40, "1e400", "[]", "9" * 5000)
            ),
            f'{{"limits": [["{"n" * 300}", "k", {{"concurrency": 1}}]]}}',
            f'{{"limits": [["n", "{"k" * 9000}", {{"concurrency": 1}}]]}}',
            f'{{"weight": 2147483647, "limits": [["slowest", "k", {SLOWEST}]]}}',
        )
    ),
)
"""Values that a role may write which may only start jobs, and that a start would never write."""


def insert(url: str, *rows: Mapping[str, object]) -> None:
    """Insert jobs with these values as the role of this URL, as another program than Horae can."""
    usual: dict[str, object] = {
        "type": "report",
        "queue": "default",
        "priority": 0,
        "state": "pending",
        "max_attempts": 1,
    }
    usual |= dict.fromkeys(("run_at", "created_at", "updated_at"), "now") | {"params": "{}"}
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with closing(psycopg.connect(plain, autocommit=True)) as connection:
        for row in rows:
            values = {**usual, **row}
            names = sql.SQL(", ").join(map(sql.Identifier, values))
            given = sql.SQL(", ").join([sql.Placeholder()] * len(values))
            statement = sql.SQL("INSERT INTO horae_jobs ({}) VALUES ({})").format(names, given)
            connection.execute(statement, list(values.values()))


CHANGES_OF_TABLES: Final = (
    "ALTER TABLE horae_jobs ADD COLUMN more TEXT",
    "DROP TABLE horae_job_logs",
    "CREATE TABLE mine (id INTEGER)",
    "TRUNCATE horae_jobs",
    "UPDATE horae_alembic_version SET version_num = 'base'",
    "DELETE FROM horae_alembic_version",
)


@pytest.fixture
def finished(database: Database) -> Iterator[int]:
    """A job that has finished with a result, of another caller."""
    with closing(application(url_of(database))) as horae:
        job = horae.jobs.start("report", of="somebody", sync=True)
        assert job.result == f"{RESULT} of somebody"
        yield job.id


def test_a_program_may_only_start_jobs(as_role: AsRole, finished: int, database: Database) -> None:
    url = as_role(Privileges.ENQUEUE)
    with closing(application(url)) as horae:
        first = horae.jobs.start("report", of="bob")
        ids = horae.jobs.start_many("report", [{"of": "cy"}, {"of": "di"}])
        later = horae.jobs.start("report", delay=timedelta(hours=1), priority=3, queue="slow")
        keyed = horae.jobs.start("report", unique_key="once", expires="1h")
        with pytest.raises(DuplicateJob):
            horae.jobs.start("report", unique_key="once")
        limited = horae.jobs.start("send", expires="1h").id, horae.jobs.start("send").id
        ids += [*limited, *horae.jobs.start_many("send", [{}])]
        horae.jobs.start("export", owner="bob")
        with pytest.raises(MaxJobCountExceeded):
            horae.jobs.start("export", owner="bob")
        with horae.components.database.engine.begin() as connection:
            within = horae.jobs.start("report", session=connection)
    with closing(application(url_of(database))) as horae:
        states = {
            horae.jobs.get(job_id).state
            for job_id in (first.id, *ids, later.id, keyed.id, within.id)
        }
    assert states == {"pending"}
    assert is_refused(
        url,
        *CHANGES_OF_TABLES,
        f"SELECT result FROM horae_jobs WHERE id = {finished}",
        "SELECT params FROM horae_jobs",
        "SELECT error FROM horae_jobs",
        "SELECT * FROM horae_job_attempts",
        "SELECT * FROM horae_job_logs",
        "SELECT * FROM horae_sessions",
        "SELECT * FROM horae_audit",
        "UPDATE horae_jobs SET state = 'started', node_id = 'mine', lease = lease + 1",
        "UPDATE horae_jobs SET priority = 9",
        "DELETE FROM horae_jobs",
        "INSERT INTO horae_jobs (type, state, result) VALUES ('report', 'finished', '1')",
        *(f"INSERT INTO horae_jobs (type, {column}) VALUES ('report', NULL)" for column in TIES),
        "SELECT id FROM horae_jobs FOR UPDATE",
        "INSERT INTO horae_nodes (id) VALUES ('mine')",
        "INSERT INTO horae_job_tags (tag, job_id) VALUES ('a', 1)",
        "UPDATE horae_jobs SET tags = NULL",
    )


async def test_a_program_that_may_only_start_jobs_orders_no_change_of_others(
    as_role: AsRole, owner: psycopg.Connection, database: Database
) -> None:
    url = as_role(Privileges.ENQUEUE)
    with closing(application(url_of(database))) as horae:
        victim = horae.jobs.start("report", of="ada", owner="ada", delay="1h")
        order = '{"order": {"action": "cancel", "types": ["report"], "by": "root"}}'
        insert(url, {"type": "horae.bulk", "queue": "horae.bulk", "params": order, "owner": "root"})
        with (
            closing(application(url)) as caller,
            pytest.raises(DatabaseAccessDenied, match="lacks the privilege"),
        ):
            caller.jobs.cancel_many(types=["report"])
        assert is_refused(
            url, "INSERT INTO horae_bulk_runs (job_id, lease, reached) VALUES (1, 0, 1)"
        )
        [forged] = horae.jobs.list(types=["horae.bulk"]).jobs
        async with running_node(horae):
            assert "no row in horae_bulk_runs" in str(
                (await until_state(horae, forged.id, "failed")).error
            )
            again = horae.jobs.retry(forged.id)  # by somebody who may
            assert "no row in horae_bulk_runs" in str(
                (await until_state(horae, again.id, "failed")).error
            )
        assert horae.jobs.get(victim.id).state == "pending"
        assert (
            owner.execute("SELECT target FROM horae_audit WHERE action = 'job.cancel'").fetchall()
            == []
        )


async def test_no_values_that_a_starting_program_may_write_keep_other_jobs_from_running(
    as_role: AsRole, database: Database
) -> None:
    url = as_role(Privileges.ENQUEUE)
    insert(url, *FORGED)
    with closing(application(url_of(database))) as horae:

        @horae.job
        def hides(of: Annotated[str, Secret()] = "x") -> None: ...

        @horae.job
        def fails() -> None:
            raise ValueError("of the test")

        genuine = [horae.jobs.start("report").id, horae.jobs.start("send").id]
        async with running_node(horae):
            for job_id in genuine:
                await until_state(horae, job_id, "finished")
            await until(
                lambda: all(job.attempt for job in horae.jobs.list(types=["fails", "hides"]).jobs)
            )
        assert {job.state for job in horae.jobs.list(types=["fails"]).jobs} <= {"pending", "failed"}
        assert all(
            limit.name in {"send.concurrency.of", "slowest"} for limit in horae.limits.list()
        )
        horae.audit()


def test_a_reader_reads_everything_and_writes_nothing(as_role: AsRole, finished: int) -> None:
    url = as_role(Privileges.READ_ONLY)
    for command in (
        ("jobs", "list"),
        ("jobs", "show", str(finished)),
        ("jobs", "logs", str(finished)),
        ("queues", "depth"),
        ("queues", "list"),
        ("nodes", "list"),
        ("schedules", "list"),
        ("changes",),
        ("limits", "list"),
        ("deployments", "list"),
        ("doctor",),
    ):
        done = call(*command, "--database", url, env={"HORAE_HINTS": "false"})
        assert done.exit_code == 0, (command, done.stderr, done.stdout)
    with closing(application(url)) as horae:
        assert horae.jobs.get(finished).result == f"{RESULT} of somebody"
    assert is_refused(
        url,
        *CHANGES_OF_TABLES,
        "UPDATE horae_jobs SET priority = 9",
        "DELETE FROM horae_jobs",
        "INSERT INTO horae_queues (name) VALUES ('mine')",
        "UPDATE horae_queues SET paused_at = now()",
        "INSERT INTO horae_live_cancels (job_id) VALUES (1)",
        "INSERT INTO horae_job_tags (tag, job_id) VALUES ('a', 1)",
        "SELECT id FROM horae_jobs FOR UPDATE",
        "SELECT nextval('horae_jobs_id_seq')",
        "SELECT * FROM horae_sessions",
    )


@pytest.mark.parametrize("kind", [Privileges.WORKER, Privileges.WEB])
async def test_a_node_does_its_work_and_changes_no_table(as_role: AsRole, kind: Privileges) -> None:
    url = as_role(kind)
    with closing(application(url)) as horae:
        async with running_node(horae):
            job = await horae.aio.jobs.start("report")
            assert (await until_state(horae, job.id, "finished")).result == f"{RESULT} of ada"
            await until(
                lambda: any(
                    each.type == "tidy" for each in horae.jobs.list(states=["finished"]).jobs
                )
            )
            horae.queues.pause("slow", "a note")
            horae.queues.limit("slow", 2)
            held = horae.jobs.start("report", queue="slow")
            assert horae.jobs.cancel(held.id).state == "cancelled"
            group = horae.jobs.start_group([("report", {"of": "x"}), ("report", {"of": "y"})])
            await asyncio.to_thread(horae.jobs.wait_for_group, group.id, timeout="20s")
            assert horae.jobs.delete(job.id)
    assert is_refused(url, *CHANGES_OF_TABLES, "UPDATE horae_audit SET actor = 'nobody'")
    assert is_refused(url, "SELECT * FROM horae_sessions") is (kind is Privileges.WORKER)


@pytest.mark.parametrize("kind", [Privileges.READ_ONLY, Privileges.ENQUEUE])
def test_a_role_keeps_nothing_of_its_former_kind(
    as_role: AsRole, owner: psycopg.Connection, kind: Privileges
) -> None:
    url = as_role(Privileges.WEB)
    owner.execute(grants(kind, str(make_url(url).username)).encode())
    assert is_refused(
        url,
        "SELECT nextval('horae_audit_id_seq')",
        "SELECT currval('horae_schedules_id_seq')",
        "DELETE FROM horae_audit",
        "UPDATE horae_jobs SET priority = 9",
        "SELECT * FROM horae_sessions",
    )


def test_a_node_cannot_migrate(as_role: AsRole) -> None:
    done = call("migrate", "down", "base", "--database", as_role(Privileges.WORKER))
    assert done.exit_code != 0
    assert "must be owner of" in done.stderr


@pytest.mark.usefixtures("finished")
def test_a_command_without_its_privileges_says_where_they_are_listed(as_role: AsRole) -> None:
    url = as_role(Privileges.READ_ONLY)
    result = call("--database", url, "queues", "pause", "default")
    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: role {role_of(url)} lacks the privilege INSERT and UPDATE on horae_queues; `horae grants` prints the"
        " privileges that a role needs\n"
    )


REVOKED: Final[Sequence[tuple[str, str, Callable[[Horae], object]]]] = [
    ("INSERT", "INSERT on horae_jobs", lambda horae: horae.jobs.start("report")),
    ("INSERT", "INSERT on horae_jobs", lambda horae: horae.jobs.start_many("report", [{}, {}])),
    ("UPDATE", "UPDATE on horae_jobs", lambda horae: horae.jobs.cancel(1)),
    ("SELECT", "SELECT on horae_jobs", lambda horae: horae.jobs.get(1)),
    ("SELECT", "SELECT on horae_jobs", lambda horae: horae.jobs.start("report")),
    ("DELETE", "DELETE on horae_jobs", lambda horae: horae.jobs.delete(1)),
]


@pytest.mark.parametrize(("revoked", "named", "change"), REVOKED)
@pytest.mark.usefixtures("finished")
def test_a_caller_is_told_which_privilege_its_role_lacks(
    as_role: AsRole,
    owner: psycopg.Connection,
    revoked: str,
    named: str,
    change: Callable[[Horae], object],
) -> None:
    url = as_role(Privileges.WORKER)
    role = role_of(url)
    with closing(application(url)) as horae:
        horae.jobs.start("report", delay="1h")
        owner.execute(f'REVOKE {revoked} ON horae_jobs FROM "{role}"'.encode())
        with pytest.raises(DatabaseAccessDenied, match=f"role {role} lacks the privilege {named};"):
            change(horae)
        assert f"this role lacks {named}:" in call("--database", url, "doctor").stdout
        owner.execute(f'GRANT {revoked} ON horae_jobs TO "{role}"'.encode())
        horae.jobs.start("report")


async def test_a_node_says_which_privilege_its_role_lacks_and_goes_on_when_it_has_it(
    as_role: AsRole, owner: psycopg.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    url = as_role(Privileges.WORKER)
    role = role_of(url)
    with closing(application(url)) as horae:
        async with running_node(horae, timing=POLLS_QUICKLY):
            owner.execute(f'REVOKE UPDATE ON horae_jobs FROM "{role}"'.encode())
            job = await horae.aio.jobs.start("report")
            await until(lambda: "no jobs can be claimed" in caplog.text)
            owner.execute(f'GRANT UPDATE ON horae_jobs TO "{role}"'.encode())
            await until_state(horae, job.id, "finished")
    assert f"claimed: role {role} lacks the privilege UPDATE on horae_jobs" in caplog.text


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Privileges.WORKER, "this role has all that a node needs"),
        (Privileges.READ_ONLY, "this role may only read, and run no node"),
    ],
)
def test_the_doctor_knows_what_a_role_is_for(
    as_role: AsRole, kind: Privileges, message: str
) -> None:
    assert f"ok       privileges: {message}" in call("--database", as_role(kind), "doctor").stdout


def test_every_table_is_named(owner: psycopg.Connection) -> None:
    tables = owner.execute(
        "SELECT tablename FROM pg_tables WHERE tablename LIKE 'horae%'"
    ).fetchall()
    sequences = owner.execute(
        "SELECT sequencename FROM pg_sequences WHERE sequencename LIKE 'horae%'"
    ).fetchall()
    text = grants(Privileges.WEB, "r")
    missing = [name for (name,) in tables if f'REVOKE ALL ON "public"."{name}"' not in text]
    assert missing == []
    assert [
        name for (name,) in sequences if f'USAGE ON SEQUENCE "public"."{name}"' not in text
    ] == []
    assert [
        name for (name,) in sequences if f'REVOKE ALL ON SEQUENCE "public"."{name}"' not in text
    ] == []
    assert (len(tables), len(sequences)) == (
        text.count('REVOKE ALL ON "'),
        text.count("REVOKE ALL ON SEQUENCE"),
    )
