"""The state of a watch as a file, so that a watch that starts again repeats nothing."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from horae.alerts.course import Alert, Alerts, Happening, Notice
from horae.alerts.rules import Rule
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


def load(file: Path) -> State:
    """Read the state; one that cannot be read is dropped, as a watch has to begin anyway."""
    try:
        stored = json.loads(file.read_bytes())
        alerts = [_alert(values) for values in stored["alerts"]]
        undelivered = {
            name: Undelivered([_notice(values) for values in notices])
            for name, notices in stored["waiting"].items()
        }
    except FileNotFoundError:
        return State()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        log.warning("the state in %s cannot be read, so alerts begin anew: %s", file, error)
        return State()
    return State({alert.key: alert for alert in alerts}, undelivered)


def save(file: Path, state: State) -> None:
    """Replace the file in one step; what fails is logged."""
    values = {
        "alerts": [_values(alert) for alert in state.alerts.values()],
        "waiting": {
            name: [
                {
                    "happening": notice.happening.value,
                    "at": notice.at.isoformat(),
                    "alert": _values(notice.alert),
                }
                for notice in undelivered.notices
            ]
            for name, undelivered in state.undelivered.items()
            if undelivered.notices
        },
    }
    new = file.with_name(f"{file.name}.new")
    with log.guard("the state cannot be written to %s: %s", file):
        try:
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w") as writing:
                json.dump(values, writing)
                writing.flush()
                os.fsync(writing.fileno())
            new.replace(file)
        except BaseException:
            with suppress(OSError):
                new.unlink()
            raise


def _values(alert: Alert) -> Mapping[str, Any]:
    return {
        "key": alert.key,
        "rule": alert.rule.value,
        "summary": alert.summary,
        "details": dict(alert.details),
        "since": alert.since.isoformat(),
        "last_seen": alert.last_seen.isoformat(),
        "notified_at": None if alert.notified_at is None else alert.notified_at.isoformat(),
    }


def _alert(values: Mapping[str, Any]) -> Alert:
    notified = values["notified_at"]
    return Alert(
        key=str(values["key"]),
        rule=Rule(values["rule"]),
        summary=str(values["summary"]),
        details=dict(values["details"]),
        since=_moment(values["since"]),
        last_seen=_moment(values["last_seen"]),
        notified_at=None if notified is None else _moment(notified),
    )


def _notice(values: Mapping[str, Any]) -> Notice:
    return Notice(
        happening=Happening(values["happening"]),
        at=_moment(values["at"]),
        alert=_alert(values["alert"]),
    )


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.utcoffset() is None:
        raise ValueError(f"{text} has no time zone")
    return moment
