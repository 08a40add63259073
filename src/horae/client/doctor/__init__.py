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
from horae.client.doctor.beside import check_redis, check_replica, journal_findings
from horae.client.doctor.file import examine_file
from horae.client.doctor.finding import (
    MOST_OF_A_KIND,
    USUAL,
    About,
    Counted,
    Deed,
    Finding,
    Level,
    Noun,
    first_of,
    problem,
    together,
    warning,
)
from horae.client.doctor.schedules import failing_findings, late_findings, missed_findings
from horae.client.doctor.server import examine_server
from horae.client.doctor.slow_queues import (
    idle_findings,
    late_limit_findings,
    late_queue_findings,
)
from horae.client.doctor.system import system_findings
from horae.client.doctor.work import (
    Dead,
    left_findings,
    lost_findings,
    misfit_findings,
    node_findings,
    wait_findings,
)

__all__ = [
    "MOST_OF_A_KIND",
    "USUAL",
    "About",
    "Counted",
    "Dead",
    "Deed",
    "Finding",
    "Level",
    "Noun",
    "backend_findings",
    "check_clock",
    "check_hints",
    "check_pooler",
    "check_redis",
    "check_replica",
    "check_rows",
    "examine_file",
    "examine_server",
    "failing_findings",
    "first_checks",
    "first_of",
    "idle_findings",
    "journal_findings",
    "late_findings",
    "late_limit_findings",
    "late_queue_findings",
    "left_findings",
    "lost_findings",
    "migrations_finding",
    "misfit_findings",
    "missed_findings",
    "node_findings",
    "problem",
    "refused_finding",
    "system_findings",
    "together",
    "wait_findings",
    "warning",
]
