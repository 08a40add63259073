"""What cannot be meant is refused in our own words, not in those of a driver."""

from collections.abc import Callable
from itertools import repeat
from typing import Any, Final

import pytest

from horae import Horae, InvalidRequest, NotFound
from horae.domain.storable import escaped
from horae.errors import quoted


class Evil:
    def __repr__(self) -> str:
        raise RuntimeError("evil")

    __str__ = __repr__


CALLS: Final[dict[str, Callable[[Any], Any]]] = {
    "a text for an id": lambda horae: horae.jobs.get("1"),
    "True for an id": lambda horae: horae.jobs.get(True),
    "nothing for an id": lambda horae: horae.jobs.cancel(None),
    "an evil id": lambda horae: horae.jobs.get(Evil()),
    "a number for a session": lambda horae: horae.jobs.start("work", session=5),
    "a NUL in an owner": lambda horae: horae.jobs.list(owner="\x00"),
    "a line break in a queue": lambda horae: horae.jobs.start("work", queue="a\nb"),
    "a line break in an owner": lambda horae: horae.jobs.start("work", owner="a\nINFO forged"),
    "a line break in a key": lambda horae: horae.jobs.start("work", unique_key="a\r"),
    "an escape in who cancels": lambda horae: horae.jobs.cancel(1, by="\x1b[2J"),
    "an endless batch": lambda horae: horae.jobs.start_many("work", repeat({})),
    "one mapping for a batch": lambda horae: horae.jobs.start_many("work", {"number": 1}),
    "nothing for a batch": lambda horae: horae.jobs.start_many("work", None),
    "an evil owner": lambda horae: horae.jobs.start("work", owner=Evil()),
    "no schedule": lambda horae: horae.schedules.get(None),
    "True for a schedule": lambda horae: horae.schedules.get(True),
    "an evil schedule": lambda horae: horae.schedules.get(Evil()),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_call_is_refused(horae: Horae, call: str) -> None:
    @horae.job(name="work")
    def work() -> None: ...

    with pytest.raises((InvalidRequest, NotFound)):
        CALLS[call](horae)


def test_a_batch_of_an_iterator_is_as_good_as_a_list(horae: Horae, monkeypatch: pytest.MonkeyPatch) -> None:
    @horae.job
    def work() -> None: ...

    monkeypatch.setattr("horae.handler.creation.MOST_UNCOUNTED", 3)
    nothing: dict[str, Any] = {}
    assert len(horae.jobs.start_many(work, iter([nothing] * 3))) == 3
    assert len(horae.jobs.start_many(work, [nothing] * 4)) == 4
    with pytest.raises(InvalidRequest, match="more than 3 jobs"):
        horae.jobs.start_many(work, iter([nothing] * 4))
    assert sum(horae.jobs.count().values()) == 7


def test_an_evil_value_can_be_quoted() -> None:
    assert quoted(Evil()) == "(a Evil)"


def test_what_would_break_a_line_is_spelled_out() -> None:
    assert escaped("a\r\x1b[2J\u2028é") == "a\\r\\x1b[2J\\u2028é"
