"""`horae jobs`, on both databases: what it prints and changes, and its exit codes."""

import asyncio
import json
from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from typing import cast
from zoneinfo import ZoneInfo

import pytest
from rich.console import Console
from sqlalchemy import select, update

from horae.app import Horae
from horae.cli.commands.jobs import following
from horae.domain.backoff import Backoff
from horae.domain.jobs.job import JobId, JobState
from horae.storage.engine.database import Database
from horae.storage.jobs import reading
from horae.storage.jobs.tables import jobs
from tests.cli.conftest import Call, call, called, node_of, values


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


JOB_FIELDS = {
    "id",
    "type",
    "queue",
    "priority",
    "state",
    "label",
    "progress_percentage",
    "owner",
    "params",
    "result",
    "error",
    "human_readable_error",
    "attempt",
    "max_attempts",
    "lease",
    "node_id",
    "unique_key",
    "run_at",
    "created_at",
    "updated_at",
    "started_at",
    "finished_at",
    "cancelled_by",
    "meta",
    "schedule_id",
    "nominal_time",
    "deployment_id",
    "max_runtime",
    "run_reason",
    "retry_of",
    "retry_reason",
    "waits_for",
    "expires_at",
    "group_id",
    "tags",
    "error_code",
}
ATTEMPT_FIELDS = {
    "job_id",
    "lease",
    "attempt",
    "node_id",
    "started_at",
    "finished_at",
    "outcome",
    "error",
    "traceback",
}


def test_start_prints_the_id_or_the_job(horae: Call) -> None:
    assert horae("jobs", "start", "import_csv", "path=a.csv").stdout == "1\n"
    options = [
        "--owner",
        "ann",
        "--queue",
        "slow",
        "--priority",
        "7",
        "--unique-key",
        "k",
        "--max-attempts",
        "3",
    ]
    job = values(
        horae(
            "jobs",
            "start",
            "import_csv",
            "--params",
            '{"path": "b"}',
            "limit=3",
            *options,
            "--json",
        )
    )
    assert set(job) == JOB_FIELDS
    expected = {
        "owner": "ann",
        "queue": "slow",
        "priority": 7,
        "unique_key": "k",
        "max_attempts": 3,
        "state": "pending",
    }
    assert {name: job[name] for name in expected} == expected
    assert job["params"] == {"path": "b", "limit": 3}


def test_start_names_the_flag_of_an_option(horae: Call) -> None:
    refused = horae("jobs", "start", "import_csv", "path=a", 'tags=["x"]')
    assert (refused.exit_code, refused.stderr) == (
        2,
        "Error: 'tags' is an option of the command, not a parameter; write --tag\n",
    )


def test_start_later(horae: Call) -> None:
    job = values(
        horae("jobs", "start", "import_csv", "path=a", "--run-at", "2040-01-01T00:00Z", "--json")
    )
    assert job["run_at"].startswith("2040-01-01T00:00:00")
    delayed = values(horae("jobs", "start", "import_csv", "path=a", "--delay", "1 day", "--json"))
    assert delayed["run_at"] > delayed["created_at"]


def test_start_with_a_weight(horae: Call) -> None:
    assert horae("jobs", "start", "import_csv", "path=a", "--weight", "3").stdout == "1\n"
    refused = horae("jobs", "start", "import_csv", "path=a", "--weight", str(2**31))
    assert (refused.exit_code, refused.stderr) == (
        2,
        "Error: weight is 2147483648, expected 1 to 2147483647\n",
    )


def test_start_with_a_backoff_and_meta(horae: Call, database: Database) -> None:
    given = (
        "--backoff",
        "base=1m,factor=linear",
        "--meta",
        '{"trace": [1]}',
        "--max-attempts",
        "3",
        "--json",
    )
    job = values(horae("jobs", "start", "import_csv", "path=a", *given))
    stored = database.autocommit(
        lambda connection: connection.execute(select(jobs.c.backoff)).scalar_one()
    )
    assert job["meta"] == {"trace": [1]}
    assert Backoff.from_json(stored) == Backoff(base="1m", factor="linear")
    refused = horae("jobs", "start", "import_csv", "path=a", "--meta", "[1]")
    assert (refused.exit_code, refused.stderr) == (
        2,
        'Error: --meta \'[1]\': expected a JSON object, as in {"path": "people.csv"}\n',
    )


def test_start_here_and_now(horae: Call) -> None:
    done = horae("jobs", "start", "within_transaction", "zip_code=12345", "--sync")
    assert (done.exit_code, done.stdout) == (0, '"12345"\n')
    failed = horae("jobs", "start", "refuse", "reason=rain", "--sync", "--json")
    assert failed.exit_code == 1
    assert json.loads(failed.stdout)["state"] == "failed"
    assert "job 2 failed: Something went wrong" in failed.stderr
    assert "(ValueError: rain)" in failed.stderr


def test_an_attempt_that_is_due_much_later_is_left_to_the_nodes(horae: Call) -> None:
    failed = horae("jobs", "start", "refuse", "--sync", "--max-attempts", "2")
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert "a node will retry it" in failed.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["nothing"],
            2,
            "unknown job type 'nothing' (known: import_csv, refuse, speak, wait_for_ever, within_transaction)",
        ),
        (["import_csv"], 2, "does not accept these parameters: path: Field required"),
        (["import_csv", "path=a", "way=b"], 2, "way: Extra inputs are not permitted"),
        (["import_csv", "path=a", "--delay", "soon"], 2, "interval 'soon'"),
        (
            ["import_csv", "path=a", "--delay", "1s", "--run-at", "2040-01-01"],
            2,
            "exclude each other",
        ),
    ],
)
def test_start_refuses(horae: Call, arguments: list[str], code: int, message: str) -> None:
    refused = horae("jobs", "start", *arguments)
    assert (refused.exit_code, refused.stdout) == (code, "")
    assert message in refused.stderr


def test_a_limit_is_a_failure_and_not_a_wrong_call(horae: Call) -> None:
    for _ in range(2):
        horae("jobs", "start", "import_csv", "path=a", "--owner", "ann")
    refused = horae("jobs", "start", "import_csv", "path=a", "--owner", "ann")
    assert refused.exit_code == 1
    assert "'ann' already has 2 pending or running job(s)" in refused.stderr


def test_commands_that_need_job_types_say_so(bare: Call) -> None:
    for command in (["jobs", "start", "import_csv"], ["jobs", "retry", "1"], ["types", "list"]):
        refused = bare(*command)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "this command needs the job types of an application" in refused.stderr


def test_list_filters_and_pages(horae: Call, bare: Call) -> None:
    for owner in ("ann", "bob", "ann"):
        horae("jobs", "start", "import_csv", "path=a", "--owner", owner, "--queue", f"of-{owner}")
    horae("jobs", "start", "refuse", "--sync")

    def ids(*arguments: str) -> list[int]:
        return [job["id"] for job in values(bare("jobs", "list", "--json", *arguments))["jobs"]]

    assert ids() == [4, 3, 2, 1]
    assert ids("--owner", "ann") == [3, 1]
    assert ids("--queue", "of-bob") == [2]
    assert ids("--type", "refuse", "--type", "import_csv") == [4, 3, 2, 1]
    assert ids("--state", "failed") == ids("--type", "refuse") == [4]
    assert ids("--state", "!failed") == [3, 2, 1]
    assert ids("--state", "pending", "--state", "failed") == [4, 3, 2, 1]
    first = values(bare("jobs", "list", "--json", "--limit", "3"))
    assert (len(first["jobs"]), first["next"]) == (3, "2")
    assert set(first["jobs"][0]) == JOB_FIELDS
    assert ids("--cursor", first["next"]) == [1]


def test_list_for_people(horae: Call, bare: Call, database: Database) -> None:
    assert bare("jobs", "list").stdout == "No matching jobs.\n"
    horae("jobs", "start", "import_csv", "path=a")
    colourful = update(jobs).values(owner="\x1b[31mred")  # as earlier versions let owners be
    database.transact(lambda connection: connection.execute(colourful))
    horae("jobs", "start", "import_csv", "path=a")
    shown = bare("jobs", "list", "--limit", "1")
    assert shown.stdout.splitlines()[0].split() == [
        "ID",
        "TYPE",
        "STATE",
        "PROGRESS",
        "NOTE",
        "OWNER",
        "QUEUE",
        "CREATED",
    ]
    assert shown.stdout.splitlines()[1].split()[:4] == ["2", "import_csv", "pending", "0%"]
    assert shown.stderr == "More jobs: add --cursor 2\n"
    assert "\\x1b[31mred" in bare("jobs", "list").stdout


def test_list_refuses_a_state_that_there_is_not(bare: Call) -> None:
    refused = bare("jobs", "list", "--state", "running", "--json")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "state 'running' is unknown; allowed are pending, started" in refused.stderr


def test_show(horae: Call, bare: Call) -> None:
    horae("jobs", "start", "refuse", "reason=rain", "--owner", "ann", "--sync")
    job = values(bare("jobs", "show", "1", "--json"))
    assert set(job) == JOB_FIELDS | {"attempts", "waiting_reason", "weight"}
    assert (set(job["attempts"][0]), job["attempts"][0]["outcome"]) == (ATTEMPT_FIELDS, "failed")
    text = bare("jobs", "show", "1").stdout
    assert "ValueError: rain" in text
    assert "Traceback (most recent call last):" in text
    for missing in (["7"], ["1", "--owner", "bob"]):
        refused = bare("jobs", "show", *missing, "--json")
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr == f"Error: job {missing[0]} does not exist\n"


def test_cancel_goes_on_after_one_that_refuses(horae: Call, bare: Call, database: Database) -> None:
    horae("jobs", "start", "refuse", "--sync")
    horae("jobs", "start", "import_csv", "path=a")
    result = bare("jobs", "cancel", "1", "2", "--by", "operator")
    assert result.exit_code == 1
    assert result.stderr == "Error: job 1 cannot be cancelled: it has failed\n"
    assert result.stdout == "job 2 (import_csv): cancelled\n"
    job = database.autocommit(reading.get, JobId(2))
    assert job is not None
    assert (job.state, job.cancelled_by) == (JobState.CANCELLED, "operator")
    assert bare("jobs", "cancel", "1", "9").exit_code == 2
    horae("jobs", "start", "import_csv", "path=b")
    cancelled = values(bare("jobs", "cancel", "3", "--json"))
    assert {**cancelled, "attempts": [], "waiting_reason": None, "weight": 1} == values(
        bare("jobs", "show", "3", "--json")
    )
    assert cancelled["state"] == "cancelled"


def test_retry(horae: Call) -> None:
    horae("jobs", "start", "refuse", "reason=rain", "--sync")
    assert horae("jobs", "retry", "1").stdout == "2\n"
    assert values(horae("jobs", "show", "2", "--json"))["params"] == {"reason": "rain"}
    assert horae("jobs", "retry", "2").exit_code == 1
    again = values(horae("jobs", "retry", "1", "--json"))
    assert (set(again), again["id"], again["state"]) == (JOB_FIELDS, 2, "pending")  # once is enough
    horae("jobs", "cancel", "2")
    refused = horae("jobs", "retry", "1")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "job 2 has repeated it and did not finish either; retry that one" in refused.stderr


def test_reschedule(horae: Call) -> None:
    horae("jobs", "start", "import_csv", "path=a", "--delay", "1h", "--owner", "ann")
    assert (
        "job 1 (import_csv): pending, due at 20"
        in horae("jobs", "reschedule", "1", "--delay", "2h").stdout
    )
    moved = values(horae("jobs", "reschedule", "1", "--run-at", "2040-01-01T00:00Z", "--json"))
    assert (set(moved), moved["run_at"]) == (JOB_FIELDS, "2040-01-01T00:00:00Z")
    assert horae("jobs", "reschedule", "1", "--delay", "2h", "--owner", "bob").exit_code == 2
    assert "name the new time" in horae("jobs", "reschedule", "1").stderr
    horae("jobs", "cancel", "1")
    refused = horae("jobs", "reschedule", "1", "--delay", "2h")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "job 1 cannot be rescheduled: it is cancelled, not pending" in refused.stderr


def test_delete_and_clean(horae: Call, bare: Call) -> None:
    for _ in range(3):
        horae("jobs", "start", "refuse", "--sync")
    horae("jobs", "start", "import_csv", "path=a")
    assert horae("jobs", "delete", "1", "1").stdout == "job 1 deleted\n"
    active = bare("jobs", "delete", "4")
    assert (active.exit_code, active.stdout) == (1, "")
    assert "cannot be deleted while it is pending" in active.stderr
    assert values(horae("jobs", "delete", "2", "--json")) == {"deleted": 2}
    assert values(horae("jobs", "clean", "--json")) == {"deleted": 0, "left": {}}
    assert values(bare("jobs", "clean", "--older-than", "0s", "--json")) == {
        "deleted": 0,
        "left": {"refuse": 1},
    }
    left = "0 jobs deleted\n1 of type refuse left for a node that has the type\n"
    assert bare("jobs", "clean", "--older-than", "0s").stdout == left
    assert (
        bare("jobs", "clean", "--older-than", "0s", "--unknown", "refuse").stdout
        == "1 jobs deleted\n"
    )
    assert [job["id"] for job in values(bare("jobs", "list", "--json"))["jobs"]] == [4]


def test_delete_leaves_what_it_does_not_know_to_others(horae: Call, bare: Call) -> None:
    for _ in range(3):
        horae("jobs", "start", "refuse", "--sync")
    left = bare("jobs", "delete", "1", "2")
    assert (left.exit_code, left.stdout) == (0, "")
    said = "2 jobs will be deleted by the next node that has their types; --without-hooks deletes at once\n"
    assert left.stderr == said
    again = bare("jobs", "delete", "1", "--json")
    assert json.loads(again.stdout) == {"waiting": 1}
    assert again.stderr.startswith("1 job will be deleted by the next node that has its type;")
    assert bare("jobs", "delete", "1", "--without-hooks").stdout == "job 1 deleted\n"
    assert [job["id"] for job in values(bare("jobs", "list", "--json"))["jobs"]] == [3, 2]


def test_wait_gives_up(horae: Call, bare: Call) -> None:
    horae("jobs", "start", "import_csv", "path=a")
    result = bare("jobs", "wait", "1", "--timeout", "0.01")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: job 1 has not ended after 0.01 s\n"
    assert bare("jobs", "wait", "9").exit_code == 2


async def test_wait_and_watch_with_a_node(url: str) -> None:
    async with node_of(url):
        started = await called(url, "jobs", "start", "import_csv", "path=a", "limit=5", "--wait")
        assert (started.exit_code, started.stdout) == (0, "5\n")
        waited = await called(url, "jobs", "wait", "1", "--json")
        assert values(waited)["result"] == 5
        await called(url, "jobs", "start", "refuse", "reason=rain")
        failed = await called(url, "jobs", "wait", "2")
        assert (failed.exit_code, failed.stdout) == (1, "")
        assert "job 2 failed" in failed.stderr
        watched = await called(url, "jobs", "watch", "1", "2")
        assert watched.exit_code == 1
        assert watched.stdout == (
            "job 1 (import_csv): finished\n"
            "job 2 (refuse): failed - Something went wrong while this job (refuse) was running.\n"
        )
        lines = (await called(url, "jobs", "watch", "1", "--json")).stdout.splitlines()
        assert [json.loads(line)["state"] for line in lines] == ["finished"]


async def test_a_cancelled_job_is_no_success(url: str) -> None:
    horae = Horae(url)
    async with node_of(url):
        await called(url, "jobs", "start", "wait_for_ever")
        seen = await asyncio.to_thread(lambda: list(cancelled_halfway(horae)))
        watched = await called(url, "jobs", "watch", "1", "--json")
        waited = await called(url, "jobs", "wait", "1")
    await asyncio.to_thread(horae.close)
    assert (JobState.STARTED, 50, "halfway") in seen
    assert seen[-1][0] is JobState.CANCELLED
    assert (watched.exit_code, json.loads(watched.stdout)["state"]) == (1, "cancelled")
    assert (waited.exit_code, waited.stderr) == (1, "Error: job 1 was cancelled\n")


def cancelled_halfway(horae: Horae) -> Iterator[tuple[JobState, int, str | None]]:
    """What `watch` sees of a job that is cancelled as soon as it shows some progress."""
    for job in following.changes_of(horae, [1], None):
        yield job.state, job.progress_percentage, job.label
        if job.progress_percentage == 50:
            horae.jobs.cancel(1)


def test_a_terminal_gets_bars(horae: Call, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(force_terminal=True, width=120, file=StringIO(), color_system=None)
    monkeypatch.setattr(following, "console", lambda: terminal)
    horae("jobs", "start", "import_csv", "path=a", "--sync")
    horae("jobs", "start", "refuse", "--sync")
    watched = call("jobs", "watch", "1", "2", "--database", url)
    assert (watched.exit_code, watched.stdout) == (1, "")
    drawn = cast("StringIO", terminal.file).getvalue()
    assert "job 1 (import_csv): finished" in drawn
    assert "100%" in drawn
    assert "job 2 (refuse): failed" in drawn


def test_start_once(horae: Call) -> None:
    assert (
        horae("jobs", "start", "import_csv", "path=a", "limit=1", "--unique", "path").stdout
        == "1\n"
    )
    refused = horae("jobs", "start", "import_csv", "path=a", "limit=2", "--unique", "path")
    assert refused.exit_code == 1
    assert "job 1 of type 'import_csv' is active and has the same path" in refused.stderr
    assert horae("jobs", "start", "import_csv", "path=a", "limit=2", "--unique", "*").exit_code == 0
    again = ["jobs", "start", "import_csv", "path=a", "--unique", "path", "--on-duplicate"]
    assert horae(*again, "return").stdout == "1\n"
    assert horae(*again, "replace").stdout != "1\n"
    assert values(horae("jobs", "show", "1", "--json"))["state"] == "cancelled"
    assert "expected 'refuse', 'return' or 'replace'" in horae(*again, "skip").stderr
    delayed = ["jobs", "start", "import_csv", "path=b", "--debounce", "1m"]
    assert horae(*delayed).stdout == horae(*delayed).stdout != ""


def test_a_query_narrows_the_list(horae: Call) -> None:
    horae("jobs", "start", "import_csv", "path=a.csv", "--tag", "nightly", "--tag", "eu")
    horae("jobs", "start", "import_csv", "path=b.csv")
    found = [
        values(horae("jobs", "list", "--query", query, "--json"))["jobs"]
        for query in ("tag:eu", "params.path:b.csv")
    ]
    assert [[(job["id"], job["tags"]) for job in jobs] for jobs in found] == [
        [(1, ["nightly", "eu"])],
        [(2, [])],
    ]
    refused = horae("jobs", "list", "--query", "owner:a stat:failed")
    assert refused.exit_code == 2
    first, query, mark = refused.stderr.splitlines()
    assert "query, character 9: params.stat: no job type" in first
    assert "did you mean 'state'?" in first
    assert (query, mark) == ("  owner:a stat:failed", "          ^~~~~~~~~~~")
    oldest = horae("jobs", "list", "--oldest-first", "--limit", "1", "--json")
    assert [job["id"] for job in values(oldest)["jobs"]] == [1]


def test_the_days_of_a_query_are_those_of_the_machine(
    horae: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = values(horae("jobs", "start", "import_csv", "path=a.csv", "--json"))
    west, east = "Pacific/Pago_Pago", "Pacific/Kiritimati"  # the date is never the same in both
    today = datetime.fromisoformat(job["created_at"]).astimezone(ZoneInfo(east)).date()
    for zone, found in ((east, 1), (west, 0)):
        monkeypatch.setenv("TZ", zone)
        listed = values(horae("jobs", "list", "--query", f"created:{today}", "--json"))
        assert len(listed["jobs"]) == found
        cancel = ("jobs", "cancel", "--query", f"created:{today}", "--dry-run", "--json")
        assert values(horae(*cancel))["count"] == found


def test_a_filter_changes_many_jobs_by_one(horae: Call) -> None:
    for path in ("a.csv", "b.csv"):
        horae("jobs", "start", "import_csv", f"path={path}", "--tag", "nightly")
    counted = values(horae("jobs", "cancel", "--query", "tag:nightly", "--dry-run", "--json"))
    assert (counted["count"], counted["complete"], [job["id"] for job in counted["newest"]]) == (
        2,
        True,
        [2, 1],
    )
    assert (
        "2 jobs would be cancelled"
        in horae("jobs", "cancel", "--type", "import_csv", "--dry-run").stdout
    )
    one = horae("jobs", "cancel", "--query", "params.path:a.csv", "--dry-run").stdout
    assert "1 job would be cancelled" in one
    assert horae("jobs", "cancel", "--query", "tag:nightly", "--yes").stdout == "3\n"
    order = values(horae("jobs", "show", "3", "--json"))
    assert (order["type"], order["params"]["order"]["query"]) == ("horae.bulk", "tag:nightly")
    moved = values(horae("jobs", "reschedule", "--all", "--delay", "1h", "--yes", "--json"))
    assert moved["params"]["order"]["action"] == "reschedule"
    assert horae("jobs", "delete", "--state", "failed", "--yes").exit_code == 0
    assert horae("jobs", "retry", "--state", "failed", "--yes").exit_code == 0


def test_a_list_says_how_many_changes_were_refused(horae: Call, database: Database) -> None:
    horae("jobs", "start", "import_csv", "path=a.csv")
    change = int(horae("jobs", "retry", "--all", "--yes").stdout)
    ended = {"state": "finished", "finished_at": jobs.c.created_at, "result": '{"failed": 1200}'}
    with database.engine.begin() as connection:
        connection.execute(update(jobs).where(jobs.c.id == change).values(ended))
    assert "1,200 refused" in horae("jobs", "list", "--state", "finished").stdout
    assert horae("jobs", "wait", str(change)).exit_code == 0


def test_a_change_of_many_jobs_is_confirmed_and_limited(horae: Call) -> None:
    for arguments, reason in (
        (["cancel"], "name the jobs"),
        (["cancel", "1", "--all"], "not by both"),
        (["cancel", "--all"], "add --yes"),
        (["delete", "--query", "foo-x:1", "--yes"], "there is no field 'foo-x'"),
    ):
        refused = horae("jobs", *arguments)
        assert (refused.exit_code, reason in refused.stderr) == (2, True)
