"""The rules: from what a watch has seen at one moment to the problems in it. Pure functions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final, TypeAlias

from horae.client.doctor import IdleSlots, LateQueue, length_of
from horae.domain.times import Duration, parse_duration
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.storage.schedules import FailingSchedule, LateSchedule, MissedSchedule

MOST_OF_A_RULE: Final = 10
"""Maximum number of problems of one rule with an alert each; more are one alert together."""
NAMED: Final = 5
"""How many of them such an alert names."""


class Rule(StrEnum):
    """What an alert is about."""

    DATABASE_AWAY = "database_away"
    SCHEDULE_MISSED = "schedule_missed"
    SCHEDULE_LATE = "schedule_late"
    SCHEDULE_FAILING = "schedule_failing"
    QUEUE_LATE = "queue_late"
    NOTHING_CLAIMED = "nothing_claimed"
    NODE_DEAD = "node_dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class LostNode:
    """A node that has ended without unregistering.

    `fate`: what has become of the jobs that it held, such as `1 failed, 2 to run again`.
    """

    id: str
    name: str
    host: str
    pid: int
    held: int
    fate: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """Everything that the rules are decided by.

    `away`: why the database could not be read; then the rest is unknown, and empty.
    """

    away: str | None = None
    late: Sequence[LateSchedule] = ()
    missed: Sequence[MissedSchedule] = ()
    failing: Sequence[FailingSchedule] = ()
    late_queues: Sequence[LateQueue] = ()
    idle_slots: Sequence[IdleSlots] = ()
    dead_nodes: Sequence[LostNode] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertThresholds:
    """When something is a problem; durations are texts such as `"5m"`, or timedeltas.

    `schedule_late`: a schedule has not started so long after it should have. `failures`: so many
    runs of a schedule have failed in a row. `queue_late`: a job has been due for so long.
    `nothing_claimed`: jobs have been due for so long, live nodes that can run them have free slots,
    and no job of the queue was claimed in that time. `node_dead`: for how long the death of a node
    is reported. `database_away`: the database has not answered for so long. Raises
    `InvalidRequest`.
    """

    schedule_late: Duration = "5m"
    failures: int = 3
    queue_late: Duration = "10m"
    nothing_claimed: Duration = "1m"
    node_dead: Duration = "10m"
    database_away: Duration = "10s"

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


def problems_of(seen: Observation, thresholds: AlertThresholds) -> list[FoundProblem]:
    """Return the problems in an observation, those of each rule together if there are many."""
    if seen.away is not None:
        return [
            FoundProblem(
                key=Rule.DATABASE_AWAY.value,
                rule=Rule.DATABASE_AWAY,
                summary=f"the database cannot be read: {seen.away}",
                hold=thresholds.seconds("database_away"),
            )
        ]
    found: list[FoundProblem] = []
    for rule, find in _RULES.items():
        problems = [
            FoundProblem(key=f"{rule}:{name}", rule=rule, summary=summary, details=details)
            for name, summary, details in find(seen)
        ]
        if len(problems) <= MOST_OF_A_RULE:
            found += problems
            continue
        first = "; ".join(problem.summary for problem in problems[:NAMED])
        count = len(problems)
        summary = f"{first}; and {count - NAMED} more"
        details = {"count": count}
        found.append(FoundProblem(key=rule.value, rule=rule, summary=summary, details=details))
    return found


_Found: TypeAlias = Iterator[tuple[object, str, Mapping[str, Any]]]
"""Problems of one rule: what each is about, a summary, and details."""


def _missed(seen: Observation) -> _Found:
    for each in seen.missed:
        times = "a run" if each.count == 1 else f"{each.count} runs"
        summary = (
            f"schedule {each.name!r} has missed {times}, the latest due at"
            f" {each.nominal_time:%Y-%m-%d %H:%M:%S} UTC ({each.reason})"
        )
        yield (
            each.id,
            summary,
            {"schedule_id": each.id, "schedule": each.name, "count": each.count},
        )


def _late(seen: Observation) -> _Found:
    for each in seen.late:
        yield (
            each.id,
            f"schedule {each.name!r} should have started {length_of(each.seconds)} ago and has not",
            {"schedule_id": each.id, "schedule": each.name, "seconds": round(each.seconds)},
        )


def _failing(seen: Observation) -> _Found:
    for each in seen.failing:
        disabled = ", and is disabled, because its retries are used up" if each.gave_up else ""
        details = {
            "schedule_id": each.id,
            "schedule": each.name,
            "failures": each.streak,
            "disabled": each.gave_up,
        }
        summary = f"schedule {each.name!r} has failed {each.streak} times in a row{disabled}"
        yield each.id, summary, details


def _queues(seen: Observation) -> _Found:
    for each in seen.late_queues:
        summary = (
            f"a job in queue {each.name!r} has been due for {length_of(each.seconds)};"
            f" {each.due} wait for long"
        )
        details = {"queue": each.name, "seconds": round(each.seconds), "due": each.due}
        yield each.name, summary, details


def _idle(seen: Observation) -> _Found:
    for each in seen.idle_slots:
        summary = (
            f"{each.due} due in queue {each.queue!r} and {each.free} slots free for them, but"
            f" nothing was claimed in {length_of(each.seconds)}"
        )
        yield each.queue, summary, {"queue": each.queue, "due": each.due, "free_slots": each.free}


def _dead(seen: Observation) -> _Found:
    for each in seen.dead_nodes:
        jobs = "a job" if each.held == 1 else f"{each.held} jobs"
        held = f"; it held {jobs}: {each.fate}" if each.held else "; it held no job"
        summary = (
            f"node {each.name!r} (pid {each.pid} on {each.host}) has stopped without"
            f" unregistering{held}"
        )
        yield each.id, summary, {"node": each.id, "name": each.name, "jobs": each.held}


_RULES: Final[Mapping[Rule, Callable[[Observation], _Found]]] = {
    Rule.SCHEDULE_MISSED: _missed,
    Rule.SCHEDULE_LATE: _late,
    Rule.SCHEDULE_FAILING: _failing,
    Rule.QUEUE_LATE: _queues,
    Rule.NOTHING_CLAIMED: _idle,
    Rule.NODE_DEAD: _dead,
}
