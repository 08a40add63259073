"""All rules, and the one call that checks them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from tests.checker import (
    group_rules,
    job_rules,
    key_limit_rules,
    limit_rules,
    option_rules,
    schedule_rules,
)
from tests.checker.body_log import BodyLog, Record
from tests.checker.settings import Settings
from tests.checker.tables import Connection, Tables

Rule = Callable[[Tables, BodyLog, Settings], Iterator[str]]

RULES: Final[Mapping[str, Rule]] = {
    "no job is lost": job_rules.lost,
    "no job finishes twice": job_rules.finished_twice,
    "effects exactly once": job_rules.effects_once,
    "leases only grow": job_rules.leases,
    "bodies as recorded": job_rules.bodies,
    "a cancel is final": job_rules.cancel_final,
    "one decision for each nominal time": schedule_rules.one_decision,
    "no overlap": schedule_rules.no_overlap,
    "no schedule waits for ever": schedule_rules.waiting,
    "statistics add up": schedule_rules.statistics,
    "limits hold": limit_rules.limits,
    "limits by key hold": key_limit_rules.limits_by_key,
    "owners take turns": key_limit_rules.turns,
    "a key has one job": option_rules.unique,
    "attempts count as they should": option_rules.counted,
    "expired jobs do not begin": option_rules.expires,
    "groups end with their last member": group_rules.ended,
    "a job after a group begins after it": group_rules.then_after_members,
    "groups count their members": group_rules.counts,
    "a job after others begins after them": group_rules.after_dependencies,
}


class Finding(NamedTuple):
    """A rule that was broken, and a sentence that names the rows concerned."""

    rule: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


def check(
    connection: Connection,
    records: Iterable[Record | Mapping[str, Any]] = (),
    settings: Settings = Settings(),
    *,
    effects_table: str = "effects",
) -> list[Finding]:
    """Check all rules on a connection of sqlite3 or psycopg, with the log of the bodies; an empty list if all hold."""
    tables, log = Tables(connection, effects_table), BodyLog.of(records)
    return [
        Finding(name, sentence)
        for name, rule in RULES.items()
        for sentence in rule(tables, log, settings)
    ]
