"""A node asks for lanes that may be claimed seldom, while it claims plain jobs often."""

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from horae.domain.jobs.job import NodeId
from horae.runtime.claims import lane_claimer
from horae.runtime.claims.lane_claimer import LaneClaimer
from horae.runtime.timing import ClaimerTiming
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits.lane_claims import LaneClaims, LanesAhead

SCOPE = ClaimScope(node=NodeId("here"), types=("work",), queues=None)


class Asked:
    """A database that only tells whether lanes are due; each question takes a millisecond."""

    def __init__(self, due_in: float) -> None:
        self.due_in, self.questions, self.now = due_in, 0, 100.0

    async def autocommit_async(self, *_: Any) -> LanesAhead:
        self.questions += 1
        self.now += 0.001
        return LanesAhead(unfiled=False, due_in=self.due_in)

    async def transact_async(self, *_: Any) -> LaneClaims:
        return LaneClaims([], 10)


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
    assert lanes.due_in == float("inf"), "an idle node need not wake up for the lanes"


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
    assert lanes.due_in == pytest.approx(0.001)
    asked.now += 0.001
    await lanes.claim(SCOPE, 10, 10)
    assert asked.questions == 2
