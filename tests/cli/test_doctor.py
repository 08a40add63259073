"""`horae doctor`: what it finds on a whole database, and what each finding says."""

import asyncio
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url, text

from horae import Horae, JobContext
from horae.client.doctor import basics, file, server, work
from horae.client.doctor.beside import check_redis
from horae.client.doctor.finding import GIGABYTE, Finding, Level
from horae.domain.cluster import INLINE
from horae.domain.jobs.job import NodeId
from horae.errors import DatabaseBusy
from horae.redis_access.access import RedisAccess
from horae.runtime.components import NodeOptions
from horae.runtime.liveness.node_record import record_of
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import SQLITE
from horae.storage.migrations.runner import MigrationStatus
from horae.storage.nodes import nodes
from horae.storage.nodes.nodes import NodeView
from horae.storage.operations.doctor import (
    DueWork,
    OpenTransaction,
    RowEstimate,
    Server,
    find_started,
    write_nothing,
)
from horae.types.registry import Registry
from horae.wakeup.silent import SilentChannel
from tests.cli.conftest import Call, call, called, node_of, values
from tests.harness.applications import execute
from tests.harness.clocks import ProcessControl, obeying
from tests.harness.nodes import running_node, until_set
from tests.harness.postgres import PostgresServer
from tests.harness.redis import RedisServer

NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)
SERVER = Server(
    version="17.2",
    recovering=False,
    read_only=False,
    encoding="UTF8",
    isolation="read committed",
    synchronous_commit="on",
    fsync="on",
    connections=10,
    max_connections=100,
    sees_all=True,
)
NODE = NodeView(
    id=NodeId("n1"),
    name="left",
    host="h",
    pid=7,
    version="1",
    roles=["worker"],
    queues=None,
    types=["a"],
    concurrency=10,
    lock_key=1,
    started_at=NOON,
    heartbeat_at=NOON,
    process_ended=False,
    silence=0.1,
    lock_free=False,
    running=2,
)
WORK = DueWork(queue="default", type="a", count=3, oldest=61.0)


def levels(findings: Iterable[Finding]) -> dict[str, Level]:
    return {finding.check: finding.level for finding in findings}


async def test_a_sound_installation(url: str, database: Database) -> None:
    async with node_of(url):
        found = values(await called(url, "doctor", "--json"))
        text = await called(url, "doctor")
    assert set(found) == {"ok", "database", "findings"}
    assert found["ok"] is True
    assert all(
        set(finding)
        == {"check", "level", "message", "advice", "kind", "since", "about", "counted", "deeds"}
        for finding in found["findings"]
    )
    checks = {finding["check"]: finding["level"] for finding in found["findings"]}
    common = {"connection", "migrations", "clock", "hints", "nodes", "work"}
    own = (
        {"journal", "write lock", "disk", "WAL"}
        if database.dialect == SQLITE
        else {"server", "isolation", "durability"}
    )
    assert common | own <= set(checks)
    assert {checks[check] for check in common} == {"ok"}
    assert "ok       connection: connects in " in text.stdout
    assert text.exit_code == 0


@pytest.mark.parametrize("table", ["horae_alembic_version", "horae_queues"])
def test_a_table_that_the_database_refuses_to_read_is_a_finding(
    database: Database, bare: Call, table: str
) -> None:
    """As for a role without privileges; the advice must not be to run the doctor."""
    columns = "version_num" if table == "horae_alembic_version" else "name"
    with database.engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE {table} RENAME COLUMN {columns} TO gone"))
    examined = bare("doctor")
    assert (examined.exit_code, examined.stderr) == (1, "")
    assert "problem  tables: cannot be read: " in examined.stdout
    advice = "PRAGMA integrity_check" if database.dialect == SQLITE else "horae grants"
    assert advice in examined.stdout


def test_newer_tables_that_this_program_can_use_are_examined(
    database: Database, bare: Call
) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE horae_alembic_version SET version_num = '9999'"))
    found = values(bare("doctor", "--json"))["findings"]
    checks = {finding["check"]: finding["level"] for finding in found}
    assert (checks["migrations"], checks["nodes"], checks["work"]) == ("warning", "ok", "ok")


def test_due_jobs_without_a_running_node_are_reported(horae: Call, bare: Call) -> None:
    horae("jobs", "start", "import_csv", "path=a")
    sick = bare("doctor")
    assert sick.exit_code == 1
    assert "problem  work: 1 due job of type 'import_csv' in queue 'default'" in sick.stdout
    assert "no node runs" in sick.stdout
    assert "→ Start one: `horae run module:attribute`." in sick.stdout
    bare("queues", "pause", "default", "--note", "holiday")
    held = bare("doctor")
    assert held.exit_code == 0
    assert "(holiday); 1 job waits" in held.stdout


async def test_a_type_unknown_to_all_nodes_is_reported(url: str) -> None:
    async with node_of(url, queues=("other",)):
        await called(url, "jobs", "start", "import_csv", "path=a")
        sick = await called(url, "doctor")
    assert sick.exit_code == 1
    assert "no live node that knows the type serves this queue" in sick.stdout


def test_an_unavailable_database_is_reported() -> None:
    away = call("doctor", "--json", "--database", "postgresql://me:secret@127.0.0.1:1/none")
    assert away.exit_code == 1
    assert '"level":"problem"' in away.stdout
    assert "the database does not answer" in away.stdout
    assert "secret" not in away.stdout + away.stderr


def test_a_file_that_is_not_there_is_not_created(tmp_path: Path) -> None:
    missing = call("doctor", "--database", f"sqlite:///{tmp_path}/none.db")
    assert missing.exit_code == 0
    assert f"warning  connection: there is no file {tmp_path}/none.db" in missing.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    missing = call("doctor", "--database", f"sqlite:///{tmp_path}/none/shop.db")
    assert missing.exit_code == 1
    assert f"problem  connection: there is no folder {tmp_path}/none\n" in missing.stdout


def test_tables_that_are_missing(database_url: str) -> None:
    if database_url.startswith(SQLITE):
        with closing(sqlite3.connect(database_url.removeprefix("sqlite:///"))) as connection:
            connection.execute("CREATE TABLE people (name)")
    sick = call("doctor", "--database", database_url)
    level, code = ("warning", 0) if database_url.startswith(SQLITE) else ("problem", 1)
    assert sick.exit_code == code
    assert f"{level:<8} migrations: revision " in sick.stdout
    assert "`horae migrate up`" in sick.stdout


HOLDER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_program_that_holds_the_write_lock_is_named_and_no_job(copy: Path) -> None:
    """Though a job is there that might hold it."""
    url = f"sqlite:///{copy}"
    with closing(Horae(url)) as horae:
        execute(
            horae,
            "INSERT INTO horae_jobs (type, queue, priority, state, node_id, run_at, created_at, updated_at, started_at)"
            " VALUES ('innocent', 'default', 0, 'started', 'n', 0, 0, 0, 0)",
        )
    command = [sys.executable, "-c", HOLDER, str(copy)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with closing(Database(url, busy_timeout=0)) as database:
            found = file.examine_lock(database, Registry(), 0.01)
            with pytest.raises(DatabaseBusy, match=str(holder.pid)):
                database.transact(write_nothing)
        holder.communicate()
    assert found.level is Level.PROBLEM
    held = "which is not a node, has held the write lock for longer than 0.01 s"
    assert re.match(rf"process {holder.pid} \(python\S*\), {held}", found.message)
    assert "innocent" not in found.message
    assert "ok       write lock" in call("doctor", "--database", url).stdout


@pytest.fixture
def copy(tmp_path: Path, migrated_sqlite: Path) -> Path:
    """A file with all tables."""
    copy = tmp_path / "horae.db"
    copy.write_bytes(migrated_sqlite.read_bytes())
    return copy


def test_a_user_who_cannot_write_the_file_is_told_so(copy: Path, tmp_path: Path) -> None:
    control = ProcessControl(tmp_path / "control")
    with obeying(control.file), control.during(refuse_writes=True):
        told = call("doctor", "--database", f"sqlite:///{copy}")
    assert told.exit_code == 1
    refused = "this user cannot write the file: attempt to write a readonly database"
    assert f"problem  write lock: {refused}" in told.stdout


async def test_a_node_that_holds_the_write_lock_is_named_with_its_job(copy: Path) -> None:
    begun, release = threading.Event(), threading.Event()
    with closing(Horae(f"sqlite:///{copy}")) as horae:

        @horae.job(transaction="read committed")
        def holds(job: JobContext) -> None:
            job.connection.execute(text("UPDATE horae_queues SET note = 'x'"))
            begun.set()
            release.wait(20)

        async with running_node(horae) as node:
            job = await horae.aio.jobs.start(holds)
            await until_set(begun)
            found = await asyncio.to_thread(
                file.examine_lock,
                horae.components.database,
                horae.registry,
                0.01,
            )
            release.set()
    assert found.level is Level.WARNING
    assert f"process {os.getpid()} (" in found.message
    assert f"of node {node.id} has held" in found.message
    assert f"it runs in a transaction: job {job.id} (holds)" in found.message


def test_without_lock_information_no_holder_is_named(database: Database) -> None:
    found = file.lock_finding(None, [], database.autocommit(find_started), Registry())
    assert found.message.startswith("a process has held the write lock for longer than")


@pytest.mark.postgres
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_long_transaction_is_named_without_its_query(database: Database) -> None:
    plain = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, application_name="report") as connection:
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.execute("SELECT 'a secret' FROM horae_jobs")
        examined = list(server.examine_server(database, 0.0))
        pid = connection.info.backend_pid
    [found] = [finding for finding in examined if finding.check == "transactions"]
    assert found.level is Level.WARNING
    assert f"pid {pid} (report, idle in transaction) has a transaction open for" in found.message
    assert f"pg_terminate_backend({pid})" in (found.advice or "")
    assert "a secret" not in repr(examined)


def test_a_dead_node(database: Database, bare: Call) -> None:
    record = record_of(Registry(), NodeOptions(name="lost"))
    of_another_life = record.host.rpartition("#")[0] + "#earlier"
    ended = record_of(Registry(), NodeOptions(name="script"), role=INLINE)
    database.transact(nodes.register, replace(ended, host=of_another_life))
    assert "is dead" not in bare("doctor").stdout  # a program that ran a job of its own
    database.transact(nodes.register, replace(record, host=of_another_life))
    found = bare("doctor")
    assert found.exit_code == 0
    assert (
        f"warning  nodes: node {record.id} (lost, pid {record.pid}) is dead: its process is gone"
        in found.stdout
    )


@pytest.mark.parametrize(
    ("ahead", "level", "words"),
    [
        (0.4, Level.OK, "agree"),
        (-0.9, Level.OK, "agree"),
        (90.0, Level.WARNING, "90.0 s behind"),
        (-2.5, Level.WARNING, "2.5 s ahead of"),
    ],
)
def test_clocks(ahead: float, level: Level, words: str) -> None:
    found = basics.clock_finding(ahead)
    assert found.level is level
    assert words in found.message


@pytest.mark.parametrize(
    ("status", "owned", "level"),
    [
        (MigrationStatus("0001", "0001", [], ahead=False, usable=True), False, Level.OK),
        (MigrationStatus(None, "0001", ["0001"], ahead=False, usable=False), False, Level.PROBLEM),
        (MigrationStatus(None, "0001", ["0001"], ahead=False, usable=False), True, Level.WARNING),
        (MigrationStatus("0002", "0001", [], ahead=True, usable=False), True, Level.PROBLEM),
        (MigrationStatus("0002", "0001", [], ahead=True, usable=True), True, Level.WARNING),
    ],
)
def test_migrations(status: MigrationStatus, owned: bool, level: Level) -> None:
    assert basics.migrations_finding(status, owned=owned).level is level


@pytest.mark.parametrize(
    ("changed", "check", "level"),
    [
        ({}, "server", Level.OK),
        ({"recovering": True}, "server", Level.PROBLEM),
        ({"read_only": True}, "server", Level.PROBLEM),
        ({}, "encoding", Level.OK),
        ({"encoding": "LATIN1"}, "encoding", Level.PROBLEM),
        ({}, "isolation", Level.OK),
        ({"isolation": "serializable"}, "isolation", Level.WARNING),
        ({}, "durability", Level.OK),
        ({"fsync": "off"}, "durability", Level.WARNING),
        ({"synchronous_commit": "off"}, "durability", Level.WARNING),
        ({}, "connections", Level.OK),
        ({"connections": 81}, "connections", Level.WARNING),
        ({}, "time limits", Level.OK),
        (
            {"time_limits": {"statement_timeout": 30.0, "wal_sender_timeout": 0.1}},
            "time limits",
            Level.OK,
        ),
        ({"time_limits": {"statement_timeout": 0.5}}, "time limits", Level.WARNING),
        (
            {"time_limits": {"idle_in_transaction_session_timeout": 5.0}},
            "time limits",
            Level.WARNING,
        ),
        ({"time_limits": {"idle_session_timeout": 10.0}}, "time limits", Level.WARNING),
    ],
)
def test_the_server(changed: dict[str, Any], check: str, level: Level) -> None:
    assert levels(server.server_findings(replace(SERVER, **changed)))[check] is level


@pytest.mark.postgres
def test_a_role_that_cannot_create_the_tables_is_reported(postgres_server: PostgresServer) -> None:
    url = make_url(postgres_server.create_database())
    with closing(Database(url)) as owner:
        owner.autocommit(
            lambda connection: connection.exec_driver_sql("DROP ROLE IF EXISTS horae_poor")
        )
        owner.autocommit(
            lambda connection: connection.exec_driver_sql("CREATE ROLE horae_poor LOGIN")
        )
    with closing(Database(url.set(username="horae_poor"))) as database:
        [*_, poor] = basics.first_checks(database)
    with closing(
        Database(url.update_query_dict({"options": "-c search_path=nowhere"}))
    ) as database:
        [*_, lost] = basics.first_checks(database)
        database.autocommit(lambda connection: connection.exec_driver_sql("DROP ROLE horae_poor"))
    postgres_server.drop_database(url.render_as_string())
    assert (
        poor.message
        == "role horae_poor may not create tables in schema public, so it cannot migrate"
    )
    assert poor.advice is not None
    assert poor.advice.endswith("or GRANT CREATE ON SCHEMA public TO horae_poor.")
    assert (lost.check, lost.level) == ("schema", Level.PROBLEM)


@pytest.mark.postgres
def test_time_limits_of_the_role_are_found(
    postgres_server: PostgresServer, migrated_postgres: str
) -> None:
    url = postgres_server.create_database(template=migrated_postgres)
    with closing(
        Database(make_url(url).update_query_dict({"options": "-c lock_timeout=20ms"}))
    ) as database:
        [found] = [each for each in server.examine_server(database) if each.check == "time limits"]
    postgres_server.drop_database(url)
    assert found.message.startswith(
        "lock_timeout is 0.02 s for this role: statements that wait longer for a lock"
    )


def test_transactions() -> None:
    found = [OpenTransaction(pid=None, age=90, application="me", state="prepared as x1")]
    (prepared,) = server.transaction_findings(found, sees_all=True)
    assert "COMMIT PREPARED it (x1)" in (prepared.advice or "")
    many = [OpenTransaction(pid=pid, age=90, application="", state="active") for pid in range(8)]
    assert len(list(server.transaction_findings(many, sees_all=True))) == server.SHOWN + 1
    assert levels(server.transaction_findings([], sees_all=True)) == {"transactions": Level.OK}
    assert levels(server.transaction_findings([], sees_all=False)) == {
        "transactions": Level.WARNING
    }


@pytest.mark.parametrize(
    ("live", "dead", "level"),
    [
        (0, 9_000, Level.OK),
        (1_000_000, 300_000, Level.OK),
        (1_000_000, 500_000, Level.WARNING),
        (0, 20_000, Level.WARNING),
    ],
)
def test_dead_rows(live: int, dead: int, level: Level) -> None:
    assert server.tuples_finding(RowEstimate(live=live, dead=dead, vacuumed_at=NOON)).level is level


def test_the_disk_and_the_journal() -> None:
    assert [file.space_finding(free).level for free in (2 * GIGABYTE, GIGABYTE / 2, 1000)] == [
        Level.OK,
        Level.WARNING,
        Level.PROBLEM,
    ]
    assert [file.wal_finding(size).level for size in (0, GIGABYTE)] == [Level.OK, Level.WARNING]
    assert [file.mode_finding(mode).level for mode in ("wal", "delete")] == [
        Level.OK,
        Level.PROBLEM,
    ]


@pytest.mark.parametrize(
    ("alive", "paused", "words"),
    [
        ([NODE], [], None),
        ([], ["default"], None),
        ([], [], "no node runs"),
        ([replace(NODE, roles=["inline"])], [], "no node runs"),
        ([replace(NODE, types=["b"])], [], "no live node knows this type"),
        ([replace(NODE, queues=["b"])], [], "no live node that knows the type serves this queue"),
        ([replace(NODE, queues=["b"]), replace(NODE, queues=["default"])], [], None),
        (
            [replace(NODE, queues=["default"], types=["b"]), replace(NODE, queues=["b"])],
            [],
            "serves this queue",
        ),
    ],
)
def test_work(alive: list[NodeView], paused: list[str], words: str | None) -> None:
    (found,) = work.work_findings([WORK], alive, paused, known=[])
    assert found.level is (Level.OK if words is None else Level.PROBLEM)
    assert words is None or words in found.message


def test_jobs_that_another_system_runs() -> None:
    (found,) = work.node_findings([replace(NODE, roles=["scheduler", "celery"])], [])
    assert (found.level, found.message) == (
        Level.OK,
        "1 node alive, and Celery's workers run the jobs",
    )
    assert list(work.unsent_findings([replace(WORK, oldest=9.0)], [])) == []
    assert list(work.unsent_findings([replace(WORK, oldest=11.0)], [WORK.queue])) == []
    (found,) = work.unsent_findings([replace(WORK, oldest=11.0)], [])
    assert "a backend runs them, and no node has sent it a message" in found.message


@pytest.mark.parametrize(
    ("alive", "running", "level"),
    [([NODE], 2, Level.WARNING), ([], 2, Level.PROBLEM), ([], 0, Level.WARNING)],
)
def test_dead_nodes(alive: list[NodeView], running: int, level: Level) -> None:
    *_, dead = work.node_findings(
        alive, [(replace(NODE, id=NodeId("n2"), running=running), "its process is gone")]
    )
    assert dead.level is level
    assert "node n2 (left, pid 7) is dead: its process is gone" in dead.message


def test_redis_is_checked_and_its_password_not_shown(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = f"sqlite:///{copy}"
    with RedisServer({"requirepass": "sesame"}) as server:
        url = server.url().replace("//", "//:sesame@")
        monkeypatch.setenv("HORAE_REDIS", url)
        sound = call("doctor", "--database", database)
        server.command("REPLICAOF", "127.0.0.1", server.port)
        findings = [
            *check_redis(
                [RedisAccess(url, "p"), RedisAccess(url.replace("sesame", "wrong-sesame"), "p")]
            )
        ]
    gone = call("doctor", "--database", database)
    address = f"redis://:***@127.0.0.1:{server.port}/0"
    assert f"ok       redis: {address} answers in " in sound.stdout
    assert "hints: hints from other processes arrive" in sound.stdout
    assert findings[0].message.startswith(
        f"{address} refuses writes: You can't write against a read only replica"
    )
    assert findings[1].message.startswith(
        f"{address} does not answer: it refuses the user name or the password"
    )
    assert f"warning  redis: {address} does not answer: Error 111 connecting" in gone.stdout
    assert "warning  hints: " in gone.stdout
    assert (sound.exit_code, gone.exit_code) == (0, 0)
    assert "sesame" not in f"{sound.output}{findings}{gone.output}"


def test_hints_that_do_not_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SilentChannel, "listens", True)
    with closing(SilentChannel()) as deaf:
        assert basics.check_hints(deaf, wanted=True, timeout=0.0).level is Level.WARNING
        assert basics.check_hints(deaf, wanted=False).level is Level.OK


def test_waiting_jobs_that_do_not_fit_the_application_are_a_problem(
    horae: Call, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Horae(url)) as before:

        @before.job
        def import_csv(file: str) -> None: ...

        @before.job
        def gone() -> None: ...

        before.jobs.start(import_csv, file="a.csv", delay="1 day")
        before.jobs.start(gone, delay="1 day")
    report = horae("doctor").stdout
    assert "parameters: 1 waiting job of type 'import_csv' does not fit" in report
    assert "path: Field required" in report
    assert "1 waiting job of type 'gone', such as job 2: neither a live node nor" in report
    assert "parameters" not in call("--database", url, "doctor").stdout  # it knows no types
