"""Tries what was read, so that the written module contains only what Horae accepts."""

import sys
from collections.abc import Mapping
from typing import Any

from horae.app import Horae
from horae.contrib.celery.moving.described import Described, EntryCode
from horae.domain.backoff import Backoff
from horae.domain.limits import Limit
from horae.errors import HoraeError


def keep_possible(horae: Horae, code: Described, decorator: str) -> None:
    """Keep the options that Horae takes in an application that nobody uses, and note the others."""
    given, code.options = code.options, {}
    for option, source in given.items():
        tried = {**code.options, option: source}
        if (refusal := _refusal(horae, code, decorator, tried)) is None:
            code.options = tried
        else:
            code.notes.append(f"No counterpart: {option}={source}. {refusal}.")


def keep_possible_entry(horae: Horae, code: EntryCode) -> None:
    """Do the same for an entry, whose schedule may be none that Horae can have."""
    if code.decorator is not None:
        decorator = code.decorator.removeprefix("@")
        if (refusal := _refusal(horae, code, decorator, {})) is None:
            keep_possible(horae, code, decorator)
        else:
            code.decorator = None
            code.notes.append(f"No counterpart: {decorator}). {refusal}.")


def _refusal(
    horae: Horae, code: Described, decorator: str, options: Mapping[str, str]
) -> str | None:
    """Return why Horae does not take a decorator with these options; None if it does."""
    names: dict[str, Any] = {"horae": horae, "Backoff": Backoff, "Limit": Limit}
    for line in code.imports:
        top = line.rpartition(" ")[2].partition(".")[0]
        if line.startswith("import "):
            names[top] = sys.modules[top]
    arguments = [f"{name}={value}" for name, value in options.items()]
    before = "" if decorator.endswith("(") else ", "
    source = f"{decorator}{before if arguments else ''}{', '.join(arguments)})"
    try:
        # The source was made here, from quoted values and from names of imported classes.
        eval(source, names)(lambda: None)  # noqa: S307
    except HoraeError as error:
        return str(error)
    return None
