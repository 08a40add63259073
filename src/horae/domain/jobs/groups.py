"""The rules of groups: when `then` may run, when a group is cancelled, and what a job does whose
dependency failed.

A group counts how its members have ended. Once all have ended, `then` may run; it runs at once for
a group without members. A group with `on_failure="cancel"` is cancelled by the first member that
does not finish: the members that are left and `then` are cancelled.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from math import ceil
from typing import Final, NewType

from horae.domain.jobs.job import ACTIVE, ENDED, JobId, JobState

GroupId = NewType("GroupId", int)

REPORTED: Final = 0
"""All that waited for the end of the job were notified of it."""
AWAITED_BY_GROUP: Final = 1
"""Only a group waits for the end of the job."""
AWAITED_BY_JOBS: Final = 2
"""Other jobs wait for the end of the job, and perhaps a group."""


class OnFailure(StrEnum):
    """What a group does when a member fails or is cancelled."""

    CONTINUE = "continue"
    CANCEL = "cancel"


class OnDependencyFailure(StrEnum):
    """What happens to a job when a job that it waits for fails or is cancelled."""

    CANCEL = "cancel"
    FAIL = "fail"
    RUN = "run"


class GroupState(StrEnum):
    """`open`: members may be added; `ended`: all have ended; `cancelled`: it was cancelled."""

    OPEN = "open"
    ENDED = "ended"
    CANCELLED = "cancelled"


class DependentStep(StrEnum):
    """Whether a job that waits for others, or for a group, is released, ends, or still waits."""

    WAIT = "wait"
    RELEASE = "release"
    CANCEL = "cancel"
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Jobs that are watched and cancelled together, as they were stored when they were read.

    `total` members, of which so many have `finished`, `failed`, or were `cancelled`. `then_id`: the
    job that runs when all have ended. `inserting_at`: set while the call that starts the group
    still inserts members. `progress_percentage` is the mean of the members'.
    """

    id: GroupId
    owner: str | None
    on_failure: OnFailure
    then_id: JobId | None
    total: int
    finished: int
    failed: int
    cancelled: int
    created_at: datetime
    inserting_at: datetime | None = None
    cancelled_at: datetime | None = None
    cancelled_by: str | None = None
    ended_at: datetime | None = None
    progress_percentage: int = 0

    @property
    def unfinished(self) -> int:
        """The number of members that have not ended."""
        return self.total - self.finished - self.failed - self.cancelled

    @property
    def is_complete(self) -> bool:
        """Whether every member has ended and the call that starts the group inserts no more."""
        return self.unfinished == 0 and self.inserting_at is None

    @property
    def state(self) -> GroupState:
        """Whether members may be added."""
        if self.cancelled_at is not None:
            return GroupState.CANCELLED
        return GroupState.OPEN if self.ended_at is None else GroupState.ENDED


@dataclass(frozen=True, slots=True)
class Advanced:
    """A group after members have ended.

    `cancels`: these ends cancel it; `ends`: it has ended with them.
    """

    group: Group
    then: DependentStep
    cancels: bool = False
    ends: bool = False


def advance(
    group: Group, ends: Mapping[JobState, int], now: datetime, by: str | None = None
) -> Advanced:
    """Count these ends of members; decide whether `then` may run, and whether the group is
    cancelled.

    `by`: the name under which it is cancelled if a member did not finish.
    """
    counted = {state.value: getattr(group, state) + ends.get(state, 0) for state in ENDED}
    after = replace(group, **counted)
    unsuccessful = ends.get(JobState.FAILED, 0) + ends.get(JobState.CANCELLED, 0)
    cancels = (
        unsuccessful > 0 and group.on_failure is OnFailure.CANCEL and group.cancelled_at is None
    )
    if cancels:
        after = replace(after, cancelled_at=now, cancelled_by=by)
    return end_if_complete(after, now, cancels=cancels, was_ended=group.ended_at is not None)


def end_if_complete(
    group: Group, now: datetime, *, cancels: bool = False, was_ended: bool = False
) -> Advanced:
    """End the group if it is complete, and release or cancel `then` once."""
    ends = group.is_complete and not was_ended
    after = replace(group, ended_at=now) if ends else group
    then = DependentStep.RELEASE if ends and group.cancelled_at is None else DependentStep.WAIT
    return Advanced(after, DependentStep.CANCEL if cancels else then, cancels=cancels, ends=ends)


def progress_of(group: Group, live: Iterable[int]) -> int:
    """Return the mean of the members' percentages; 100 only when all have ended.

    `live`: the percentages of members that are running. A member that has ended counts as 100,
    however it ended.
    """
    if group.unfinished <= 0:
        return 0 if group.inserting_at is not None else 100
    ended = group.total - group.unfinished
    return min(99, ceil(Fraction(100 * ended + sum(live), group.total)))


def after_dependencies(
    states: Iterable[JobState], on_failure: OnDependencyFailure
) -> DependentStep:
    """Decide about a job from the states of all jobs that it waits for.

    The first one that did not finish decides at once, unless the job runs anyway.
    """
    found = set(states)
    if on_failure is not OnDependencyFailure.RUN and found & {JobState.FAILED, JobState.CANCELLED}:
        return DependentStep(on_failure.value)
    return DependentStep.WAIT if found & ACTIVE else DependentStep.RELEASE
