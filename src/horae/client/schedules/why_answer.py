"""The answer to why a schedule did or did not run at a moment, and the answer in words."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from horae.domain.schedules import Decision, DisabledReason, Reason
from horae.domain.schedules.why import WhyKind
from horae.domain.times import load_zone
from horae.sentences import in_two_units
from horae.storage.nodes import NodeLife

_DISABLED: Final = {
    DisabledReason.PAUSED: "The schedule is paused",
    DisabledReason.EXHAUSTED: "All times of the schedule are over",
    DisabledReason.RETRIES_USED_UP: (
        "The schedule gave up, because it failed more often in a row than max_retries allows"
    ),
    DisabledReason.DEPLOYMENT_GONE: (
        "The deployment that declared the schedule no longer exists, or was scaled to zero"
    ),
}
_NOT_RUN: Final = {
    (Decision.COALESCED, Reason.LATE): "A later run took its place: no node could start it in time",
    (Decision.COALESCED, Reason.CATCH_UP): (
        "A later run took its place, which made up for several missed times"
    ),
    (Decision.COALESCED, Reason.OVERLAP): (
        "A later run took its place, because the previous run was still in progress"
    ),
    (Decision.SKIPPED, Reason.OVERLAP): "It was skipped: the previous run was still in progress",
    (Decision.SKIPPED, Reason.PAUSED): "It was skipped: the schedule was disabled",
    (Decision.SKIPPED, Reason.ALTERED): (
        "It was skipped: the schedule was changed before it was decided, and no longer had this"
        " time"
    ),
    (Decision.SKIPPED, Reason.REQUESTED): "It was skipped on request",
    (Decision.SKIPPED, Reason.REPLACED): "It was skipped: the next start was moved to another time",
    (Decision.SKIPPED, Reason.EXCLUDED): "It was skipped: its calendar excludes this day",
    (Decision.SKIPPED, Reason.DEPLOYMENT_GONE): (
        "It was skipped: the deployment that declared the schedule was gone"
    ),
    (Decision.MISSED, Reason.LIMIT): (
        "It was missed: more times had passed than catch_up_limit allows"
    ),
    (Decision.MISSED, Reason.WINDOW): (
        "It was missed: no node could start it before it was older than catch_up_window"
    ),
    (Decision.MISSED, Reason.CATCH_UP_NONE): (
        "It was missed: no node could start it on time, and the schedule does not catch up"
    ),
}
_RAN: Final = {
    Reason.ON_TIME: "It started on time",
    Reason.CATCH_UP: "It started late, to catch up on a missed time",
    Reason.BUFFERED: "It started when the previous run had ended",
    Reason.BACKFILL: "It was run for this past time by a backfill",
    Reason.MOVED: "It started at the time to which the next start was moved",
    Reason.RETRY: "It was a retry after a failure",
    Reason.MANUAL: "It was started by hand",
}
_TO_SKIP: Final = {
    Reason.EXCLUDED: "It will be skipped: its calendar excludes this day",
    Reason.REQUESTED: "It will be skipped on request",
    Reason.REPLACED: "It will be skipped: the next start was moved to another time",
}
_FIXED: Final = {
    WhyKind.EVERYTHING_PAUSED: "It is due, and all queues and schedules are paused",
    WhyKind.OTHER_RULES: "The schedule had other times then, or was not enabled yet",
    WhyKind.FORGOTTEN: (
        "It is no longer known: decisions are kept as long as the jobs of the schedule"
    ),
}
_UNITS: Final = (" d", " h", " min", " s")
_MOST_NODES: Final = 5
"""The number of nodes that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleWhy:
    """Why a schedule did or did not run at a moment.

    `nominal_time`, `until`, `count`, `decision`, `reason`, `decided_at` and `decided_by` are those
    of the row of the ledger, None without one.
    """

    schedule_id: int
    name: str
    timezone: str
    moment: datetime
    kind: WhyKind
    """The reason for programs."""
    text: str
    """The reason in a sentence or two."""
    nominal_time: datetime | None = None
    until: datetime | None = None
    count: int | None = None
    decision: str | None = None
    reason: str | None = None
    """Also why a time to come will be skipped."""
    decided_at: datetime | None = None
    decided_by: str | None = None
    job_id: int | None = None
    """The job that ran last for the nominal time."""
    job_state: str | None = None
    job_error: str | None = None
    waiting_reason: str | None = None
    blocked_by: int | None = None
    """The job of the run that was in progress."""
    disabled_reason: str | None = None
    paused_by: str | None = None
    """Who has paused the schedule."""
    paused_at: datetime | None = None
    note: str | None = None
    start: datetime | None = None
    """When a time that is due or to come starts."""
    before: datetime | None = None
    """The nearest time before the moment."""
    after: datetime | None = None
    """The nearest time after it."""
    nodes: list[NodeLife] = field(default_factory=list[NodeLife])
    """The nodes that were up."""
    no_node_from: datetime | None = None
    """When the last node ended, if none was up."""
    no_node_until: datetime | None = None
    """When the next node started."""

    @property
    def of_values(self) -> tuple[str, ...]:
        """The part of the text that may repeat parameters, which some readers do not see."""
        said = _said_of_job(self)
        return (said,) if said else ()


def in_words(answer: ScheduleWhy, now: datetime) -> str:
    """Return the reason in English: what happened, why, and which nodes were up if that matters."""
    sentences = [_reason(answer, now)]
    if answer.paused_by is not None or answer.note:
        who = f" by {answer.paused_by}" if answer.paused_by else ""
        when = f" at {_shown(answer, answer.paused_at)}" if answer.paused_at else ""
        note = f": {answer.note.rstrip('.')}" if answer.note else ""
        sentences.append(f"It was paused{who}{when}{note}")
    if answer.no_node_from is not None or answer.no_node_until is not None:
        since = f" from {_shown(answer, answer.no_node_from)}" if answer.no_node_from else ""
        until = f" until {_shown(answer, answer.no_node_until)}" if answer.no_node_until else ""
        sentences.append(f"No node was up{since}{until}")
    elif answer.nodes:
        named = ", ".join(f"{node.name} ({node.host})" for node in answer.nodes[:_MOST_NODES])
        more = len(answer.nodes) - _MOST_NODES
        others = f" and {more} more" if more > 0 else ""
        then = "now" if answer.kind is WhyKind.TO_COME else "at that time"
        sentences.append(f"Up {then}: {named}{others}")
    return " ".join(f"{each}." for each in sentences if each)


def _reason(answer: ScheduleWhy, now: datetime) -> str:
    if answer.kind in _FIXED:
        return _FIXED[answer.kind]
    match answer.kind:
        case WhyKind.DECIDED:
            text = _decision(answer)
        case WhyKind.TO_COME:
            text = f"It is still to come: it starts at {_shown(answer, answer.start)}"
        case WhyKind.WILL_BE_SKIPPED:
            text = _TO_SKIP[Reason(answer.reason or Reason.EXCLUDED)]
        case WhyKind.WAIT_AFTER_CRASH:
            text = (
                "It comes during the wait after a crash, and is decided when that ends, at"
                f" {_shown(answer, answer.start)}"
            )
        case WhyKind.RUN_IN_PROGRESS:
            text = (
                f"It came due while the previous run, job {answer.blocked_by}, was in progress, and"
                " is decided when that run ends"
            )
        case WhyKind.OVERDUE:
            late = now - (answer.start or answer.moment)
            length = in_two_units(late.total_seconds(), _UNITS)
            text = f"It has been due for {length}, and no node has started it yet"
        case WhyKind.DISABLED:
            text = _DISABLED[DisabledReason(answer.disabled_reason or DisabledReason.PAUSED)]
        case WhyKind.NOT_CREATED_YET:
            text = f"The schedule did not exist yet: it was added at {_shown(answer, answer.after)}"
        case WhyKind.NO_FIXED_TIMES:
            text = f"Its interval counts from the end of each run{_nearest(answer)}"
        case _:
            text = f"It is not a time of this schedule{_nearest(answer)}"
    return text


def _decision(answer: ScheduleWhy) -> str:
    decision, reason = Decision(answer.decision or ""), Reason(answer.reason or "")
    if decision is not Decision.FIRED:
        text = _NOT_RUN.get((decision, reason), f"It was {decision.value}: {reason.value}")
        job = "" if answer.blocked_by is None else f" as job {answer.blocked_by}"
        others = (answer.count or 1) - 1
        return f"{text}{job}" + (f"; so were {others:,} times beside it" if others else "")
    if reason is Reason.LATE:
        late = (answer.decided_at or answer.moment) - (answer.nominal_time or answer.moment)
        length = in_two_units(late.total_seconds(), _UNITS)
        text = f"It started {length} late: no node could start it on time"
    else:
        text = _RAN.get(reason, f"It was started: {reason.value}")
    if answer.job_id is None:
        return text
    if answer.job_state is None:
        return f"{text}. Its job {answer.job_id} has been deleted since"
    return f"{text}. Job {answer.job_id} is {answer.job_state}{_said_of_job(answer)}"


def _said_of_job(answer: ScheduleWhy) -> str:
    """Return why the job failed or waits, to follow its state."""
    error = f": {answer.job_error}" if answer.job_error else ""
    waits = f". {answer.waiting_reason.rstrip('.')}" if answer.waiting_reason else ""
    return f"{error.rstrip('.')}{waits}"


def _nearest(answer: ScheduleWhy) -> str:
    named = [_shown(answer, each) for each in (answer.before, answer.after) if each is not None]
    if not named:
        return ""
    return f"; the nearest {'are' if len(named) > 1 else 'is'} {' and '.join(named)}"


def _shown(answer: ScheduleWhy, moment: datetime | None) -> str:
    """Return a moment by the clock of the schedule's zone, with its offset."""
    if moment is None:
        return "an unknown time"
    local = moment.astimezone(load_zone(answer.timezone))
    return local.isoformat(sep=" ", timespec="seconds")
