"""The checks of schedules that are late, fail, are disabled, or start a type that no node knows."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from horae.client.doctor.finding import Finding, count_of, ok, problem, warning
from horae.storage.nodes import NodeView
from horae.storage.schedules import (
    FailingSchedule,
    ScheduleHealth,
    WaitingSchedule,
)

CHECK: Final = "schedules"
NAMED: Final = 5
"""Maximum number of schedules of one kind that are named; further ones are only count_of."""


def schedule_findings(
    troubles: ScheduleHealth, alive: Sequence[NodeView], *, known: Collection[str]
) -> Iterator[Finding]:
    """Report problems of schedules. `known`: the job types that this application declares."""
    found = [
        *_report_late(troubles, alive),
        *_report_waiting(troubles.waiting),
        *_report_failing(troubles.failing),
        *_report_unknown(troubles, alive, known),
    ]
    yield from found
    if not found:
        yield ok(CHECK, f"{sum(troubles.job_types.values())} enabled, none is late or failing")


def _report_late(troubles: ScheduleHealth, alive: Sequence[NodeView]) -> Iterator[Finding]:
    """Report schedules that are late, or that will be, because no live node fires them."""
    fires = any(view.is_scheduler for view in alive)
    enabled, overdue = sum(troubles.job_types.values()), troubles.overdue
    if overdue is None:
        if enabled and alive and not fires:
            yield warning(
                CHECK,
                f"{count_of(enabled, 'enabled schedule')}, and no live node has the role scheduler,"
                " so none will start",
                "Start one: `horae run module:attribute --roles scheduler`.",
            )
        return
    others = f" and {overdue.count - 1} more" if overdue.count > 1 else ""
    what = (
        f"{overdue.name!r}{others} should have started (the oldest {overdue.seconds:.0f} s ago) but"
        " did not"
    )
    if fires:
        yield problem(
            CHECK,
            what,
            "Read the logs of the nodes: they cannot start schedules, or cannot keep up.",
        )
    else:
        yield problem(
            CHECK, f"{what}: no node fires schedules", "Start one: `horae run module:attribute`."
        )


def _report_waiting(waiting: Sequence[WaitingSchedule]) -> Iterator[Finding]:
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


def _report_failing(failing: Sequence[FailingSchedule]) -> Iterator[Finding]:
    """Report schedules that keep failing; those that gave up, and are disabled, come first."""
    disabled = [each for each in failing if each.gave_up]
    for each in disabled[:NAMED]:
        yield problem(
            CHECK,
            f"{each.name!r} is disabled, because its retries are used up:"
            f" {count_of(each.streak, 'failure')} in a row",
            f"See `horae schedules errors {each.id}`, fix the cause, then run `horae schedules"
            f" resume {each.id}`.",
        )
    if (more := len(disabled) - NAMED) > 0:
        yield problem(
            CHECK, f"{more} more are disabled after failures", "See `horae schedules list`."
        )
    others = [each for each in failing if not each.gave_up]
    for each in others[:NAMED]:
        yield warning(
            CHECK,
            f"{each.name!r} keeps failing: {count_of(each.streak, 'failure')} in a row",
            f"See `horae schedules errors {each.id}`.",
        )
    if (more := len(others) - NAMED) > 0:
        yield warning(
            CHECK, f"{more} more have failed several times in a row", "See `horae schedules list`."
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
            known_here = ", but this application does" if kind in known else ""
            yield problem(
                CHECK,
                f"{count_of(count, 'schedule')} for jobs of type {kind!r}, which no live node"
                f" knows{known_here}",
                "Run a node of the application that declares it, or delete the schedules if the"
                " type is gone.",
            )
