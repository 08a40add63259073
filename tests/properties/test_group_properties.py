"""The rules of groups, for any order in which members end, are added and are cancelled."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from horae.domain.jobs.groups import (
    DependentStep,
    Group,
    GroupId,
    OnDependencyFailure,
    OnFailure,
    advance,
    after_dependencies,
    end_if_complete,
    progress_of,
)
from horae.domain.jobs.job import ACTIVE, ENDED, JobId, JobState

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ends = st.lists(st.sampled_from(sorted(ENDED)), max_size=20)
on_failures = st.sampled_from(OnFailure)


def new(total: int, on_failure: OnFailure) -> Group:
    """A group whose members are inserted."""
    return Group(
        id=GroupId(1),
        owner=None,
        on_failure=on_failure,
        then_id=JobId(1),
        total=total,
        finished=0,
        failed=0,
        cancelled=0,
        created_at=NOW,
    )


def played(
    group: Group, batches: Sequence[Sequence[JobState]]
) -> tuple[Group, list[DependentStep]]:
    """The group after these batches of ends, and each decision about `then`."""
    steps: list[DependentStep] = []
    for batch in batches:
        advanced = advance(group, {state: batch.count(state) for state in batch}, NOW, "job 1")
        assert advanced.ends == (advanced.group.ended_at is not None and group.ended_at is None)
        group = advanced.group
        steps += [advanced.then] if advanced.then is not DependentStep.WAIT else []
    return group, steps


@st.composite
def batches_of(draw: st.DrawFn, states: Sequence[JobState]) -> list[list[JobState]]:
    """The ends in any order, in batches of any size."""
    left = draw(st.permutations(states))
    batches: list[list[JobState]] = []
    while left:
        size = draw(st.integers(1, len(left)))
        batches.append(list(left[:size]))
        left = left[size:]
    return batches


@given(ends.filter(bool), on_failures, st.data())
def test_then_is_decided_exactly_once_in_any_order_of_ends(
    states: list[JobState], on_failure: OnFailure, data: st.DataObject
) -> None:
    group, steps = played(new(len(states), on_failure), data.draw(batches_of(states)))
    failed = any(state is not JobState.FINISHED for state in states)
    cancels = failed and on_failure is OnFailure.CANCEL
    assert steps == [DependentStep.CANCEL if cancels else DependentStep.RELEASE]
    assert group.ended_at is not None
    assert group.unfinished == 0
    assert (group.cancelled_at is not None) == cancels


@given(ends.filter(bool), on_failures, st.data())
def test_then_waits_while_a_member_is_left(
    states: list[JobState], on_failure: OnFailure, data: st.DataObject
) -> None:
    batches = data.draw(batches_of(states))
    group, steps = played(new(len(states) + 1, on_failure), batches)
    assert DependentStep.RELEASE not in steps
    assert group.ended_at is None
    added = replace(group, total=group.total + 1)
    _, steps = played(added, [[JobState.FINISHED], [JobState.FINISHED]])
    assert steps == ([DependentStep.RELEASE] if group.cancelled_at is None else [])


@given(ends, st.data())
def test_a_group_that_is_being_inserted_ends_when_that_is_done(
    states: list[JobState], data: st.DataObject
) -> None:
    group, steps = played(
        replace(new(len(states), OnFailure.CONTINUE), inserting_at=NOW),
        data.draw(batches_of(states)),
    )
    assert steps == []
    assert end_if_complete(replace(group, inserting_at=None), NOW).then is DependentStep.RELEASE


@given(ends, on_failures, st.data())
def test_a_cancelled_group_never_releases_then(
    states: list[JobState], on_failure: OnFailure, data: st.DataObject
) -> None:
    cancelled = end_if_complete(
        replace(new(len(states) + 1, on_failure), cancelled_at=NOW), NOW, cancels=True
    )
    assert cancelled.then is DependentStep.CANCEL
    group, steps = played(cancelled.group, [*data.draw(batches_of(states)), [JobState.CANCELLED]])
    assert steps == []
    assert group.ended_at is not None


@given(st.integers(0, 50), st.integers(0, 50), st.lists(st.integers(0, 100), max_size=20))
def test_progress_is_100_only_when_all_have_ended(ended: int, left: int, live: list[int]) -> None:
    group = replace(new(ended + left, OnFailure.CONTINUE), finished=ended)
    progress = progress_of(group, live[:left])
    assert 0 <= progress <= 100
    assert (progress == 100) == (left == 0)
    assert progress <= progress_of(
        replace(group, finished=ended + bool(left)), live[: max(left - 1, 0)]
    )


@given(
    st.lists(st.sampled_from(sorted(ENDED | ACTIVE)), max_size=6),
    st.sampled_from(OnDependencyFailure),
    st.randoms(use_true_random=False),
)
def test_a_dependent_is_decided_by_the_states_and_not_by_their_order(
    states: list[JobState], on_failure: OnDependencyFailure, random: object
) -> None:
    step = after_dependencies(states, on_failure)
    shuffled = list(states)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert after_dependencies(shuffled, on_failure) is step
    failed = not {JobState.FAILED, JobState.CANCELLED}.isdisjoint(states)
    if failed and on_failure is not OnDependencyFailure.RUN:
        assert step.value == on_failure.value
    elif ACTIVE.isdisjoint(states):
        assert step is DependentStep.RELEASE
    else:
        assert step is DependentStep.WAIT
