"""The checks of schedules that are late, fail, are disabled, or start a type that no node knows."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

from horae.client.doctor.finding import (
    NAMED,
    About,
    Deed,
    Finding,
    Noun,
    length_of,
    ok,
    problem,
    warning,
)
from horae.client.doctor.work import START_NODE, by_whom
from horae.sentences import Sentence, SentenceCode, counted
from horae.storage.nodes import NodeView
from horae.storage.operations import LastChange
from horae.storage.schedules import (
    FailingSchedule,
    LateSchedule,
    MissedSchedule,
    PausedSchedule,
    ScheduleHealth,
    WaitingSchedule,
)

CHECK: Final = "schedules"


def schedule_findings(
    troubles: ScheduleHealth, alive: Sequence[NodeView], *, known: Collection[str]
) -> Iterator[Finding]:
    """Report problems of schedules. `known`: the job types that this application declares."""
    enabled = sum(troubles.job_types.values())
    found = [
        *late_findings(troubles.late, alive),
        *_report_waiting(troubles.waiting),
        *failing_findings(troubles.failing),
        *_report_unknown(troubles, alive, known),
    ]
    if enabled and alive and not troubles.late and not _fires(alive):
        found.append(
            warning(
                CHECK,
                Sentence(
                    f"{counted(enabled, 'enabled schedule')}, and no live node has the role"
                    " scheduler, so none will start",
                    SentenceCode.NODES_WITHOUT_SCHEDULER,
                    schedules=enabled,
                ),
                Sentence(
                    "Start one: `horae run module:attribute --roles scheduler`.",
                    SentenceCode.DO_START_SCHEDULER,
                ),
                kind="no_scheduler",
            )
        )
    yield from found
    if not found:
        yield ok(CHECK, f"{enabled} enabled, none is late or failing")


def _fires(alive: Sequence[NodeView]) -> bool:
    """Return whether a live node fires schedules."""
    return any(view.is_scheduler for view in alive)


def late_findings(late: Sequence[LateSchedule], alive: Sequence[NodeView]) -> Iterator[Finding]:
    """Report schedules that should have started."""
    fires = _fires(alive)
    for each in late:
        yield problem(
            CHECK,
            Sentence(
                f"schedule {each.name!r} should have started {length_of(each.seconds)} ago but has"
                f" not{'' if fires else ': no node fires schedules'}",
                SentenceCode.SCHEDULE_OVERDUE,
                schedule=each.name,
                seconds=each.seconds,
                without_node=not fires,
            ),
            Sentence(
                "Read the logs of the nodes: they cannot start schedules, or cannot keep up.",
                SentenceCode.DO_READ_LOGS,
            )
            if fires
            else START_NODE,
            kind="schedule_late" if fires else "no_scheduler",
            since=timedelta(seconds=each.seconds),
            about=About(Noun.SCHEDULE, each.name, str(each.id)),
        )


def missed_findings(missed: Sequence[MissedSchedule]) -> Iterator[Finding]:
    """Report schedules that have left out nominal times, and have not run since."""
    for each in missed:
        times = "a run" if each.count == 1 else f"{each.count} runs"
        yield problem(
            CHECK,
            Sentence(
                f"schedule {each.name!r} has missed {times}, the first due at"
                f" {each.nominal_time:%Y-%m-%d %H:%M:%S} UTC ({each.reason})",
                SentenceCode.SCHEDULE_MISSED,
                schedule=each.name,
                runs=each.count,
                at=each.nominal_time,
                reason=str(each.reason),
            ),
            Sentence(
                f"`horae schedules run {each.id}` starts a run now.",
                SentenceCode.DO_RUN_SCHEDULE,
                id=each.id,
            ),
            kind="schedule_missed",
            since=each.nominal_time,
            about=About(Noun.SCHEDULE, each.name, str(each.id)),
        )


def paused_findings(
    paused: Sequence[PausedSchedule], count: int, changes: Mapping[str, LastChange]
) -> Iterator[Finding]:
    """Report paused schedules, of which there are `count`.

    `changes`: the last pause by the id or the name of each, if it is known.
    """
    for each in paused:
        change = changes.get(str(each.id)) or changes.get(each.name)
        since = "" if change is None else f" since {change.at:%Y-%m-%d %H:%M} UTC"
        yield warning(
            CHECK,
            Sentence(
                f"{each.name!r} has been paused{since}{by_whom(change, each.note)}",
                SentenceCode.SCHEDULE_PAUSED_SINCE,
                schedule=each.name,
                since=None if change is None else change.at,
                by=None if change is None else change.actor,
                note=each.note,
            ),
            Sentence(
                f"To continue, run `horae schedules resume {each.id}`.",
                SentenceCode.DO_RESUME_SCHEDULE,
                id=each.id,
            ),
            kind="schedule_paused",
            since=None if change is None else change.at,
            about=About(Noun.SCHEDULE, each.name, str(each.id)),
            deeds=(Deed.RESUME,),
        )
    if (more := count - len(paused)) > 0:
        yield warning(
            CHECK,
            Sentence(
                f"{more} more {'is' if more == 1 else 'are'} paused",
                SentenceCode.MORE_SCHEDULES_PAUSED,
                count=more,
            ),
            Sentence("See `horae schedules list`.", SentenceCode.DO_LIST_SCHEDULES),
            kind="schedule_paused",
        )


def _report_waiting(waiting: Sequence[WaitingSchedule]) -> Iterator[Finding]:
    """Report schedules that wait because the clock was set back, whether or not they have to."""
    for is_interval, advice in (
        (
            False,
            Sentence(
                "Set the clock right, or wait; `horae schedules run NAME` starts a run in the"
                " meantime.",
                SentenceCode.DO_SET_CLOCK,
            ),
        ),
        (
            True,
            Sentence(
                "A node pulls their next starts in within seconds: start one, `horae run"
                " module:attribute`.",
                SentenceCode.DO_START_NODE_FOR_INTERVALS,
            ),
        ),
    ):
        found = [each for each in waiting if each.is_interval is is_interval]
        if not found:
            continue
        named = [
            Sentence(
                f"{each.name!r} until {each.next_start:%Y-%m-%d %H:%M:%S} UTC",
                SentenceCode.SCHEDULE_UNTIL,
                schedule=each.name,
                at=each.next_start,
            )
            for each in found[:NAMED]
        ]
        others = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        why = (
            "intervals wait for their next start"
            if is_interval
            else "schedules wait, as earlier times are decided"
        )
        yield warning(
            CHECK,
            Sentence(
                f"the clock of the database was set back; {why}: {', '.join(named)}{others}",
                SentenceCode.CLOCK_SET_BACK,
                intervals=is_interval,
                named=named,
                more=len(found) - len(named),
            ),
            advice,
            kind="clock_set_back",
        )


def failing_findings(failing: Sequence[FailingSchedule]) -> Iterator[Finding]:
    """Report schedules that keep failing; those that gave up, and are disabled, come first."""
    for each in failing:
        failures = f"{counted(each.streak, 'failure')} in a row"
        about = About(Noun.SCHEDULE, each.name, str(each.id))
        if each.gave_up:
            yield problem(
                CHECK,
                Sentence(
                    f"schedule {each.name!r} is disabled, because its retries are used up:"
                    f" {failures}",
                    SentenceCode.SCHEDULE_GAVE_UP,
                    schedule=each.name,
                    failures=each.streak,
                ),
                Sentence(
                    f"See `horae schedules errors {each.id}`, fix the cause, then run `horae"
                    f" schedules resume {each.id}`.",
                    SentenceCode.DO_SEE_ERRORS_AND_RESUME,
                    id=each.id,
                ),
                kind="schedule_disabled",
                since=each.succeeded_at,
                about=about,
                deeds=(Deed.RESUME,),
            )
        else:
            yield warning(
                CHECK,
                Sentence(
                    f"schedule {each.name!r} keeps failing: {failures}",
                    SentenceCode.SCHEDULE_FAILING,
                    schedule=each.name,
                    failures=each.streak,
                ),
                Sentence(
                    f"See `horae schedules errors {each.id}`.",
                    SentenceCode.DO_SEE_ERRORS,
                    id=each.id,
                ),
                kind="schedule_failing",
                since=each.succeeded_at,
                about=about,
                deeds=(Deed.PAUSE,),
            )


def _report_unknown(
    troubles: ScheduleHealth, alive: Sequence[NodeView], known: Collection[str]
) -> Iterator[Finding]:
    """Report types that no worker knows; another check reports that no worker runs at all."""
    workers = [view for view in alive if view.is_worker]
    if not workers:
        return
    served = {name for view in workers for name in view.types}
    for kind, count in sorted(troubles.job_types.items()):
        if kind not in served:
            known_here = kind in known
            yield problem(
                CHECK,
                Sentence(
                    f"{counted(count, 'schedule')} for jobs of type {kind!r}, which no live node"
                    f" knows{', but this application does' if known_here else ''}",
                    SentenceCode.SCHEDULES_TYPE_UNKNOWN,
                    schedules=count,
                    type=kind,
                    known_here=known_here,
                ),
                Sentence(
                    "Run a node of the application that declares it, or delete the schedules if the"
                    " type is gone.",
                    SentenceCode.DO_RUN_OR_DELETE_SCHEDULES,
                ),
                kind="type_unknown",
                about=About(Noun.TYPE, kind),
            )
