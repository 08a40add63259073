"""The bodies' own log: one JSON object a line, written by test bodies and by the test itself, on one clock.

A body writes `begin` first, `effect` for each row that it inserts into the table of effects in its job's transaction,
and `end` last. The test writes `created` for a job whose creation was confirmed, and `cancelled` for a job whose cancel
was confirmed. `at` is in seconds, on a clock that all writers share, such as the monotonic clock of one machine.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

BODIES: Final = frozenset({"begin", "effect", "end"})
CALLS: Final = frozenset({"created", "cancelled"})


class Record(NamedTuple):
    """One line. Those of calls have neither attempt nor lease nor node."""

    what: str
    job: int
    attempt: int = 0
    lease: int = 0
    node: str | None = None
    at: float = 0.0


class Body(NamedTuple):
    """One execution of a body; `end` is None if it never returned."""

    job: int
    attempt: int
    lease: int
    node: str | None
    begin: float
    end: float | None


@dataclass(frozen=True)
class BodyLog:
    """The records in the order of their time."""

    records: tuple[Record, ...] = ()

    @classmethod
    def of(cls, records: Iterable[Record | Mapping[str, Any]]) -> "BodyLog":
        """Return the log of these records or JSON objects; unknown fields of an object are ignored."""
        read = (each if isinstance(each, Record) else _record(each) for each in records)
        return cls(tuple(sorted(read, key=lambda record: record.at)))

    def jobs(self, what: str) -> set[int]:
        """Return the jobs that have a record of this kind."""
        return {record.job for record in self.records if record.what == what}

    def effects(self) -> dict[int, dict[int, int]]:
        """Return how many effects each attempt has logged, by job and lease."""
        found: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for record in self.records:
            if record.what == "effect":
                found[record.job][record.lease] += 1
        return found

    def bodies(self) -> list[Body]:
        """Return all executions, in the order in which they began."""
        found: list[Body] = []
        running: dict[tuple[int, int], int] = {}
        for record in self.records:
            key = record.job, record.lease
            if record.what == "begin":
                running[key] = len(found)
                found.append(
                    Body(record.job, record.attempt, record.lease, record.node, record.at, None)
                )
            elif record.what == "end" and key in running:
                place = running.pop(key)
                found[place] = found[place]._replace(end=record.at)
        return found


def _record(line: Mapping[str, Any]) -> Record:
    what = str(line["what"])
    if what not in BODIES | CALLS:
        raise ValueError(
            f"{what!r} in the log: expected one of {', '.join(sorted(BODIES | CALLS))}"
        )
    given = {name: line[name] for name in Record._fields if name in line}
    return Record(**given)


def read(*files: Path) -> Iterator[Mapping[str, Any]]:
    """Read the lines of files; a line that a kill has cut off can only be the last one, and is left out."""
    for file in files:
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        for number, line in enumerate(lines, 1):
            try:
                yield json.loads(line)
            except ValueError:
                if number < len(lines):
                    raise
