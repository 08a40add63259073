"""The options of a schedule, as `horae schedules add` and `alter` take them.

The parameters of both commands are made from one table. Its rules are those of `RULE_OPTIONS`, and
a test compares the whole with `ScheduleKeywords`.
"""

import inspect
from collections.abc import Mapping
from inspect import Parameter
from typing import Annotated, Any, Final, NamedTuple

import typer

from horae.cli.moments import parse_moment
from horae.cli.options import Command, replace_catch_all
from horae.domain.schedules import RULE_OPTIONS, RuleOption, ValueKind


class Option(NamedTuple):
    """An option: its help, the placeholder for its value in the help, and the type of the value."""

    help: str
    metavar: str | None = None
    kind: Any = str


_KINDS: Final[Mapping[ValueKind, Any]] = {
    ValueKind.NUMBER: int,
    ValueKind.RETRIES: int,
    ValueKind.EXCLUSIONS: list[str],
}
"""The types of the options that are no plain text."""


def rule_option(rule: RuleOption) -> Option:
    """Return an option of a schedule as the command line takes it."""
    return Option(rule.help, rule.placeholder, _KINDS.get(rule.kind, str))


OPTIONS: Final[Mapping[str, Option]] = {
    "cron": Option('Cron expression, such as "0 3 * * *".', "EXPR"),
    "every": Option('Interval after each finish, such as "10m" or "1 day".', "LENGTH"),
    "timezone": Option("IANA time zone. Default: UTC.", "NAME"),
    "fixed": Option("Run --every at fixed times, instead of after each finish.", kind=bool),
    "initial_start": Option("First start of --every; fixed times count from it.", "ISO"),
    "next_start": Option("Move the next start, once; a time in the past means now.", "ISO"),
    "dst_gap": Option("Times skipped when clocks go forward.", "shift|skip"),
    "dst_fold": Option("Times repeated when clocks go back.", "first|second|both"),
    **{name: rule_option(rule) for name, rule in RULE_OPTIONS.items()},
    "queue": Option("Queue of its jobs.", "NAME"),
    "priority": Option("Priority of its jobs; higher runs first.", kind=int),
}
MOMENTS: Final = frozenset({"initial_start", "next_start"})


def with_schedule_options(command: Command) -> Command:
    """Replace the `**options` of a command by the options of a schedule, each None unless it is
    given.
    """
    added = {
        name: Annotated[option.kind | None, typer.Option(metavar=option.metavar, help=option.help)]
        for name, option in OPTIONS.items()
    }
    own = inspect.signature(command).parameters.values()
    positional = sum(parameter.kind is not Parameter.KEYWORD_ONLY for parameter in own) - 1
    return replace_catch_all(command, added, positional)


def chosen_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, with times parsed. Raises `InvalidRequest`."""
    given = {name: value for name, value in options.items() if value is not None}
    moments = {
        name: parse_moment(given[name], f"--{name.replace('_', '-')}")
        for name in MOMENTS & given.keys()
    }
    return given | moments
