"""A node that was declared dead starts again, also if the database is unavailable at that moment."""

import asyncio
from collections.abc import Iterable

import pytest

from horae.errors import DatabaseReadOnly, InvalidRequest
from horae.runtime.node.node import run_incarnations
from horae.runtime.timing import Pauses

PAUSES = Pauses(0.001, 0.002)


class Story:
    """What each incarnation does in turn: it raises an error, or ends because the node was declared dead (None)."""

    def __init__(self, outcomes: Iterable[Exception | None]) -> None:
        self._outcomes = list(outcomes)
        self.ready, self.stop = asyncio.Event(), asyncio.Event()
        self.begun = 0

    async def run_one(self) -> None:
        self.begun += 1
        outcome = self._outcomes.pop(0)
        if not self._outcomes:
            self.stop.set()
        if outcome is not None:
            raise ExceptionGroup("services", [outcome])
        self.ready.set()

    async def run(self) -> None:
        await run_incarnations(self.run_one, self.ready, self.stop, PAUSES)


async def test_it_is_repeated_while_the_database_is_unavailable(
    caplog: pytest.LogCaptureFixture,
) -> None:
    away = DatabaseReadOnly("no writes now")
    story = Story([None, away, away, None, away, None])
    await story.run()
    assert story.begun == 6
    [first, second] = [record.message for record in caplog.records]
    assert first == second == "the node cannot start again yet: no writes now"


async def test_the_first_one_reports_every_error() -> None:
    story = Story([DatabaseReadOnly("no writes now"), None])
    with pytest.raises(ExceptionGroup):
        await story.run()
    assert story.begun == 1


async def test_other_errors_end_the_node() -> None:
    story = Story([None, InvalidRequest("a defect"), None])
    with pytest.raises(ExceptionGroup):
        await story.run()
    assert story.begun == 2
