"""The commands of `horae` by name, imported when they are called; `--help` imports none."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperCommand
from typer.main import get_command
from typing_extensions import override

from horae.cli.failures import EPILOG
from horae.cli.value_names import name_values

PACKAGE: Final = "horae.cli.commands"


@dataclass(frozen=True, slots=True)
class Entry:
    """A command: its name, the module and attribute that define it, and its line in the help.

    The module is one of `horae.cli.commands`, or that of an integration, with its whole name.
    """

    name: str
    module: str
    attribute: str
    help: str


ENTRIES: Final = (
    Entry(
        "run", "run", "run", "Run a node in the foreground, with the HTTP API and the dashboard."
    ),
    Entry(
        "jobs", "jobs.jobs", "jobs_app", "Start, watch, cancel, retry, reschedule and delete jobs."
    ),
    Entry("groups", "groups", "groups_app", "Start, show, cancel and wait for groups of jobs."),
    Entry(
        "types",
        "types",
        "types_app",
        "List the job types of an application (needs --app or HORAE_APP).",
    ),
    Entry("nodes", "nodes", "nodes_app", "List nodes."),
    Entry(
        "queues",
        "queues",
        "queues_app",
        "List, pause, resume and limit queues, and let owners take turns.",
    ),
    Entry(
        "errors",
        "errors",
        "errors",
        "Show what fails: failed attempts by job type, class of the exception, and place.",
    ),
    Entry(
        "history",
        "history",
        "history",
        "Show what waited, how late it was, and what ended, in equal steps of time.",
    ),
    Entry("pause", "everything", "pause", "Pause all queues and the firing of schedules."),
    Entry("resume", "everything", "resume", "Resume what `horae pause --all` has paused."),
    Entry("limits", "limits", "limits_app", "List, change and reset limits by key."),
    Entry("schedules", "schedules", "schedules_app", "List, add, change, pause and run schedules."),
    Entry("why", "why", "why", "Say why a schedule did or did not run at a time."),
    Entry(
        "schema",
        "deployments",
        "schema",
        "Print the schedules of an application, as a deployment stores them.",
    ),
    Entry(
        "deploy",
        "deployments",
        "deploy",
        "Make the schedules of an application the current version of its module.",
    ),
    Entry(
        "deployments",
        "deployments",
        "deployments_app",
        "List, scale and end deployments of modules.",
    ),
    Entry("ring", "deployments", "ring", "Show how the schedules are shared among the nodes."),
    Entry("changes", "changes", "changes", "Show the audit log: who changed what, newest first."),
    Entry(
        "forecast", "forecast", "forecast", "Forecast what the schedules of an application will do."
    ),
    Entry("status", "status", "status", "Say whether anything is wrong now, and what."),
    Entry("doctor", "doctor", "doctor", "Check the database, nodes, queues and schedules."),
    Entry(
        "watch", "watch", "watch", "Watch an application, and tell others what is wrong with it."
    ),
    Entry(
        "audit",
        "audit",
        "audit",
        "Recompute what must always hold from the tables, and print what contradicts it.",
    ),
    Entry(
        "migrate",
        "migrate",
        "migrate_app",
        "Create the tables of the database and bring them up to date.",
    ),
    Entry(
        "grants", "grants", "grants", "Print the privileges that a PostgreSQL role needs, as SQL."
    ),
    Entry(
        "import",
        "horae.contrib.celery.command",
        "import_app",
        "Print what another job system declares as code of Horae.",
    ),
    Entry("cron", "cron", "cron_app", "Evaluate and explain cron expressions."),
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
        module = self._entry.module
        whole = module if module.startswith("horae.") else f"{PACKAGE}.{module}"
        found = getattr(import_module(whole), self._entry.attribute)
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
