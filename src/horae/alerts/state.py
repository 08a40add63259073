"""The state of a watch as a file, so that a watch that starts again repeats nothing."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from horae.alerts.course import Alert, Alerts, Notice
from horae.guarded_log import guarded_log

MOST_WAITING: Final = 200
"""Maximum number of notices that wait for one target; the oldest ones are dropped."""

log = guarded_log("horae.alerts")


@dataclass(slots=True)
class Undelivered:
    """The notices that one target has not taken yet; `failures`: tries in a row that failed."""

    notices: list[Notice] = field(default_factory=list[Notice])
    failures: int = 0

    def add(self, notices: Sequence[Notice]) -> int:
        """Add notices, and return how many old ones were dropped."""
        self.notices += notices
        dropped = max(0, len(self.notices) - MOST_WAITING)
        del self.notices[:dropped]
        return dropped


@dataclass(slots=True)
class State:
    """The alerts, and what waits for each target by its name."""

    alerts: Alerts = field(default_factory=dict[str, Alert])
    undelivered: dict[str, Undelivered] = field(default_factory=dict[str, Undelivered])


@dataclass(slots=True)
class _Stored:
    """The form of the file."""

    alerts: list[Alert]
    waiting: dict[str, list[Notice]]


_STORED: Final = TypeAdapter(_Stored)


def load(file: Path) -> State:
    """Read the state; one that cannot be read is dropped, as a watch has to begin anyway."""
    try:
        stored = _STORED.validate_json(file.read_bytes())
    except FileNotFoundError:
        return State()
    except (OSError, ValueError) as error:
        log.warning("the state in %s cannot be read, so alerts begin anew: %s", file, error)
        return State()
    return State(
        {alert.key: alert for alert in stored.alerts},
        {name: Undelivered(notices) for name, notices in stored.waiting.items()},
    )


def save(file: Path, state: State) -> None:
    """Replace the file in one step; what fails is logged."""
    waiting = {name: each.notices for name, each in state.undelivered.items() if each.notices}
    new = file.with_name(f"{file.name}.new")
    with log.guard("the state cannot be written to %s: %s", file):
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as writing:
                writing.write(_STORED.dump_json(_Stored([*state.alerts.values()], waiting)))
                writing.flush()
                os.fsync(writing.fileno())
            new.replace(file)
        finally:
            new.unlink(missing_ok=True)
