"""The flags of `horae jobs start`, which follow from the options of a start."""

import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final

import typer

from horae.cli.moments import parse_moment
from horae.cli.options import Command, replace_catch_all
from horae.cli.values import backoff, duration, json_object, names
from horae.domain.jobs import Unique
from horae.types.options import OPTIONS, StartOptions, TextForm

_KINDS: Final[Mapping[TextForm, Any]] = {"number": int, "texts": list[str], "ids": list[int]}
"""The types that typer parses for each form; a text for all other forms."""
_READERS: Final[Mapping[TextForm, Callable[[str, str], Any]]] = {
    "duration": lambda _, text: duration(text),
    "moment": lambda flag, text: parse_moment(text, flag),
    "names": lambda _, text: Unique(by=names(text)),
    "backoff": lambda _, text: backoff(text),
    "json": json_object,
}
"""Parsers of texts, called with the flag for error messages. Each raises `InvalidRequest`."""


def with_start_options(command: Command) -> Command:
    """Give a command a flag for each option of a start, after its parameter `params`."""
    added = {
        option.flag or name: Annotated[
            _KINDS.get(option.form, str) | None,
            typer.Option(metavar=option.metavar, help=option.help, min=option.least),
        ]
        for name, option in OPTIONS.items()
    }
    own = list(inspect.signature(command).parameters)
    return replace_catch_all(command, added, own.index("params") + 1)


def start_options(given: Mapping[str, Any]) -> StartOptions:
    """Return the options from the values of the flags. Raises `InvalidRequest`."""
    read: dict[str, Any] = {}
    for name, option in OPTIONS.items():
        value = given[option.flag or name]
        if value is None or value == []:
            continue
        reader = _READERS.get(option.form)
        read[name] = value if reader is None else reader(f"--{name.replace('_', '-')}", value)
    return StartOptions(**read)
