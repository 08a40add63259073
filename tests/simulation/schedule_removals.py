"""How the guards of calendars, backfills and run-time changes of schedules are removed."""

from typing import Final

from horae.client.schedules import deployments
from horae.domain.schedules import plan, skipping
from horae.storage.schedules import backfill
from tests.simulation.removals import Patch, instead, together

running_in_gaps: Final[Patch] = together(
    instead(plan, "gaps_of", lambda *_: ()), instead(skipping, "gaps_of", lambda *_: ())
)
"""Nominal times that are excluded, or skipped once, are judged like all others."""
backfilling_what_ran: Final[Patch] = instead(backfill, "known_times", lambda *_: set[object]())
"""A request takes no account of times that were run, or wait already."""
deploying_over_changes: Final[Patch] = instead(
    deployments, "redeclared", lambda _row, declared, _registry: declared
)
"""A deployment writes what the module declares."""
