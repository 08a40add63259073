"""The state of a watch as a file, so that a watch that starts again repeats nothing."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from horae.alerts.course import Alert, Notice
from horae.guarded_log import guarded_log

MOST_WAITING: Final = 200
"""Maximum number of notices that wait for one target; the oldest ones are dropped."""

log = guarded_log("horae.alerts")


@dataclass(slots=True)
class State:
    """The alerts, and the notices that each target has not taken yet, by its name."""

    alerts: list[Alert] = field(default_factory=list[Alert])
    waiting: dict[str, list[Notice]] = field(default_factory=dict[str, list[Notice]])


_STORED: Final = TypeAdapter(State)


def add(waiting: list[Notice], notices: Sequence[Notice]) -> int:
    """Add notices to those that wait for a target; return how many old ones were dropped."""
    waiting += notices
    dropped = max(0, len(waiting) - MOST_WAITING)
    del waiting[:dropped]
    return dropped


def load(file: Path) -> State:
    """Read the state; one that cannot be read is dropped, as a watch has to begin anyway."""
    try:
        return _STORED.validate_json(file.read_bytes())
    except FileNotFoundError:
        return State()
    except (OSError, ValueError) as error:
        log.warning("the state in %s cannot be read, so alerts begin anew: %s", file, error)
        return State()


def save(file: Path, state: State) -> None:
    """Replace the file in one step; what fails is logged."""
    waiting = {name: notices for name, notices in state.waiting.items() if notices}
    new = file.with_name(f"{file.name}.new")
    with log.guard("the state cannot be written to %s: %s", file):
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as writing:
                writing.write(_STORED.dump_json(State(state.alerts, waiting)))
                writing.flush()
                os.fsync(writing.fileno())
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)
