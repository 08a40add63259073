"""When schedules run, and what is decided about each of their nominal times. Pure.

Invariants: `plan` is the only function that computes a next start; the next start of an enabled
schedule is now or in the future; a nominal time gets exactly one decision; total_runs is the sum of
successes, failures and crashes.

Others use the values (`Schedule`, `Rules`, `Statistics`, `Tick`), `plan` and the previews made of
it.
"""

from horae.domain.schedules.clock_changes import ClockSurprise, changes_between, surprises_of
from horae.domain.schedules.exclusion import CALENDAR, RANGE, calendars_in, is_excluded
from horae.domain.schedules.plan import MAX_CLOCK_STEP_BACK, leaves_plan_alone
from horae.domain.schedules.planning_state import (
    Activated,
    Altered,
    BackfillChanged,
    ChangeWithdrawn,
    ClockSetBack,
    Due,
    Event,
    NextStartSet,
    OneTimeChange,
    Plan,
    Resumed,
    RunByHand,
    RunEnded,
    RunRetried,
    ScheduleSnapshot,
    SkipRequested,
    Stop,
)
from horae.domain.schedules.preview import skips, upcoming
from horae.domain.schedules.schedule import (
    NEXT_STATE,
    RULE_OPTIONS,
    CatchUp,
    DisabledReason,
    Overlap,
    RuleOption,
    Rules,
    ScheduleEvent,
    ScheduleState,
    ValueKind,
)
from horae.domain.schedules.skipping import gaps_of, spans_of
from horae.domain.schedules.statistics import RunOutcome, Statistics
from horae.domain.schedules.tick import (
    BESIDE,
    OF_THEIR_OWN,
    ON_TIME_WITHIN,
    REASONS,
    Decision,
    Reason,
    Ticks,
)
from horae.domain.schedules.timeline import Timeline
from horae.domain.schedules.trigger import CronTrigger, IntervalTrigger, Trigger, parse_trigger

__all__ = [
    "BESIDE",
    "CALENDAR",
    "MAX_CLOCK_STEP_BACK",
    "NEXT_STATE",
    "OF_THEIR_OWN",
    "ON_TIME_WITHIN",
    "RANGE",
    "REASONS",
    "RULE_OPTIONS",
    "Activated",
    "Altered",
    "BackfillChanged",
    "CatchUp",
    "ChangeWithdrawn",
    "ClockSetBack",
    "ClockSurprise",
    "CronTrigger",
    "Decision",
    "DisabledReason",
    "Due",
    "Event",
    "IntervalTrigger",
    "NextStartSet",
    "OneTimeChange",
    "Overlap",
    "Plan",
    "Reason",
    "Resumed",
    "RuleOption",
    "Rules",
    "RunByHand",
    "RunEnded",
    "RunOutcome",
    "RunRetried",
    "ScheduleEvent",
    "ScheduleSnapshot",
    "ScheduleState",
    "SkipRequested",
    "Statistics",
    "Stop",
    "Ticks",
    "Timeline",
    "Trigger",
    "ValueKind",
    "calendars_in",
    "changes_between",
    "gaps_of",
    "is_excluded",
    "leaves_plan_alone",
    "parse_trigger",
    "skips",
    "spans_of",
    "surprises_of",
    "upcoming",
]
