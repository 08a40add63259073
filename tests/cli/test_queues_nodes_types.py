"""`horae queues`, `horae nodes` and `horae types`."""

import json
import socket
from contextlib import closing
from dataclasses import replace
from queue import Queue

import pytest
from sqlalchemy import text

from horae import Backoff, Horae, Limit, Unique
from horae.cli.commands import nodes as nodes_command
from horae.cli.commands import types
from horae.client.operations.queues import Queues
from horae.runtime.components import NodeOptions
from horae.runtime.liveness.node_record import record_of
from horae.runtime.node.node_status import look
from horae.storage.engine.database import Database
from horae.storage.jobs import claims
from horae.storage.jobs.claims import ClaimScope
from horae.storage.nodes import nodes
from horae.types.registry import Registry
from horae.wakeup.channel import Hint, HintKind
from horae.wakeup.silent import SilentChannel
from tests.cli.conftest import SHOP, Call, call, called, node_of, values


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


QUEUE_FIELDS = {
    "name",
    "paused_at",
    "note",
    "concurrency_limit",
    "backend",
    "pending",
    "due",
    "started",
    "oldest_due",
}
NODE_FIELDS = {
    "id",
    "name",
    "host",
    "pid",
    "version",
    "roles",
    "queues",
    "types",
    "concurrency",
    "slots_used",
    "running",
    "started_at",
    "heartbeat_at",
    "heartbeat_age",
    "lock",
    "alive",
    "cause_of_death",
}
TYPE_FIELDS = {
    "batch",
    "within",
    "name",
    "description",
    "declared_in",
    "queue",
    "priority",
    "max_count",
    "max_attempts",
    "soft_time_limit",
    "grace",
    "pending_timeout",
    "expires",
    "keep",
    "unique",
    "debounce",
    "isolation",
    "public",
    "is_async",
    "parameters",
    "limits",
    "tags",
    "on_shutdown",
}
HALF_AN_HOUR = 1800.0
AT_ONCE = json.dumps(Backoff(base="0s").to_json())


def test_queues(horae: Call, bare: Call) -> None:
    assert values(bare("queues", "list", "--json")) == {"queues": []}
    horae("jobs", "start", "import_csv", "path=a", "--queue", "slow")
    assert (
        bare("queues", "pause", "slow", "--note", "the disk is full").stdout
        == "queue 'slow' is paused\n"
    )
    (queue,) = values(bare("queues", "list", "--json"))["queues"]
    assert set(queue) >= QUEUE_FIELDS
    assert (queue["name"], queue["note"], queue["pending"]) == ("slow", "the disk is full", 1)
    assert queue["paused_at"] is not None
    assert bare("queues", "list").stdout.splitlines()[1].split()[:4] == ["slow", "paused", "1", "0"]
    assert bare("queues", "resume", "slow").stdout == "queue 'slow' is open\n"
    assert values(bare("queues", "list", "--json"))["queues"][0]["paused_at"] is None
    assert values(bare("queues", "pause", "slow", "--json")) == {"name": "slow", "paused": True}
    assert values(bare("queues", "resume", "slow", "--json")) == {"name": "slow", "paused": False}


def test_the_backend_of_a_queue(bare: Call) -> None:
    assert bare("queues", "backend", "reports", "celery:slow").stdout == (
        "the jobs of queue 'reports' are run by celery:slow\n"
    )
    (queue,) = values(bare("queues", "list", "--json"))["queues"]
    assert (queue["name"], queue["backend"]) == ("reports", "celery:slow")
    assert bare("queues", "list").stdout.splitlines()[1].split() == [
        "reports",
        "open",
        "0",
        "0",
        "celery:slow",
    ]
    for change in (("fair", "reports", "--by", "owner"), ("limit", "reports", "--rate", "1/s")):
        refused = bare("queues", *change)
        assert refused.exit_code == 2
        assert (
            "the backend of this queue is 'celery:slow'; limit its concurrency instead"
            in refused.stderr
        )


async def test_the_depth_of_queues(url: str) -> None:
    shop = ("--app", "tests.cli.shop:horae", "--database", url)
    for queue in ("mail", "mail", "export"):
        assert call("jobs", "start", "import_csv", "path=a", "--queue", queue, *shop).exit_code == 0
    found = values(call("queues", "depth", "--json", "--database", url))
    assert [
        (each["name"], each["due"], each["work_seconds"], each["slots"]) for each in found["queues"]
    ] == [
        ("export", 1, 1.0, 0),
        ("mail", 2, 2.0, 0),
    ]
    assert (found["total"]["due"], found["total"]["seconds_ahead"]) == (3, None)
    [mail, unknown] = values(
        call("queues", "depth", "mail", "unknown", "--json", "--database", url)
    )["queues"]
    assert (mail["due"], unknown["due"], unknown["seconds_ahead"]) == (2, 0, 0.0)
    shown = call("queues", "depth", "--database", url).stdout
    assert "no node serves it" in shown
    assert shown.splitlines()[-1].startswith("total")


def test_limits_of_queues(horae: Call, bare: Call) -> None:
    horae("jobs", "start", "import_csv", "path=a", "--queue", "slow")
    assert bare("queues", "limit", "slow", "3").stdout == "queue 'slow' runs at most 3 at a time\n"
    assert values(bare("queues", "list", "--json"))["queues"][0]["concurrency_limit"] == 3
    assert bare("queues", "list").stdout.splitlines()[1].split()[:5] == [
        "slow",
        "open",
        "1",
        "0",
        "3",
    ]
    assert values(bare("queues", "limit", "slow", "4", "--json")) == {
        "name": "slow",
        "concurrency_limit": 4,
    }
    assert bare("queues", "limit", "slow", "none").stdout == "queue 'slow' has no limit\n"
    assert values(bare("queues", "limit", "slow", "none", "--json")) == {
        "name": "slow",
        "concurrency_limit": None,
    }
    assert values(bare("queues", "list", "--json"))["queues"][0]["concurrency_limit"] is None


@pytest.mark.parametrize("number", ["0", "many", "", "1.5", "²", "2147483648", "9" * 5000])
def test_invalid_limits_are_refused(bare: Call, number: str) -> None:
    refused = bare("queues", "limit", "slow", number)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "expected" in refused.stderr
    assert values(bare("queues", "list", "--json")) == {"queues": []}


def test_invalid_queue_names_are_refused(bare: Call) -> None:
    assert bare("queues", "pause", "").exit_code == 2
    assert bare("queues", "resume", "").exit_code == 2


def test_resuming_a_queue_that_is_not_paused_changes_nothing(bare: Call) -> None:
    assert bare("queues", "pause", "slow").exit_code == 0
    assert bare("queues", "resume", "slow").stderr == ""
    for name in ("slow", "slwo"):
        never = bare("queues", "resume", name)
        assert (never.exit_code, never.stdout) == (0, f"queue '{name}' is open\n")
        assert never.stderr == f"queue '{name}' was not paused\n"


async def test_a_paused_queue_holds_its_jobs_until_it_is_resumed(url: str) -> None:
    async with node_of(url):
        await called(url, "queues", "pause", "default")
        await called(url, "jobs", "start", "import_csv", "path=a")
        held = await called(url, "jobs", "wait", "1", "--timeout", "0.3")
        await called(url, "queues", "resume", "default")
        done = await called(url, "jobs", "wait", "1")
    assert (held.exit_code, done.stdout) == (1, "10\n")


async def test_nodes(url: str) -> None:
    none = call("nodes", "list", "--database", url)
    assert none.stdout == "No node is running. Start one: horae run module:attribute\n"
    async with node_of(url, name="left hand", concurrency=3, queues=("a", "b")):
        (node,) = values(await called(url, "nodes", "list", "--json"))["nodes"]
        row = (await called(url, "nodes", "list")).stdout.splitlines()[1]
    assert set(node) == NODE_FIELDS
    expected = {"name": "left hand", "queues": ["a", "b"], "concurrency": 3, "running": 0}
    assert {name: node[name] for name in expected} == expected
    assert (node["alive"], node["cause_of_death"]) == (True, None)
    assert "import_csv" in node["types"]
    assert "worker" in node["roles"]
    assert "left hand" in row
    assert "a, b" in row
    assert "0/3" in row
    assert "alive" in row


def test_a_dead_node_and_why(database: Database, bare: Call) -> None:
    record = record_of(Registry(), NodeOptions(name="lost"))
    host = record.host.rpartition("#")[0]
    database.transact(nodes.register, replace(record, host=f"{host}#born in another life"))
    (node,) = values(bare("nodes", "list", "--json"))["nodes"]
    assert (node["alive"], node["cause_of_death"]) == (False, "its process is gone")
    row = bare("nodes", "list").stdout.splitlines()[1]
    assert row.split()[1] == "lost"
    assert row.rstrip().endswith("dead   its process is gone")


async def test_a_recently_dead_node_is_listed_with_its_jobs(url: str, database: Database) -> None:
    lost = replace(record_of(Registry(), NodeOptions(name="lost")), host="elsewhere/boot#1", pid=77)
    database.transact(nodes.register, lost)
    await called(url, "jobs", "start", "import_csv", "path=a")
    database.transact(claims.claim, ClaimScope(node=lost.id, types=("import_csv",), queues=None), 1)
    with database.engine.begin() as connection:
        connection.execute(
            text("UPDATE horae_jobs SET max_attempts = 2, backoff = :backoff"), {"backoff": AT_ONCE}
        )
        connection.execute(text("UPDATE horae_nodes SET process_ended = true"))
    async with node_of(url, name="next"):
        await called(url, "jobs", "wait", "1")
        listed = values(await called(url, "nodes", "list", "--json"))
        printed = (await called(url, "nodes", "list")).stdout
    assert [node["name"] for node in listed["nodes"]] == ["next"]
    (dead,) = listed["died"]
    assert dead.pop("died_at") is not None
    assert dead == {
        "id": lost.id,
        "name": "lost",
        "host": "elsewhere",
        "pid": 77,
        "jobs": {"pending": 1},
    }
    assert printed.splitlines()[-1].split()[:4] == [lost.id, "lost", "elsewhere", "77"]
    assert printed.rstrip().endswith("1 retried")


def test_a_lock_is_held_free_or_unknown(database: Database) -> None:
    database.transact(nodes.register, record_of(Registry(), NodeOptions()))
    (seen,) = look(database)
    words = {True: "free", False: "held", None: None}
    for free, word in words.items():
        assert nodes_command.lock_of(replace(seen, view=replace(seen.view, lock_free=free))) == word


def test_types() -> None:
    listed = values(call("types", "list", "--json", "--app", SHOP))["types"]
    assert [kind["name"] for kind in listed] == [
        "import_csv",
        "refuse",
        "within_transaction",
        "speak",
        "wait_for_ever",
    ]
    assert all(set(kind) == TYPE_FIELDS for kind in listed)
    kind = values(call("types", "show", "import_csv", "--json", "--app", SHOP))
    assert kind == listed[0]
    assert (kind["description"], kind["max_count"]) == ("Import people.\n\nFrom a file.", 2)
    assert (kind["soft_time_limit"], kind["declared_in"]) == (
        HALF_AN_HOUR,
        "tests.cli.shop.import_csv",
    )
    assert kind["parameters"]["required"] == ["path"]


def test_limits_and_rules_of_a_type_are_shown() -> None:
    shop = Horae()

    @shop.job(
        limits=[Limit(rate="10/s", key="{n}")],
        tags=["b", "a"],
        unique=Unique(by=("n",), within="1h"),
    )
    def sell(n: int) -> None: ...

    found = types.as_values(shop.registry.get("sell"))
    assert found["limits"] == [
        {"name": "sell.rate.n", "allows": "10 per second, burst 10", "key": "{n}"}
    ]
    assert found["tags"] == ["a", "b"]
    assert types.text_of("limits", found["limits"]) == "10 per second, burst 10 by {n}"
    assert types.text_of("tags", found["tags"]) == "a b"
    assert types.text_of("unique", found["unique"]) == (
        "by n, within 1h, states finished pending started, on duplicate refuse"
    )


def test_types_for_people() -> None:
    lines = call("types", "list", "--app", SHOP).stdout.splitlines()
    assert lines[1].split() == [
        "import_csv",
        "default",
        "path,",
        "limit",
        "2",
        "1",
        "30m",
        "Import",
        "people.",
    ]
    shown = call("types", "show", "import_csv", "--app", SHOP).stdout
    assert [line.split() for line in shown.splitlines()[-2:]] == [
        ["path", "string", "required"],
        ["limit", "integer", "10"],
    ]
    assert "It has no parameters." in call("types", "show", "wait_for_ever", "--app", SHOP).stdout
    unknown = call("types", "show", "nothing", "--app", SHOP)
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "unknown job type 'nothing' (known: import_csv" in unknown.stderr


def test_nodes_are_notified_of_a_resumed_queue(database: Database) -> None:
    heard: Queue[Hint] = Queue()
    with closing(SilentChannel()) as channel:
        end = channel.subscribe(heard.put)
        verbs = Queues(database, channel)
        verbs.pause("slow")
        verbs.resume("slow")
        assert heard.get(timeout=10).kind is HintKind.WORK
        end()
    assert heard.empty()


def test_changes_by_command_are_the_users_and_those_of_programs_theirs(
    horae: Call, bare: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "ada")
    assert bare("changes").stdout == "No changes are recorded.\n"
    bare("queues", "pause", "slow", "--note", "the disk is full")
    horae("schedules", "add", "import_csv", "--every", "1h", "--config", "path=a")
    (newest, oldest) = values(bare("changes", "--json"))["changes"]
    assert set(newest) == {
        "id",
        "at",
        "actor",
        "channel",
        "action",
        "target",
        "before",
        "after",
        "outcome",
        "note",
    }
    assert (oldest["actor"], oldest["channel"]) == (f"ada@{socket.gethostname()}", "cli")
    assert (oldest["action"], oldest["target"], oldest["outcome"]) == (
        "queue.pause",
        "slow",
        "done",
    )
    assert (oldest["before"]["paused"], oldest["after"]["paused"]) == (False, True)
    assert (newest["action"], newest["target"], newest["before"]) == (
        "schedule.add",
        "import_csv",
        None,
    )
    assert values(bare("changes", "--actor", "nobody", "--json")) == {"changes": []}
    assert "queue.pause" in bare("changes").stdout


def test_a_user_id_without_a_name_is_shown_as_a_number(
    bare: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless() -> str:
        raise OSError("no user name was found")

    monkeypatch.setattr("getpass.getuser", nameless)
    bare("queues", "pause", "slow")
    assert values(bare("changes", "--json"))["changes"][0]["actor"].startswith("user ")


def test_everything_is_paused_without_the_application_if_that_cannot_be_loaded(url: str) -> None:
    broken: dict[str, str | None] = {
        "HORAE_APP": "no_such_module:horae",
        "HORAE_DATABASE": url,
    }
    refused = call("pause", "--all", env=broken)
    assert refused.exit_code == 2
    assert "with --database this command does without the application" in refused.stderr
    paused = call("--database", url, "pause", "--all", env=broken)
    assert paused.exit_code == 0
    assert paused.stderr.startswith("Warning: module 'no_such_module' was not found")
    assert call("--database", url, "resume", "--all", env=broken).exit_code == 0


def test_everything_is_paused_and_resumed(horae: Call, bare: Call) -> None:
    horae("jobs", "start", "import_csv", "path=a", "--queue", "slow")
    bare("queues", "pause", "slow")
    assert bare("pause").exit_code == 2
    assert "horae pause --all" in bare("pause").stderr
    assert bare("pause", "--all", "--note", "moving house").stdout == (
        "everything is paused: no job starts, and no schedule fires\n"
    )
    assert bare("resume", "--all").stdout == (
        "everything is resumed; these queues stay paused: slow\n"
    )
    again = bare("resume", "--all", "--json")
    assert json.loads(again.stdout) == {"paused": False}
    assert again.stderr == "nothing was paused by `horae pause --all`\n"
