"""`docs/reference/cli.md` names every command, every option and every field that `--json` prints."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from typer.main import get_command

from horae.cli.command_group import ENTRIES, Entry, LazyCommand
from horae.cli.main import app
from tests.cli.test_jobs import ATTEMPT_FIELDS, JOB_FIELDS
from tests.cli.test_queues_nodes_types import NODE_FIELDS, QUEUE_FIELDS, TYPE_FIELDS

PAGE: Final = (Path(__file__).parents[2] / "docs/reference/cli.md").read_text()
ELSEWHERE: Final = ("migrate", "cron")
BY_TYPER: Final = frozenset({"--help", "--install-completion", "--show-completion"})


def commands(
    command: Any, *path: str, but: Collection[str] = ()
) -> Iterator[tuple[str, list[str]]]:
    """Each command with its options."""
    if isinstance(command, LazyCommand):
        command = command.load()
    yield (
        " ".join(path),
        [
            name
            for each in command.params
            for name in (*each.opts, *each.secondary_opts)
            if name[0] == "-"
        ],
    )
    for name, below in getattr(command, "commands", {}).items():
        if name not in but:
            yield from commands(below, *path, name, but=but)


def missing(names: Iterator[str], text: str) -> list[str]:
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]


COMMANDS: Final = dict(commands(get_command(app), "horae", but=ELSEWHERE))


def test_all_commands_are_looked_at() -> None:
    assert {"horae run", "horae doctor", "horae jobs watch", "horae queues resume"} <= set(COMMANDS)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_line_of_the_help_is_how_the_help_of_the_command_begins(entry: Entry) -> None:
    help_text = LazyCommand(entry).load().help
    assert help_text.partition("\n\n")[0].replace("\n", " ") == entry.help


def test_all_that_print_something_print_json_as_well() -> None:
    every = dict(commands(get_command(app), "horae"))
    groups = {name.rpartition(" ")[0] for name in every}
    assert [
        name for name, options in every.items() if "--json" not in options and name not in groups
    ] == ["horae run"]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_command_and_its_options(command: str) -> None:
    assert command in PAGE or command.rpartition(" ")[2] in PAGE
    assert missing((option for option in COMMANDS[command] if option not in BY_TYPER), PAGE) == []


@pytest.mark.parametrize(
    "fields", [JOB_FIELDS, ATTEMPT_FIELDS, NODE_FIELDS, QUEUE_FIELDS, TYPE_FIELDS]
)
def test_fields(fields: set[str]) -> None:
    assert missing(iter(sorted(fields)), PAGE) == []


def test_undocumented_options_are_found() -> None:
    assert missing(iter(["--state", "--stat", "nothing"]), "`--state` and `--statement`") == [
        "--stat",
        "nothing",
    ]
