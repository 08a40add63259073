"""`horae schedules`, `horae schema`, `horae deploy`, `horae deployments` and `horae ring`."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from horae.cli.schedule_options import OPTIONS
from horae.client.schedules.schedules import ScheduleKeywords
from horae.domain.cluster.ring import PARTITIONS
from horae.storage.engine.database import Database
from tests.cli.conftest import Call, call, called, node_of, values
from tests.cli.test_documented import PAGE, missing
from tests.harness.nodes import until


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


ROTA = "tests.cli.rota:horae"
MODULE = "tests.cli.rota"
NIGHTLY = ("--name", "nightly", "--cron", "0 3 * * *", "--config", "path=a.csv")
SCHEDULE_FIELDS = {
    "id",
    "name",
    "module",
    "job_type",
    "config",
    "trigger",
    "overlap",
    "catch_up",
    "catch_up_limit",
    "catch_up_window",
    "jitter",
    "max_runtime",
    "max_retries",
    "retry_period",
    "backoff",
    "queue",
    "priority",
    "state",
    "enabled",
    "disabled_reason",
    "pause_note",
    "job_id",
    "started_at",
    "next_start",
    "last_tick",
    "statistics",
    "overrides",
    "exclude",
    "skip_reason",
    "skip_until",
    "moved_start",
    "backfill_next",
    "waiting_reason",
}
RING_FIELDS = {"node", "name", "first", "second", "schedules"}


def one(horae: Call, reference: str = "nightly") -> Any:
    return values(horae("schedules", "show", reference, "--json"))


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.fixture
def nightly(horae: Call) -> Call:
    """An application with one schedule, `nightly`."""
    assert horae("schedules", "add", "import_csv", *NIGHTLY).exit_code == 0
    return horae


class TestAddAndAlter:
    def test_every_option_of_a_schedule_can_be_given(self) -> None:
        assert OPTIONS.keys() == ScheduleKeywords.__annotations__.keys()

    def test_add_takes_every_rule(self, horae: Call) -> None:
        rules = (
            "--timezone",
            "Europe/Berlin",
            "--dst-gap",
            "skip",
            "--dst-fold",
            "both",
            "--overlap",
            "buffer_all",
            "--catch-up",
            "all",
            "--catch-up-limit",
            "7",
            "--catch-up-window",
            "2 days",
            "--jitter",
            "90s",
            "--max-runtime",
            "5m",
            "--max-retries",
            "4",
            "--retry-period",
            "30s",
            "--backoff",
            "linear",
            "--queue",
            "night",
            "--priority",
            "3",
            "--config",
            "limit=3",
        )
        added = values(horae("schedules", "add", "import_csv", *NIGHTLY, *rules, "--json"))
        assert set(added) == SCHEDULE_FIELDS
        text = "0 3 * * *; dst_gap=skip; dst_fold=both"
        assert (
            added
            | {
                "config": {"path": "a.csv", "limit": 3},
                "trigger": {"kind": "cron", "text": text, "timezone": "Europe/Berlin"},
                "overlap": "buffer_all",
                "catch_up": "all",
                "catch_up_limit": 7,
                "catch_up_window": 172_800.0,
                "jitter": 90.0,
                "max_runtime": 300.0,
                "max_retries": 4,
                "retry_period": "30s",
                "backoff": "linear",
                "queue": "night",
                "priority": 3,
                "state": "idle",
                "enabled": True,
                "module": None,
            }
            == added
        )
        assert one(horae) == added | {"upcoming": one(horae)["upcoming"]}

    def test_the_next_start_of_an_interval_can_be_set(self, horae: Call) -> None:
        every = ("--every", "1h", "--config", "path=a", "--name", "hourly", "--json")
        added = values(
            horae(
                "schedules", "add", "import_csv", *every, "--next-start", "2031-01-01T03:00+01:00"
            )
        )
        assert instant(added["next_start"]) == instant("2031-01-01T02:00Z")
        altered = values(
            horae("schedules", "alter", "hourly", "--next-start", "2032-01-01T03:00Z", "--json")
        )
        assert instant(altered["next_start"]) == instant("2032-01-01T03:00Z")

    def test_an_interval_on_a_grid(self, horae: Call) -> None:
        start = ("--every", "1 day", "--fixed", "--initial-start", "2030-01-01T03:00+01:00")
        added = values(horae("schedules", "add", "refuse", *start, "--json"))
        assert instant(added["next_start"]) == datetime(2030, 1, 1, 2, tzinfo=UTC)
        assert added["name"] == "refuse"
        assert [instant(each).day for each in one(horae, "refuse")["upcoming"][:2]] == [1, 2]

    def test_added_disabled_it_waits_for_resume(self, horae: Call) -> None:
        assert horae("schedules", "add", "refuse", "--every", "1h", "--disabled").exit_code == 0
        assert one(horae, "refuse")["next_start"] is None
        assert one(horae, "refuse")["upcoming"] == []
        said = horae("schedules", "resume", "refuse").stdout
        assert said.startswith("schedule 1 (refuse) is enabled; next start: 20")

    def test_the_next_start_is_printed(self, horae: Call) -> None:
        said = horae("schedules", "add", "import_csv", *NIGHTLY).stdout
        assert said.startswith("schedule 1 (nightly) added; next start: 20")
        assert horae("schedules", "show", "nightly").stdout.count(":00:00+00:00") >= 6

    def test_alter_changes_what_is_named_and_nothing_else(self, nightly: Call) -> None:
        before = one(nightly)
        after = values(nightly("schedules", "alter", "nightly", "--priority", "5", "--json"))
        assert {name for name in after if after[name] != before[name]} == {"priority"}
        moved = values(
            nightly(
                "schedules", "alter", "nightly", "--every", "1h", "--config", "path=b", "--json"
            )
        )
        assert (moved["trigger"]["text"], moved["priority"], moved["config"]["path"]) == (
            "1h",
            5,
            "b",
        )
        assert nightly("schedules", "alter", "1", "--no-fixed").stdout.startswith(
            "schedule 1 (nightly) changed"
        )

    def test_the_next_start_is_skipped_moved_and_shown(self, nightly: Call) -> None:
        nightly(
            "schedules",
            "alter",
            "nightly",
            "--exclude",
            "2035-01-02..2035-01-03",
            "--exclude",
            "2035-01-05",
        )
        altered = values(
            nightly("schedules", "alter", "nightly", "--next-start", "2035-01-01T12:00Z", "--json")
        )
        assert instant(altered["moved_start"]) == instant("2035-01-01T12:00Z")
        following = values(nightly("schedules", "next", "nightly", "--count", "3", "--json"))
        assert [instant(start).day for start in following["starts"]] == [1, 4, 6]
        assert [(each["count"], each["reason"]) for each in following["skipped"]][1:] == [
            (2, "excluded"),
            (1, "excluded"),
        ]
        assert "replaced" in nightly("schedules", "next", "nightly").stdout
        undone = values(nightly("schedules", "skip", "nightly", "--undo", "--json"))
        assert (undone["moved_start"], undone["skip_reason"]) == (None, None)
        said = nightly("schedules", "skip", "nightly").stdout
        assert said.startswith("schedule 1 (nightly) skips its next time; next start: 20")
        assert one(nightly)["skip_reason"] == "requested"

    def test_past_times_are_backfilled_once(self, nightly: Call) -> None:
        backfill = (
            "schedules",
            "backfill",
            "nightly",
            "--start",
            "2026-01-01T00:00Z",
            "--end",
            "2026-02-01T00:00Z",
        )
        counted = values(nightly(*backfill, "--dry-run", "--json"))
        assert (counted["times"], counted["added"], counted["excluded"]) == (31, 31, 0)
        assert nightly(*backfill).stdout == "31 of 31 times added; 0 known, 0 more excluded\n"
        assert nightly(*backfill).stdout == "0 of 31 times added; 31 known, 0 more excluded\n"
        assert instant(one(nightly)["backfill_next"]) == instant("2026-01-01T03:00Z")
        refused = nightly("schedules", "backfill", "nightly", "--start", "2026-01-01T00:00Z")
        assert (refused.exit_code, "--start and --end are needed" in refused.stderr) == (2, True)
        refused = nightly(*backfill, "--limit", "30")
        assert (refused.exit_code, "31 nominal times" in refused.stderr) == (2, True)
        assert values(nightly("schedules", "backfill", "nightly", "--undo", "--json")) == {
            "removed": 31
        }

    def test_put_adds_changes_or_leaves(self, horae: Call) -> None:
        put = (
            "schedules",
            "put",
            "nightly",
            "import_csv",
            "--cron",
            "0 3 * * *",
            "--config",
            "path=a.csv",
        )
        assert horae(*put).stdout.startswith("schedule 1 (nightly) created; next start: 20")
        assert horae(*put).stdout.startswith("schedule 1 (nightly) unchanged")
        changed = values(horae(*put, "--priority", "5", "--json"))
        assert (changed["outcome"], changed["schedule"]["priority"]) == ("changed", 5)
        assert values(horae(*put, "--disabled", "--json"))["schedule"]["enabled"] is False

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (("--cron", "61 * * * *"), 2, "minute '61': 61 is out of range, expected 0-59"),
            (("--cron", "0 0 30 2 *"), 2, "never"),
            (("--cron", "@daily"), 2, "@daily"),
            (("--every", "0s"), 2, "longer than zero"),
            (("--every", "1 month 2 days"), 2, "cannot be mixed"),
            (("--every", "1h", "--cron", "* * * * *"), 2, "either cron"),
            ((), 2, "either cron"),
            (
                ("--every", "1h", "--overlap", "never"),
                2,
                "overlap is 'never', expected one of skip, buffer_one",
            ),
            (("--every", "1h", "--overlap", "buffer_one"), 2, "counted from the finish"),
            (
                ("--every", "1h", "--catch-up", "most"),
                2,
                "catch_up is 'most', expected one of last, none, all",
            ),
            (("--every", "1h", "--jitter", "-5s"), 2, "must be positive"),
            (("--every", "1h", "--max-retries", "-1"), 2, "max_retries -1"),
            (("--every", "1h", "--max-runtime", "soon"), 2, "soon"),
            (("--cron", "* * * * * * 2020"), 2, "it can never fire again"),
            (
                ("--cron", "0 3 * * *", "--exclude", "Christmas"),
                2,
                "exclude 'Christmas': expected a date",
            ),
            (
                ("--every", "1h", "--next-start", "soon"),
                2,
                "--next-start 'soon': expected an ISO time",
            ),
            (
                ("--every", "1h", "--initial-start", "soon"),
                2,
                "--initial-start 'soon': expected an ISO time",
            ),
            (("--every", "1h", "--timezone", "Mars/Olympus"), 2, "Mars/Olympus"),
            (("--every", "1h", "--backoff", "wild"), 2, "backoff is 'wild', expected"),
            (("--every", "1h", "--name", ""), 2, "name ''"),
            (("--every", "1h", "--config", "limit=many"), 2, "limit"),
            (("--every", "1h", "--config", "no-equals-sign"), 2, "no-equals-sign"),
            (("--every", "1h", "--name", "nightly"), 1, "already exists"),
        ],
    )
    def test_invalid_options_are_refused(
        self, nightly: Call, arguments: tuple[str, ...], code: int, message: str
    ) -> None:
        refused = nightly("schedules", "add", "import_csv", "--config", "path=a", *arguments)
        assert (refused.exit_code, refused.stdout) == (code, "")
        assert message in refused.stderr
        assert len(values(nightly("schedules", "list", "--json"))["schedules"]) == 1

    def test_an_unknown_type_lists_those_there_are(self, horae: Call) -> None:
        refused = horae("schedules", "add", "nope", "--every", "1h")
        assert refused.exit_code == 2
        assert "import_csv" in refused.stderr

    def test_the_database_alone_knows_no_types(self, bare: Call, nightly: Call) -> None:
        for command in (
            ("add", "import_csv", "--every", "1h"),
            ("alter", "nightly", "--priority", "1"),
        ):
            refused = bare("schedules", *command)
            assert (refused.exit_code, refused.stdout) == (2, "")
            assert "--app" in refused.stderr


class TestOne:
    def test_pause_and_resume(self, bare: Call, nightly: Call) -> None:
        assert (
            bare("schedules", "pause", "nightly", "--note", "holiday").stdout
            == "schedule 1 (nightly) is paused\n"
        )
        paused = one(bare)
        assert (paused["state"], paused["disabled_reason"], paused["pause_note"]) == (
            "disabled",
            "paused",
            "holiday",
        )
        assert "holiday" in bare("schedules", "list").stdout
        assert bare("schedules", "resume", "1").exit_code == 0
        assert (one(bare)["state"], one(bare)["pause_note"]) == ("idle", None)

    @pytest.mark.parametrize(("command", "state"), [("pause", "disabled"), ("resume", "idle")])
    def test_pause_and_resume_as_json(
        self, bare: Call, nightly: Call, command: str, state: str
    ) -> None:
        said = values(bare("schedules", command, "nightly", "--json"))
        assert (set(said), said["state"]) == (SCHEDULE_FIELDS, state)

    def test_run_now_and_what_it_leaves(self, bare: Call, nightly: Call) -> None:
        job = values(bare("schedules", "run", "nightly", "--json"))["job_id"]
        again = bare("schedules", "run", "nightly")
        assert (again.exit_code, again.stderr) == (
            1,
            f"Error: schedule 'nightly' is running as job {job}\n",
        )
        (tick,) = values(bare("schedules", "ticks", "nightly", "--json"))["ticks"]
        assert (tick["decision"], tick["reason"], tick["job_id"]) == ("fired", "manual", job)
        (line,) = bare("schedules", "ticks", "nightly").stdout.splitlines()[1:]
        assert re.search(rf"\bfired +manual +{job} .* no node runs jobs\.$", line)
        statistics = values(bare("schedules", "stats", "nightly", "--json"))
        assert (statistics["total_runs"], statistics["total_crashes"], statistics["open_runs"]) == (
            0,
            0,
            1,
        )
        assert bare("schedules", "list").stdout.splitlines()[1].split()[-2:] == ["1", "0"]
        assert "total_runs" in bare("schedules", "stats", "nightly").stdout

    def test_delete(self, horae: Call, bare: Call, nightly: Call) -> None:
        assert bare("schedules", "delete", "nightly").stdout == "schedule nightly deleted\n"
        assert values(bare("schedules", "list", "--json")) == {"schedules": []}
        assert values(horae("schedules", "add", "import_csv", *NIGHTLY, "--json"))["id"] == 2
        assert values(bare("schedules", "delete", "2", "--json")) == {"deleted": "2"}
        assert bare("schedules", "list").stdout.startswith("No schedules.")

    @pytest.mark.parametrize(
        "command", ["show", "pause", "resume", "run", "delete", "ticks", "stats", "errors"]
    )
    @pytest.mark.parametrize("reference", ["nix", "77"])
    def test_one_that_is_not_there(self, bare: Call, command: str, reference: str) -> None:
        refused = bare("schedules", command, reference)
        shown = reference if reference == "77" else "'nix'"
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr == f"Error: schedule {shown} does not exist\n"

    @pytest.mark.parametrize("limit", ["0", "many", "10001"])
    def test_a_limit_that_cannot_be(self, bare: Call, nightly: Call, limit: str) -> None:
        assert bare("schedules", "ticks", "nightly", "--limit", limit).exit_code == 2

    def test_nothing_has_happened_yet(self, bare: Call, nightly: Call) -> None:
        assert bare("schedules", "ticks", "nightly").stdout.startswith(
            "No nominal time has passed yet."
        )
        assert bare("schedules", "errors").stdout.startswith("No run has failed.")
        assert values(bare("schedules", "errors", "nightly", "--json")) == {"errors": []}

    async def test_errors_of_runs(self, url: str) -> None:
        await called(
            url, "schedules", "add", "refuse", "--every", "1h", "--config", "reason=too tired"
        )
        async with node_of(url):
            await until(
                lambda: "too tired" in call("--database", url, "schedules", "errors").stdout
            )
        (failed,) = values(await called(url, "schedules", "errors", "refuse", "--json"))["errors"]
        assert (failed["outcome"], failed["schedule_id"]) == ("failed", 1)
        assert "too tired" in failed["error"]


class TestDeployments:
    def deployed(self, url: str, *options: str) -> Any:
        return values(call("--database", url, "deploy", ROTA, "--json", *options))

    def state(self, bare: Call) -> dict[str, str]:
        found = values(bare("schedules", "list", "--module", MODULE, "--json"))["schedules"]
        return {item["name"]: item["disabled_reason"] or item["state"] for item in found}

    def test_schema(self) -> None:
        lines = call("schema", ROTA).stdout.splitlines()
        assert lines[:3] == [
            f"module {MODULE} {{",
            "  verb purgeSessions(Unit) Unit",
            "    +cron 0 3 * * * timezone=Europe/Berlin",
        ]
        assert "    +every 10m" in lines
        assert values(call("schema", ROTA, "--json")) == {
            "module": MODULE,
            "schema": "\n".join(lines) + "\n",
        }

    def test_deploying_the_same_changes_nothing(self, url: str, bare: Call) -> None:
        first, second = self.deployed(url), self.deployed(url)
        assert (first["changed"], second["changed"]) == (True, False)
        assert first["deployment"] == second["deployment"]
        assert first["deployment"]["schema"] == call("schema", ROTA).stdout
        assert self.state(bare) == {"purge_sessions": "idle", "refresh_rates": "idle"}
        assert "unchanged, already deployed" in call("--database", url, "deploy", ROTA).stdout

    def test_list_and_show(self, url: str, bare: Call) -> None:
        assert bare("deployments", "list").stdout.startswith("No deployments.")
        key = self.deployed(url)["deployment"]["key"]
        (listed,) = values(bare("deployments", "list", "--json"))["deployments"]
        assert listed == values(bare("deployments", "show", key, "--json"))
        assert (listed["module"], listed["min_replicas"], listed["ended_at"]) == (MODULE, 1, None)
        assert key in bare("deployments", "list").stdout
        assert "verb refreshRates(Unit) Unit" in bare("deployments", "show", key).stdout

    def test_scale_to_nothing_and_back(self, url: str, bare: Call) -> None:
        key = self.deployed(url)["deployment"]["key"]
        assert bare("deployments", "scale", key, "0").stdout == f"deployment {key} has 0 replicas\n"
        assert set(self.state(bare).values()) == {"deployment gone"}
        scaled = values(bare("deployments", "scale", key, "2", "--json"))
        assert (scaled["min_replicas"], scaled) == (
            2,
            values(bare("deployments", "show", key, "--json")),
        )
        assert set(self.state(bare).values()) == {"idle"}

    def test_deployed_with_no_replicas_it_waits(self, url: str, bare: Call) -> None:
        self.deployed(url, "--min-replicas", "0")
        assert set(self.state(bare).values()) == {"deployment gone"}

    def test_end_and_deploy_again(self, url: str, bare: Call) -> None:
        key = self.deployed(url)["deployment"]["key"]
        assert bare("deployments", "end", key).stdout == f"deployment {key} has ended\n"
        assert set(self.state(bare).values()) == {"deployment gone"}
        refused = bare("deployments", "scale", key, "1")
        assert (refused.exit_code, "has ended" in refused.stderr) == (2, True)
        other = self.deployed(url)["deployment"]["key"]
        assert other != key
        assert set(self.state(bare).values()) == {"idle"}
        ended = values(bare("deployments", "end", other, "--json"))
        assert ended["ended_at"] is not None
        assert ended == values(bare("deployments", "show", other, "--json"))

    def test_a_changed_declaration_is_shown_and_reset(self, url: str, bare: Call) -> None:
        self.deployed(url)
        call(
            "--app", ROTA, "--database", url, "schedules", "alter", "refresh_rates", "--every", "5m"
        )
        call(
            "--app",
            ROTA,
            "--database",
            url,
            "schedules",
            "alter",
            "refresh_rates",
            "--priority",
            "5",
        )
        shown = bare("schedules", "show", "refresh_rates").stdout
        assert "priority (declared: 0), trigger (declared: 10m (UTC))" in shown
        said = bare("schedules", "reset", "refresh_rates").stdout
        assert said.startswith(
            "schedule 2 (refresh_rates) is as its module declares it; next start: 20"
        )
        assert one(bare, "refresh_rates")["overrides"] == {}

    def test_a_declared_schedule_is_not_deleted(self, url: str, bare: Call) -> None:
        self.deployed(url)
        refused = bare("schedules", "delete", "purge_sessions")
        assert (refused.exit_code, MODULE in refused.stderr) == (1, True)

    @pytest.mark.parametrize("command", [("show",), ("scale", "1"), ("end",)])
    def test_a_key_that_is_not_there(self, bare: Call, command: tuple[str, ...]) -> None:
        refused = bare("deployments", command[0], "dpl-nix", *command[1:])
        assert (refused.exit_code, refused.stdout, refused.stderr) == (
            2,
            "",
            "Error: deployment 'dpl-nix' does not exist\n",
        )

    @pytest.mark.parametrize(
        "arguments", [("deploy", ROTA, "--min-replicas", "-1"), ("deployments", "scale", "k", "-1")]
    )
    def test_fewer_than_no_replicas(self, bare: Call, arguments: tuple[str, ...]) -> None:
        assert bare(*arguments).exit_code == 2

    def test_parameters_of_a_declared_function_are_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = "from horae import Horae\nhorae = Horae()\n@horae.cron('* * * * *')\ndef bad(x: int) -> None: ...\n"
        (tmp_path / "broken_rota.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        refused = call("schema", "broken_rota:horae")
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "bad" in refused.stderr


@pytest.mark.parametrize("fields", [SCHEDULE_FIELDS, RING_FIELDS])
def test_the_json_fields_are_documented(fields: set[str]) -> None:
    assert missing(iter(sorted(fields)), PAGE) == []


async def test_ring(url: str) -> None:
    assert call("--database", url, "ring").stdout.startswith("No node fires schedules.")
    await called(url, "schedules", "add", "import_csv", *NIGHTLY)
    async with node_of(url), node_of(url), node_of(url, scheduler=False):
        shares = values(await called(url, "ring", "--json"))["nodes"]
        table = (await called(url, "ring")).stdout.splitlines()
    assert len(shares) == 2
    assert all(set(share) >= RING_FIELDS for share in shares)
    assert (
        sum(share["first"] for share in shares)
        == sum(share["second"] for share in shares)
        == PARTITIONS
    )
    assert sum(share["schedules"] for share in shares) == 1
    assert len(table) == 3
