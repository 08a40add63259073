"""Where a change of the clocks leaves out, moves or repeats a time of a cron schedule."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from horae.domain.cron import CronExpression
from horae.domain.schedules.schedule import Rules
from horae.domain.schedules.trigger import CronTrigger
from horae.domain.times import EPOCH, load_zone, span_at
from horae.sentences import Sentence, SentenceCode, counted

_SHOWN: Final = 3
"""Maximum number of wall times that a surprise lists; the others are only counted."""
_SECOND: Final = timedelta(seconds=1)
_LEFT_OUT: Final = SentenceCode.TIMES_LEFT_OUT
_TWICE: Final = SentenceCode.TIMES_TWICE


class ClockChange(StrEnum):
    """The direction of a change."""

    FORWARD = "forward"
    BACK = "back"


class ChangeOfClocks(NamedTuple):
    """A moment at which the offset of a zone changes, in seconds since 1970."""

    instant: int
    before: int
    after: int

    @property
    def at(self) -> datetime:
        """The moment."""
        return _moment(self.instant)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSurprise:
    """Nominal times of a schedule that a daylight-saving change skips or repeats.

    `wall`: the first of them, as the clock on the wall shows them (naive); `times`: how many there
    are. `runs`: when the first of their runs start, in the zone; `fires`: how many there are.
    """

    schedule: str
    change: ClockChange
    at: datetime
    zone: str
    wall: tuple[datetime, ...]
    times: int
    runs: tuple[datetime, ...]
    fires: int

    @property
    def text(self) -> str:
        """What happens, in one sentence."""
        wall = [f"{moment:%H:%M:%S}".removesuffix(":00") for moment in self.wall]
        runs = [
            f"{moment:%H:%M:%S}".removesuffix(":00") + f"{moment:%z}"[:3] for moment in self.runs
        ]
        number = counted(self.fires, "run")
        fires = f"{number}, at {_join_shown(runs, self.fires)}" if self.fires else "no run"
        if self.change is ClockChange.FORWARD:
            what, code = _verb(self.times, "is left out", "are left out"), _LEFT_OUT
        else:
            what, code = _verb(self.times, "comes twice", "come twice"), _TWICE
        return Sentence(
            f"{_join_shown(wall, self.times)} {what}: {fires}",
            code,
            wall=wall,
            more_wall=self.times - len(wall),
            runs=runs,
            more_runs=self.fires - len(runs),
        )


def surprises_of(
    name: str, rules: Rules, start: datetime, end: datetime
) -> Iterator[ClockSurprise]:
    """Yield the surprises of a schedule within a period; intervals and UTC have none."""
    if not isinstance(rules.trigger, CronTrigger) or rules.trigger.timezone == "UTC":
        return
    expression = rules.trigger.expression
    for change in changes_between(expression.timezone, start, end):
        if (found := _surprise(name, expression, change)) is not None:
            yield found


def changes_between(zone: str, start: datetime, end: datetime) -> Iterator[ChangeOfClocks]:
    """Yield the changes of a zone's clocks with `start <= change < end`."""
    instant, last = -(-(start - EPOCH) // _SECOND) - 1, (end - EPOCH) // _SECOND
    while (span := span_at(zone, instant)).end < last:
        if span.offset != span.next_offset:
            yield ChangeOfClocks(span.end, span.offset, span.next_offset)
        instant = span.end


def _surprise(
    name: str, expression: CronExpression, change: ChangeOfClocks
) -> ClockSurprise | None:
    forward = change.after > change.before
    first = change.instant + (change.before if forward else change.after)
    last = change.instant + (change.after if forward else change.before)
    # On a clock that never changes, the expression fires at each wall time that it names.
    even = CronExpression.parse(expression.text)
    opens, closes = _moment(first - 1), _moment(last - 1)
    times = even.count(opens, closes)
    if not times:
        return None
    wall = tuple(moment.replace(tzinfo=None) for moment in even.upcoming(opens, min(times, _SHOWN)))
    # What the gap held fires when it ends; what a fold holds fires in either pass.
    length = last - first
    begins, ends = (
        (change.instant - 1, change.instant)
        if forward
        else (change.instant - length - 1, change.instant + length - 1)
    )
    fires = expression.count(_moment(begins), _moment(ends))
    if (
        forward
        and expression.next_after(_moment(begins)) == _moment(change.instant)
        and even.count(_moment(last - 1), _moment(last)) == 1
    ):
        fires = 0  # that run has its own time, the first after the gap
    zone = load_zone(expression.timezone)
    runs = tuple(
        moment.astimezone(zone)
        for moment in expression.upcoming(_moment(begins), min(fires, 2 * _SHOWN))
    )
    return ClockSurprise(
        schedule=name,
        change=ClockChange.FORWARD if forward else ClockChange.BACK,
        at=change.at,
        zone=expression.timezone,
        wall=wall,
        times=times,
        runs=runs,
        fires=fires,
    )


def _moment(second: int) -> datetime:
    return EPOCH + second * _SECOND


def _join_shown(texts: list[str], count: int) -> str:
    more = count - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _verb(count: int, one: str, many: str) -> str:
    return one if count == 1 else many
