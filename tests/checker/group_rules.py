"""The rules of groups and of jobs that wait for others: a job after others begins once all of them have ended."""

from collections.abc import Iterator

from tests.checker.body_log import BodyLog
from tests.checker.settings import Settings
from tests.checker.tables import Tables, shown

OPEN = ("pending", "started")


def then_after_members(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """The job after a group begins when all members have ended, and never if the group was cancelled."""
    del log
    named: dict[int, int] = {}
    for group in tables.groups:
        if group.then_id is None:
            continue
        if group.then_id in named:
            yield f"job {group.then_id} is the job after groups {named[group.then_id]} and {group.id}"
        named[group.then_id] = group.id
        if group.cancelled_at is not None and tables.attempts[group.then_id]:
            yield f"group {group.id} was cancelled, but job {group.then_id} after it began"
        members = tables.members[group.id]
        yield from _began_early(tables, group.then_id, members, settings)


def counts(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """A group counts as many members that have not ended as there are."""
    del log, settings
    for group in tables.groups:
        left = group.total - group.finished - group.failed - group.cancelled
        there = sum(tables.jobs[job_id].state in OPEN for job_id in tables.members[group.id])
        if left != there:
            yield f"group {group.id} counts {left} members that have not ended, but there are {there}"


def ended(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """A group whose members have all ended has ended itself, and the job after it waits no longer."""
    del log, settings
    for group in tables.groups:
        if any(tables.jobs[job_id].state in OPEN for job_id in tables.members[group.id]):
            if group.ended_at is not None:
                yield f"group {group.id} has ended, but not all of its members"
        elif group.ended_at is None and group.inserting_at is None:
            yield f"all members of group {group.id} have ended, but it has not"
        begun = tables.attempts[group.then_id] if group.then_id is not None else []
        if begun and group.ended_at is None:
            yield f"job {group.then_id} after group {group.id} began, but the group has not ended"


def after_dependencies(tables: Tables, log: BodyLog, settings: Settings) -> Iterator[str]:
    """A job that waits for others begins when they have ended."""
    del log
    for after_id, job_id in tables.dependencies:
        if after_id in tables.jobs:
            yield from _began_early(tables, job_id, [after_id], settings)


def _began_early(
    tables: Tables, job_id: int, before: list[int], settings: Settings
) -> Iterator[str]:
    attempts = tables.attempts[job_id]
    if not attempts:
        return
    for each in before:
        end = tables.jobs[each].finished_at
        if end is None or (settings.steady_clock and attempts[0].started_at < end):
            yield f"job {job_id} began at {shown(attempts[0].started_at)}, but job {each} before it ended at {shown(end)}"
            return
