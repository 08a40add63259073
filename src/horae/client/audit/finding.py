"""The result of an audit."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import Connection

from horae.storage.engine import EARLIEST
from horae.storage.nodes import NodeView
from horae.storage.operations import invariants

MOST_KEPT: Final = 1_000
"""Maximum number of findings reported for each invariant; further ones are only counted."""
SLACK: Final = timedelta(seconds=1)
"""By how much moments of two statements may differ before they contradict each other."""


class Invariant(StrEnum):
    """What must hold at all times."""

    DECISIONS = "decisions"
    RUNS = "runs"
    OVERLAP = "overlap"
    ATTEMPTS = "attempts"
    ENDED_JOBS = "ended jobs"
    STATISTICS = "statistics"
    STUCK = "stuck"
    LIMITS = "limits"
    GROUPS = "groups"
    TAGS = "tags"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """A broken invariant, in a sentence that names the rows; their ids also apart, for programs."""

    invariant: Invariant
    message: str
    job_id: int | None = None
    schedule_id: int | None = None
    queue: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditReport:
    """The result of an audit.

    `since`: only times, attempts and ends from then on were checked; None: all. `checked`: how many
    rows of each kind. `not_shown`: findings beyond the first thousand of each invariant. `notes`:
    what could not be judged, and why.
    """

    since: datetime | None
    checked: Mapping[str, int]
    findings: Sequence[AuditFinding]
    not_shown: Mapping[str, int]
    notes: Sequence[str] = ()

    @property
    def clean(self) -> bool:
        """Return whether all invariants hold."""
        return not self.findings


@dataclass
class Audit:
    """One audit: the snapshot that it reads, and what it finds.

    It keeps no more findings than a reader needs. `begin`: only what happened from then on is
    checked; None: all. `alive`: the nodes that are alive. `keep`: how long ended jobs are kept;
    `unevenly_kept`: types that set that themselves, so that a newer job may be deleted before older
    ones.
    """

    connection: Connection
    begin: datetime | None
    now: datetime
    alive: Sequence[NodeView]
    keep: timedelta
    unevenly_kept: Collection[str]
    kept: list[AuditFinding] = field(default_factory=list[AuditFinding])
    checked: Counter[str] = field(default_factory=Counter[str])
    notes: list[str] = field(default_factory=list[str])
    found: Counter[Invariant] = field(default_factory=Counter[Invariant])

    @property
    def since(self) -> datetime:
        """From when on what happened is checked."""
        return self.begin or EARLIEST

    @property
    def workers(self) -> list[NodeView]:
        """The nodes that are alive and run jobs."""
        return [node for node in self.alive if node.is_worker]

    def stream(self, statement: Any, **given: Any) -> Iterator[Any]:
        """Read the rows of a statement."""
        return invariants.stream(self.connection, statement, **given)

    def add(
        self,
        invariant: Invariant,
        message: str,
        *,
        job: int | None = None,
        schedule: int | None = None,
        queue: str | None = None,
    ) -> None:
        """Add a finding."""
        self.found[invariant] += 1
        if self.found[invariant] <= MOST_KEPT:
            self.kept.append(
                AuditFinding(
                    invariant=invariant,
                    message=message,
                    job_id=job,
                    schedule_id=schedule,
                    queue=queue,
                )
            )

    def report(self) -> AuditReport:
        """Return the report, in the order of the invariants."""
        order = list(Invariant)
        return AuditReport(
            since=self.begin,
            checked=dict(self.checked),
            findings=sorted(self.kept, key=lambda finding: order.index(finding.invariant)),
            not_shown={
                name.value: count - MOST_KEPT
                for name, count in self.found.items()
                if count > MOST_KEPT
            },
            notes=self.notes,
        )


def show(moment: datetime) -> str:
    """Return a moment as findings show it."""
    return moment.isoformat()
