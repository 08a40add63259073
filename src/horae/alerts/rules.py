"""The rules: which findings of a look are told, and by which names. Pure functions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from pydantic_core import to_jsonable_python

from horae.client.doctor import MOST_OF_A_KIND, About, Finding, first_of
from horae.domain.times import Duration, parse_duration
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.sentences import Sentence


class Rule(StrEnum):
    """What an alert is about."""

    DATABASE_AWAY = "database_away"
    SCHEDULE_MISSED = "schedule_missed"
    SCHEDULE_LATE = "schedule_late"
    SCHEDULE_FAILING = "schedule_failing"
    QUEUE_LATE = "queue_late"
    LIMIT_LATE = "limit_late"
    NOTHING_CLAIMED = "nothing_claimed"
    NODE_DEAD = "node_dead"


RULES: Final[Mapping[str, Rule]] = {
    "schedule_missed": Rule.SCHEDULE_MISSED,
    "schedule_late": Rule.SCHEDULE_LATE,
    "no_scheduler": Rule.SCHEDULE_LATE,
    "schedule_failing": Rule.SCHEDULE_FAILING,
    "schedule_disabled": Rule.SCHEDULE_FAILING,
    "queue_late": Rule.QUEUE_LATE,
    "limit_late": Rule.LIMIT_LATE,
    "nothing_claimed": Rule.NOTHING_CLAIMED,
    "node_dead": Rule.NODE_DEAD,
    "node_lost": Rule.NODE_DEAD,
}
"""The rule of each kind of finding that is told; other kinds are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertThresholds:
    """When something is a problem; durations are texts such as `"5m"`, or timedeltas.

    Raises `InvalidRequest`.
    """

    schedule_late: Duration = "5m"
    """A schedule has not started so long after it should have."""
    failures: int = 3
    """So many runs of a schedule have failed in a row."""
    queue_late: Duration = "10m"
    """A job has been due for so long, also one that a limit holds back."""
    nothing_claimed: Duration = "1m"
    """Jobs have been due for so long, live nodes that can run them have free slots, and no job of
    the queue was claimed in that time.
    """
    node_dead: Duration = "10m"
    """For how long the death of a node is reported."""
    database_away: Duration = "10s"
    """The database has not answered for so long."""

    def __post_init__(self) -> None:
        """Refuse durations that are negative or cannot be read."""
        for each in fields(self):
            if each.name == "failures":
                continue
            length = parse_duration(each.name, getattr(self, each.name))
            if length < timedelta(0):
                raise InvalidRequest(f"{each.name} is {quoted(length)}, expected zero or more")
        if not isinstance(self.failures, int) or self.failures < 1:
            raise InvalidRequest(
                f"failures is {quoted(self.failures)}, expected a whole number from 1"
            )

    def seconds(self, name: str) -> float:
        """Return a duration in seconds."""
        return parse_duration(name, getattr(self, name)).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProblem:
    """Something that is wrong now.

    `key` names it for as long as it lasts; `hold`: seconds for which it must last before it is
    reported.
    """

    key: str
    rule: Rule
    summary: str
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    hold: float = 0.0


def problems_of(findings: Iterable[Finding]) -> list[FoundProblem]:
    """Return the findings as problems, those of each rule together if there are many."""
    by_rule: dict[Rule, list[tuple[About, Finding]]] = {}
    for each in findings:
        if each.kind in RULES and each.about is not None:
            by_rule.setdefault(RULES[each.kind], []).append((each.about, each))
    found: list[FoundProblem] = []
    for rule, same in by_rule.items():
        if len(same) > MOST_OF_A_KIND:
            summary, details = first_of([each for _, each in same]), {"count": len(same)}
            found.append(FoundProblem(key=rule.value, rule=rule, summary=summary, details=details))
            continue
        found += [
            FoundProblem(
                key=f"{rule}:{about.id or about.name}",
                rule=rule,
                summary=each.message,
                details=to_jsonable_python(
                    each.message.values if isinstance(each.message, Sentence) else {}
                )
                | {"id": about.id},
            )
            for about, each in same
        ]
    return found


def away(why: str, thresholds: AlertThresholds) -> FoundProblem:
    """Return the problem of a database that cannot be read."""
    return FoundProblem(
        key=Rule.DATABASE_AWAY.value,
        rule=Rule.DATABASE_AWAY,
        summary=f"the database cannot be read: {why}",
        hold=thresholds.seconds("database_away"),
    )
