"""What a schedule would do before it exists: its trigger in words, and its next times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from horae.client.schedule_words import (
    daylight_saving_in_words,
    trigger_in_words,
    words_in_languages,
)
from horae.client.schedules.calendars import with_calendar_days
from horae.domain.schedules import (
    CronTrigger,
    Rules,
    Timeline,
    Trigger,
    changes_between,
    skips,
    surprises_of,
    upcoming,
)
from horae.domain.times import load_zone
from horae.errors import CronSyntaxError
from horae.types import Registry, TriggerKeywords, part_of, trigger_of

MOST_TIMES: Final = 50
"""Maximum number of times of a preview."""
_YEAR_AHEAD: Final = timedelta(days=400)
"""How far ahead the next change of clocks is looked for; where clocks change they do each year."""
_KEY: Final = "preview"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedClockChange:
    """A change of a zone's clocks at a moment, from one offset to UTC to another.

    `text`: what it does to times of the schedule; None if it neither leaves out nor repeats one.
    """

    at: datetime
    before: timedelta
    after: timedelta
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a trigger means."""

    trigger: Trigger
    instead: str | None
    """The expression that was read in place of one with names, such as `@daily`, which are not
    stored.
    """
    words: str
    """The trigger in a sentence."""
    words_in: Mapping[str, str]
    """The same in other languages."""
    daylight_saving: str | None
    times: Sequence[datetime]
    """The next starts, in the schedule's zone; an interval that is counted from the end of a run
    has only the first.
    """
    skipped: int
    """How many times between these the calendar excludes."""
    clock_changes: Sequence[PreviewedClockChange]
    """Those up to the last of these times."""
    next_clock_change: datetime | None
    """The first one after the start of the preview."""


def preview_of(
    options: Mapping[str, Any], registry: Registry, now: datetime, count: int
) -> Preview:
    """Return what a trigger with these options means from `now` on.

    `options` are those of `TriggerKeywords`, and `exclude`. Names in a cron expression are
    translated. Raises `InvalidRequest` or a subclass.
    """
    given: TriggerKeywords = part_of(options, TriggerKeywords)
    instead: str | None = None
    try:
        trigger = trigger_of(given)
    except CronSyntaxError as error:
        if error.instead is None:
            raise
        instead = error.instead
        given["cron"] = instead
        trigger = trigger_of(given)
    exclude = tuple(options.get("exclude", ()))
    rules = Rules(key=_KEY, trigger=trigger, exclude=exclude)
    rules = with_calendar_days(rules, registry, now.date())
    zone = load_zone(trigger.timezone)
    first = (
        Timeline.of(rules).next_start(now)
        if (interval := rules.finish_trigger) is None
        else max(interval.initial_start or now, now)
    )
    times = [each.astimezone(zone) for each in upcoming(rules, first, now, count)]
    until = times[-1] if times else now
    next_change = next(changes_between(trigger.timezone, now, now + _YEAR_AHEAD), None)
    surprises = {each.at: each.text for each in surprises_of(_KEY, rules, now, until)}
    daylight_saving = None
    if isinstance(trigger, CronTrigger) and trigger.timezone != "UTC":
        daylight_saving = daylight_saving_in_words(trigger.expression)
    return Preview(
        trigger=trigger,
        instead=instead,
        words=trigger_in_words(trigger),
        words_in=words_in_languages(trigger),
        daylight_saving=daylight_saving,
        times=times,
        skipped=sum(ticks.count for ticks in skips(rules, now, first, until)),
        clock_changes=[
            PreviewedClockChange(
                at=change.at,
                before=timedelta(seconds=change.before),
                after=timedelta(seconds=change.after),
                text=surprises.get(change.at),
            )
            for change in changes_between(trigger.timezone, now, until)
        ],
        next_clock_change=None if next_change is None else next_change.at,
    )
