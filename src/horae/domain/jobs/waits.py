"""Bodies that wait for jobs and groups, and the circles in which none of them would ever end."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from horae.domain.jobs.groups import GroupId
from horae.domain.jobs.job import JobId


class WaitTarget(NamedTuple):
    """A job or a group, whose end something waits for."""

    kind: str
    id: int

    @classmethod
    def job(cls, job_id: JobId) -> "WaitTarget":
        """Return a job."""
        return cls("job", job_id)

    @classmethod
    def group(cls, group_id: GroupId) -> "WaitTarget":
        """Return a group with the job after it."""
        return cls("group", group_id)


class Prerequisite(NamedTuple):
    """What a pending job waits for: a job of its `after`, or the group whose `then` it is."""

    job_id: JobId
    awaited: WaitTarget


@dataclass(frozen=True, slots=True)
class Wait:
    """A body that waits, in one attempt of its job; `group_id`: the group of that job."""

    job_id: JobId
    lease: int
    group_id: GroupId | None
    awaited: WaitTarget


def circle_of(
    wait: Wait, waits: Iterable[Wait], prerequisites: Iterable[Prerequisite]
) -> Sequence[WaitTarget] | None:
    """Return the shortest circle that leads from a wait to its own job; None if there is none."""
    leads: dict[WaitTarget, list[WaitTarget]] = {}
    for each in (*waits, wait):
        leads.setdefault(WaitTarget.job(each.job_id), []).append(each.awaited)
        if each.group_id is not None:
            leads.setdefault(WaitTarget.group(each.group_id), []).append(
                WaitTarget.job(each.job_id)
            )
    for job_id, awaited in prerequisites:
        leads.setdefault(WaitTarget.job(job_id), []).append(awaited)
    start = WaitTarget.job(wait.job_id)
    ways: dict[WaitTarget, tuple[WaitTarget, ...]] = {wait.awaited: (start, wait.awaited)}
    reached = [wait.awaited]
    for target in reached:
        if target == start:
            return ways[target]
        for further in leads.get(target, ()):
            if further not in ways:
                ways[further] = (*ways[target], further)
                reached.append(further)
    return None


def described(circle: Sequence[WaitTarget]) -> str:
    """Return a circle in words: job 5 waits for job 6, which waits for group 2 with job 9, which
    waits for job 5.
    """
    words = [f"{circle[0].kind} {circle[0].id} waits for {circle[1].kind} {circle[1].id}"]
    for before, each in pairwise(circle[1:]):
        within = before.kind == "group"
        words.append(f"{' with' if within else ', which waits for'} {each.kind} {each.id}")
    return "".join(words)
