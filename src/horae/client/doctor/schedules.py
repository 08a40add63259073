"""The checks of schedules that are late, fail, are disabled, or start a type that no node knows."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from horae.client.doctor.finding import Finding, counted, ok, problem, warning
from horae.storage.nodes import NodeView
from horae.storage.schedules import (
    FailingSchedule,
    OverdueSchedules,
    ScheduleHealth,
    WaitingSchedule,
)

CHECK: Final = "schedules"
NAMED: Final = 5
"""Maximum number of schedules of one kind that are named; further ones are only counted."""


def schedule_findings(
    troubles: ScheduleHealth, alive: Sequence[NodeView], *, known: Collection[str]
) -> Iterator[Finding]:
    """Report problems of schedules. `known`: the job types that this application declares."""
    found = [
        *_without_scheduler(troubles, alive),
        *_overdue(troubles.overdue, alive),
        *_waiting(troubles.waiting),
        *_gave_up([each for each in troubles.failing if each.gave_up]),
        *_failing([each for each in troubles.failing if not each.gave_up]),
        *_unknown(troubles, alive, known),
    ]
    yield from found
    if not found:
        yield ok(CHECK, f"{sum(troubles.job_types.values())} enabled, none is late or failing")


def _without_scheduler(troubles: ScheduleHealth, alive: Sequence[NodeView]) -> Iterator[Finding]:
    """Report that no live node fires schedules; once schedules are late, `_overdue` reports a
    problem.
    """
    enabled = sum(troubles.job_types.values())
    if enabled and alive and troubles.overdue is None and not _fires(alive):
        yield warning(
            CHECK,
            f"{counted(enabled, 'enabled schedule')}, and no live node has the role scheduler, so"
            " none will start",
            "Start one: `horae run module:attribute --roles scheduler`.",
        )


def _fires(alive: Sequence[NodeView]) -> bool:
    return any(view.is_scheduler for view in alive)


def _overdue(overdue: OverdueSchedules | None, alive: Sequence[NodeView]) -> Iterator[Finding]:
    if overdue is None:
        return
    others = f" and {overdue.count - 1} more" if overdue.count > 1 else ""
    what = (
        f"{overdue.name!r}{others} should have started (the oldest {overdue.seconds:.0f} s ago) but"
        " did not"
    )
    if _fires(alive):
        yield problem(
            CHECK,
            what,
            "Read the logs of the nodes: they cannot start schedules, or cannot keep up.",
        )
    else:
        yield problem(
            CHECK, f"{what}: no node fires schedules", "Start one: `horae run module:attribute`."
        )


def _waiting(waiting: Sequence[WaitingSchedule]) -> Iterator[Finding]:
    """Report schedules that wait because the clock was set back, whether or not they have to."""
    for is_interval, advice in (
        (
            False,
            (
                "Set the clock right, or wait; `horae schedules run NAME` starts a run in the"
                " meantime."
            ),
        ),
        (
            True,
            (
                "A node pulls their next starts in within seconds: start one, `horae run"
                " module:attribute`."
            ),
        ),
    ):
        found = [each for each in waiting if each.is_interval is is_interval]
        if not found:
            continue
        named = ", ".join(
            f"{each.name!r} until {each.next_start:%Y-%m-%d %H:%M:%S} UTC" for each in found[:NAMED]
        )
        others = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        why = (
            "intervals wait for their next start"
            if is_interval
            else "schedules wait, as earlier times are decided"
        )
        yield warning(
            CHECK, f"the clock of the database was set back; {why}: {named}{others}", advice
        )


def _gave_up(failing: Sequence[FailingSchedule]) -> Iterator[Finding]:
    for each in failing[:NAMED]:
        yield problem(
            CHECK,
            f"{each.name!r} is disabled, because its retries are used up: {_failures(each)}",
            f"See `horae schedules errors {each.id}`, fix the cause, then run `horae schedules"
            f" resume {each.id}`.",
        )
    if (more := len(failing) - NAMED) > 0:
        yield problem(
            CHECK, f"{more} more are disabled after failures", "See `horae schedules list`."
        )


def _failing(failing: Sequence[FailingSchedule]) -> Iterator[Finding]:
    for each in failing[:NAMED]:
        yield warning(
            CHECK,
            f"{each.name!r} keeps failing: {_failures(each)}",
            f"See `horae schedules errors {each.id}`.",
        )
    if (more := len(failing) - NAMED) > 0:
        yield warning(
            CHECK, f"{more} more have failed several times in a row", "See `horae schedules list`."
        )


def _unknown(
    troubles: ScheduleHealth, alive: Sequence[NodeView], known: Collection[str]
) -> Iterator[Finding]:
    """Report types that no worker knows; another check reports that no worker runs at all."""
    workers = [view for view in alive if view.is_worker]
    if not workers:
        return
    served = {name for view in workers for name in view.types}
    for kind, count in sorted(troubles.job_types.items()):
        if kind not in served:
            known_here = ", but this application does" if kind in known else ""
            yield problem(
                CHECK,
                f"{counted(count, 'schedule')} for jobs of type {kind!r}, which no live node"
                f" knows{known_here}",
                "Run a node of the application that declares it, or delete the schedules if the"
                " type is gone.",
            )


def _failures(failing: FailingSchedule) -> str:
    return f"{counted(failing.streak, 'failure')} in a row"
