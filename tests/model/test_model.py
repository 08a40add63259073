"""The models hold within their bounds, and each mutation of them violates the invariant that it is meant to."""

from collections.abc import Mapping
from dataclasses import fields

import pytest

from tests.model.checker import check
from tests.model.leases import Guards
from tests.model.suite import LEASE_MODELS, LEASES, TICK_MODELS, TICKS, Mutation, mutated
from tests.model.ticks import TickGuards


def smallest_first(models: Mapping[str, object]) -> list[object]:
    """The models prove a protocol and run no code of Horae, so that each run needs only the smallest."""
    first, *others = models
    return [first, *(pytest.param(bounds, marks=pytest.mark.nightly) for bounds in others)]


@pytest.mark.parametrize("bounds", smallest_first(LEASE_MODELS))
def test_every_state_of_leases_is_right(bounds: str) -> None:
    found = check(LEASE_MODELS[bounds])
    assert found.violation is None
    assert found.states > 10_000


@pytest.mark.parametrize("bounds", smallest_first(TICK_MODELS))
def test_every_state_of_ticks_is_right(bounds: str) -> None:
    found = check(TICK_MODELS[bounds])
    assert found.violation is None
    assert found.states > 5_000


@pytest.mark.parametrize("mutation", [*LEASES, *TICKS], ids=lambda mutation: mutation.guard)
def test_removing_a_guard_breaks_the_invariant(mutation: Mutation) -> None:
    found = mutated(mutation)
    assert found.violation is not None
    assert found.violation.what == mutation.violates, found.violation


def test_each_guard_has_a_mutation() -> None:
    for guards, mutations in ((Guards, LEASES), (TickGuards, TICKS)):
        assert {guard.name for guard in fields(guards)} == {
            mutation.guard for mutation in mutations
        }
