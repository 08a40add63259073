"""Writes a described application as a module of Horae."""

from collections.abc import Iterable, Mapping
from typing import Final

from horae.contrib.celery.moving.described import (
    ApplicationCode,
    EntryCode,
    TaskCode,
)
from horae.contrib.celery.moving.source import in_one_line, text
from horae.domain.cron import WEEKDAYS

HEADER: Final = (
    "Each function calls the code of its Celery task, until you move that code here.",
    "",
    '- Bodies run on threads, which cannot be killed; isolation="process" uses child processes.',
    "- An interval counts from the end of a run. While a run continues, no other one begins.",
    "- Calls of delay and apply_async stay with Celery until you write NAME.start(…) instead.",
    "- Chains, groups and chords are built where they are called: see groups in Horae's guides.",
)
INDENT: Final = "    "
LINE: Final = 100


def written(application: ApplicationCode) -> str:
    """Return the source of a module with the job types and schedules of an application."""
    body = [
        *(part for task in application.tasks for part in ("", "", *_task(task))),
        *(part for entry in application.entries for part in ("", "", *_entry(entry))),
    ]
    statements = {
        line for each in (*application.tasks, *application.entries) for line in each.imports
    }
    source = "\n".join(body)
    own = sorted({"Horae", *(line.rpartition(" ")[2] for line in statements if line[0] == "f")})
    first = ["from datetime import date"] if "(day: date)" in source else []
    first += ["from typing import Any"] if "Any" in source else []
    modules = sorted(line for line in statements if line[0] == "i")
    groups = [first, [f"from horae import {', '.join(own)}"], modules]
    lines = [
        f'"""The jobs and schedules of the Celery application {application.reference}.',
        "",
        *HEADER,
        '"""',
        "",
        *"\n\n".join("\n".join(group) for group in groups if group).splitlines(),
        "",
        *_comments(application.notes),
        "horae = Horae()",
        *body,
    ]
    return "\n".join(lines) + "\n"


def _comments(notes: Iterable[str]) -> list[str]:
    return [f"# {in_one_line(note)}" for note in notes]


def _task(task: TaskCode) -> list[str]:
    options = task.options
    escaped = in_one_line(task.documentation).replace("\\", "\\\\").replace('"', '\\"')
    documentation = [f'{INDENT}"""{escaped}"""'] if escaped else []
    body = _not_written(task.name) if task.call is None else f"return {task.call}"
    definition = [f"def {task.function}({', '.join(task.parameters)}) -> Any:"]
    if len(definition[0]) > LINE:
        parameters = (f"{INDENT}{each}," for each in task.parameters)
        definition = [f"def {task.function}(", *parameters, ") -> Any:"]
    return [
        *_comments(task.notes),
        *_decorator("@horae.job(", options),
        *definition,
        *documentation,
        f"{INDENT}{body}",
    ]


def _not_written(name: str) -> str:
    return f"raise NotImplementedError({text(f'move the body of {name} here')})"


def _entry(entry: EntryCode) -> list[str]:
    if entry.decorator is None or (entry.call is None and not entry.options):
        return _comments([f"beat_schedule[{entry.key!r}] is not written:", *entry.notes])
    options = dict(entry.options)
    before: list[str] = []
    if entry.weekdays:
        excluded = f"not_for_{entry.function}"
        options["exclude"] = f"[{excluded}]"
        days = ", ".join(WEEKDAYS[day] for day in entry.weekdays)
        chosen = ", ".join(map(str, entry.weekdays))
        before = [
            f"# Celery needs both the day of the month and the weekday ({days}) to match.",
            f"def {excluded}(day: date) -> bool:",
            f"{INDENT}return day.isoweekday() % 7 not in ({chosen},)",
            "",
            "",
        ]
    opening, expression = entry.decorator.split("(", 1)
    return [
        *before,
        *_comments(entry.notes),
        *_decorator(f"{opening}(", options, first=expression),
        f"def {entry.function}() -> None:",
        f"{INDENT}{entry.call or _not_written(entry.key)}",
    ]


def _decorator(opening: str, options: Mapping[str, str], *, first: str = "") -> list[str]:
    arguments = [
        *([first] if first else []),
        *(f"{name}={value}" for name, value in options.items()),
    ]
    line = f"{opening}{', '.join(arguments)})"
    if len(line) <= LINE:
        return [line]
    return [opening, *(f"{INDENT}{argument}," for argument in arguments), ")"]
