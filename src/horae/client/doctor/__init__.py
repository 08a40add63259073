"""The checks of `horae doctor`: each returns findings, with what to do about them.

Invariant: a check that fails is itself a finding; no check changes anything.
"""

from horae.client.doctor.backends import backend_findings
from horae.client.doctor.basics import (
    check_clock,
    check_hints,
    check_pooler,
    check_rows,
    first_checks,
    migrations_finding,
    refused_finding,
)
from horae.client.doctor.file import examine_file
from horae.client.doctor.finding import (
    USUAL,
    About,
    Counted,
    Deed,
    Finding,
    Level,
    Noun,
    count_of,
    length_of,
    problem,
    warning,
)
from horae.client.doctor.journals import journal_findings
from horae.client.doctor.redis import check_redis
from horae.client.doctor.replica import check_replica
from horae.client.doctor.server import SERVER, examine_server
from horae.client.doctor.slow_queues import (
    IdleSlots,
    LateQueue,
    idle_slots,
    late_queues,
    read_idle_slots,
)
from horae.client.doctor.system import system_findings
from horae.client.doctor.work import Dead, left_findings, misfit_findings, wait_findings

__all__ = [
    "SERVER",
    "USUAL",
    "About",
    "Counted",
    "Dead",
    "Deed",
    "Finding",
    "IdleSlots",
    "LateQueue",
    "Level",
    "Noun",
    "backend_findings",
    "check_clock",
    "check_hints",
    "check_pooler",
    "check_redis",
    "check_replica",
    "check_rows",
    "count_of",
    "examine_file",
    "examine_server",
    "first_checks",
    "idle_slots",
    "journal_findings",
    "late_queues",
    "left_findings",
    "length_of",
    "migrations_finding",
    "misfit_findings",
    "problem",
    "read_idle_slots",
    "refused_finding",
    "system_findings",
    "wait_findings",
    "warning",
]
