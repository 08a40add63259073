"""Tries what was read, so that the written module contains only what Horae accepts."""

import sys
from collections.abc import Mapping
from typing import Any

from horae.app import Horae
from horae.contrib.celery.moving.described import Described, EntryCode, TaskCode
from horae.domain.backoff import Backoff
from horae.domain.limits import Limit
from horae.errors import HoraeError


class TrialApplication:
    """Declares job types and schedules in an application that nobody uses."""

    def __init__(self) -> None:
        self._horae = Horae("sqlite:///unused.db", module="trial")

    def task(self, code: TaskCode) -> TaskCode:
        """Return a task with the options that Horae takes, and notes on the others."""
        self._keep_possible(code, "horae.job(")
        return code

    def entry(self, code: EntryCode) -> EntryCode:
        """Do the same for an entry, whose schedule may be none that Horae can have."""
        if code.decorator is not None:
            decorator = code.decorator.removeprefix("@")
            if (refusal := self._refusal(code, decorator, {})) is None:
                self._keep_possible(code, decorator)
            else:
                code.decorator = None
                code.notes.append(f"No counterpart: {decorator}). {refusal}.")
        return code

    def _keep_possible(self, code: Described, decorator: str) -> None:
        given, code.options = code.options, {}
        for option, source in given.items():
            tried = {**code.options, option: source}
            if (refusal := self._refusal(code, decorator, tried)) is None:
                code.options = tried
            else:
                code.notes.append(f"No counterpart: {option}={source}. {refusal}.")

    def _refusal(self, code: Described, decorator: str, options: Mapping[str, str]) -> str | None:
        """Return why Horae does not take a decorator with these options; None if it does."""
        names: dict[str, Any] = {"horae": self._horae, "Backoff": Backoff, "Limit": Limit}
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
