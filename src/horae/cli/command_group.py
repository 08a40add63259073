"""All commands of `horae`, imported when they are called; `--help` imports none.

Their group turns errors into exit codes, and accepts shared options anywhere.
"""

import gc
from collections.abc import Sequence
from importlib import import_module
from itertools import islice
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typing_extensions import override

from horae.cli.failures import EPILOG, failures_as_exit_codes
from horae.cli.value_names import name_value, name_values

PACKAGE: Final = "horae.cli.commands"
ANYWHERE: Final = ("--app", "--database")
"""Options of `horae` that may stand anywhere in a command."""


class Entry(NamedTuple):
    """A command: its name, its line in the help, and `module:attribute`, which define it.

    The module is one of `horae.cli.commands`, or that of an integration, with its whole name; by
    default both have the name of the command.
    """

    name: str
    help: str
    defined_in: str = ""


ENTRIES: Final = (
    Entry("run", "Run a node in the foreground, with the HTTP API and the dashboard."),
    Entry("jobs", "Start, watch, cancel, retry, reschedule and delete jobs.", "jobs.jobs:jobs_app"),
    Entry("groups", "Start, show, cancel and wait for groups of jobs.", "groups:groups_app"),
    Entry(
        "types",
        "List the job types of an application (needs --app or HORAE_APP).",
        "types:types_app",
    ),
    Entry("nodes", "List nodes.", "nodes:nodes_app"),
    Entry(
        "queues",
        "List, pause, resume and limit queues, and let owners take turns.",
        "queues:queues_app",
    ),
    Entry(
        "errors", "Show what fails: failed attempts by job type, class of the exception, and place."
    ),
    Entry("history", "Show what waited, how late it was, and what ended, in equal steps of time."),
    Entry("pause", "Pause all queues and the firing of schedules.", "everything:pause"),
    Entry("resume", "Resume what `horae pause --all` has paused.", "everything:resume"),
    Entry("limits", "List, change and reset limits by key.", "limits:limits_app"),
    Entry("schedules", "List, add, change, pause and run schedules.", "schedules:schedules_app"),
    Entry("why", "Say why a schedule did or did not run at a time."),
    Entry(
        "schema",
        "Print the schedules of an application, as a deployment stores them.",
        "deployments:schema",
    ),
    Entry(
        "deploy",
        "Make the schedules of an application the current version of its module.",
        "deployments:deploy",
    ),
    Entry(
        "deployments", "List, scale and end deployments of modules.", "deployments:deployments_app"
    ),
    Entry("ring", "Show how the schedules are shared among the nodes.", "deployments:ring"),
    Entry("changes", "Show the audit log: who changed what, newest first."),
    Entry("forecast", "Forecast what the schedules of an application will do."),
    Entry("status", "Say whether anything is wrong now, and what."),
    Entry("doctor", "Check the database, nodes, queues and schedules."),
    Entry("watch", "Watch an application, and tell others what is wrong with it."),
    Entry(
        "audit", "Recompute what must always hold from the tables, and print what contradicts it."
    ),
    Entry(
        "migrate",
        "Create the tables of the database and bring them up to date.",
        "migrate:migrate_app",
    ),
    Entry("grants", "Print the privileges that a PostgreSQL role needs, as SQL."),
    Entry(
        "import",
        "Print what another job system declares as code of Horae.",
        "horae.contrib.celery.command:import_app",
    ),
    Entry("cron", "Evaluate and explain cron expressions.", "cron:cron_app"),
)


class LazyCommand(TyperCommand):
    """A command that `horae --help` can list before its module is imported."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry.name, help=entry.help)
        self._entry = entry

    @override
    def make_context(self, *args: Any, **options: Any) -> Any:
        """Return a context of the imported command, which parses and runs in place of this one."""
        return self.load().make_context(*args, **options)

    def load(self) -> Any:
        """Import the command."""
        name, _, defined_in = self._entry
        module, _, attribute = (defined_in or f"{name}:{name}").partition(":")
        whole = module if module.startswith("horae.") else f"{PACKAGE}.{module}"
        found = getattr(import_module(whole), attribute)
        if not gc.isenabled():  # called by `main`; what is imported now lives until the exit
            gc.freeze()
            gc.enable()
        holder = typer.Typer(add_completion=False)
        holder.callback()(lambda: None)  # a callback makes it a group, even with a single command
        if isinstance(found, typer.Typer):
            holder.add_typer(
                found, name=self.name, help=self.help, epilog=EPILOG, no_args_is_help=True
            )
        else:
            holder.command(self.name, epilog=EPILOG)(found)
        group: Any = get_command(holder)
        command = group.commands[self.name]
        name_values(command)
        return command


def lazy_commands() -> dict[str, LazyCommand]:
    """Return every command by name, in the order of the help."""
    return {entry.name: LazyCommand(entry) for entry in ENTRIES}


class HoraeGroup(TyperGroup):
    """All commands, imported when they are called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands.update(lazy_commands())

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, move_shared_options_first(args))

    @override
    def get_params(self, ctx: Any) -> list[Any]:
        found = super().get_params(ctx)
        for parameter in found:
            name_value(parameter)
        return found

    @override
    def invoke(self, ctx: Any) -> Any:
        with failures_as_exit_codes():
            return super().invoke(ctx)


def move_shared_options_first(arguments: Sequence[str]) -> list[str]:
    """Move the shared options to the front: `jobs list --app a:b` becomes `--app a:b jobs list`."""
    first: list[str] = []
    others: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        if argument == "--":
            others += [argument, *remaining]
        elif argument in ANYWHERE:
            first += [argument, *islice(remaining, 1)]
        elif argument.partition("=")[0] in ANYWHERE:
            first.append(argument)
        else:
            others.append(argument)
    return first + others
