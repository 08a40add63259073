"""Cron expressions of five to seven fields: `CronExpression.parse`, and `next_after` on its result.

Invariants: an expression is parsed once into a frozen value; `next_after` is pure, exact for
fractional seconds, and always later than its argument; an expression that can never fire, or that
other dialects read differently, is refused with the field, the text and what to write instead.
"""

from horae.domain.cron.expression import CronExpression
from horae.domain.cron.fields import WEEKDAYS, YEAR, CronField
from horae.domain.cron.wall_clock import DstFold, DstGap

__all__ = ["WEEKDAYS", "YEAR", "CronExpression", "CronField", "DstFold", "DstGap"]
