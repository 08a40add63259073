"""A node asks for lanes that may be claimed seldom, while it claims plain jobs often."""

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from horae.domain.jobs.job import Claim, JobId, NodeId
from horae.runtime.claims import lane_claimer
from horae.runtime.claims.lane_claimer import LaneClaimer
from horae.runtime.timing import ClaimerTiming
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits.lane_claims import LaneClaims, LanesAhead

SCOPE = ClaimScope(node=NodeId("here"), types=("work",), queues=None)


class Asked:
    """A database that only tells whether lanes are due; each question takes a millisecond."""

    def __init__(self, due_in: float) -> None:
        self.due_in, self.questions, self.claims, self.now = due_in, 0, 0, 100.0
        self.next_in = float("inf")
        self.found = LaneClaims([], 10)

    async def autocommit_async(self, *_: Any) -> LanesAhead:
        self.questions += 1
        self.now += 0.001
        return LanesAhead(unfiled=False, due_in=self.due_in, next_in=self.next_in)

    async def transact_async(self, *_: Any) -> LaneClaims:
        self.claims += 1
        return self.found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    made = Asked(float("inf"))
    monkeypatch.setattr(lane_claimer, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


def claimer(asked: Asked) -> LaneClaimer:
    database: Any = asked
    return LaneClaimer(database, ClaimerTiming(ahead_rest=20), Random(1))


async def test_claims_ask_again_after_a_rest(asked: Asked) -> None:
    lanes = claimer(asked)
    for _ in range(100):
        await lanes.claim(SCOPE, 10, 10)
        asked.now += 0.001  # a claim of plain jobs
    assert asked.questions == 5, "one claim in 21 asks"
    assert lanes.next_look.at == float("inf"), "an idle node need not wake up for the lanes"


async def test_a_wake_up_asks_at_once(asked: Asked) -> None:
    lanes = claimer(asked)
    for _ in range(3):
        lanes.wake()
        await lanes.claim(SCOPE, 10, 10)
    assert asked.questions == 3


async def test_a_lane_is_claimed_when_it_is_due(asked: Asked) -> None:
    lanes = claimer(asked)
    asked.due_in = 0.005
    await lanes.claim(SCOPE, 10, 10)
    asked.now += 0.004
    await lanes.claim(SCOPE, 10, 10)
    assert asked.questions == 1
    assert lanes.next_look.at - asked.now == pytest.approx(0.001)
    asked.now += 0.001
    await lanes.claim(SCOPE, 10, 10)
    assert asked.questions == 2


def taken(lane: int) -> Claim:
    return Claim(JobId(lane), "work", "default", 0, None, None, 1, 1, 1, None, "{}", lane_id=lane)


@pytest.mark.parametrize(("rest", "gathered"), [(0.5, 0.02), (0.01, 0.01)])
async def test_starts_under_a_rate_gather_but_not_until_some_are_lost(
    asked: Asked, rest: float, gathered: float
) -> None:
    lanes = claimer(asked)
    asked.due_in, asked.found = 0, LaneClaims([taken(1)], 10, rest=rest, rated=frozenset({1}))
    await lanes.claim(SCOPE, 10, 10)
    asked.now += gathered - 0.001
    await lanes.claim(SCOPE, 10, 10)
    assert asked.claims == 1
    assert lanes.next_look.at - asked.now == pytest.approx(0.001)
    asked.now += 0.0011
    await lanes.claim(SCOPE, 10, 10)
    assert asked.claims == 2


async def test_the_end_of_a_job_makes_room_except_under_rates(asked: Asked) -> None:
    lanes = claimer(asked)
    asked.due_in, asked.found = 0, LaneClaims([taken(1), taken(2)], 10, rated=frozenset({1}))
    await lanes.claim(SCOPE, 10, 10)
    assert not lanes.makes_room({1})
    assert lanes.makes_room({1, 2})
    assert lanes.makes_room({3}), "a lane from which another node has claimed"
    asked.found = LaneClaims([taken(1)], 10)
    await lanes.claim(SCOPE, 10, 10)
    assert lanes.makes_room({1}), "its limit became a number of jobs at a time"


async def test_the_end_of_any_job_makes_room_where_slots_were_lacking(asked: Asked) -> None:
    lanes = claimer(asked)
    asked.due_in, asked.found = 0, LaneClaims([taken(1)], 10, rated=frozenset({1}))
    await lanes.claim(SCOPE, 10, 1)
    assert lanes.makes_room({1})


async def test_lanes_that_cannot_be_claimed_rest_until_others_are_due(asked: Asked) -> None:
    lanes = claimer(asked)
    asked.due_in, asked.found = 0, LaneClaims([], 10, skipped=True)
    pauses: list[float] = []
    for _ in range(10):
        await lanes.claim(SCOPE, 10, 10)
        pauses.append(lanes.next_look.at - asked.now)
        asked.now = lanes.next_look.at + 0.001
    assert asked.claims == 10
    assert pauses[-1] >= 0.5
    asked.next_in = 0.03
    await lanes.claim(SCOPE, 10, 10)
    assert lanes.next_look.at - asked.now == pytest.approx(0.03)
