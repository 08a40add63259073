"""Names are checked by one rule, with one error text, wherever a caller gives one."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from horae.client.operations.queues import Queues
from horae.client.schedules.schedules import Schedules
from horae.domain.names import foreign_id, owner_id, queue_name, schedule_name, type_name
from horae.errors import InvalidRequest
from horae.types.job_type import JobType
from horae.types.options.start_options import StartOptions
from horae.types.registry import Registry

WRONG: Final = ["", " ", "q" * 201, "a\nb", "a\u00a0b", "nul\x00", "\ud800", "a\u202eb"]
RULE: Final = "expected 1 to 200 printable characters, not only spaces"


class Work(JobType[Any]):
    type = "work"

    def run(self, job: Any) -> None: ...


def declare(queue: Any) -> None:
    type("Declared", (Work,), {"queue": queue})()


def add_schedule(queue: Any) -> None:
    registry = Registry()
    registry.add(Work())
    unopened: Any = None  # a wrong name is refused before the database is used
    Schedules(unopened, registry, unopened, unopened).add("work", every="10m", queue=queue)


def pause_queue(queue: Any) -> None:
    unopened: Any = None
    Queues(unopened, unopened).pause(queue)


PLACES: Final[dict[str, Callable[[Any], object]]] = {
    "declaration": declare,
    "start": lambda queue: StartOptions(queue=queue),
    "schedule": add_schedule,
    "operation": pause_queue,
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("wrong", [*WRONG, 7])
def test_a_queue_is_refused_everywhere_with_the_same_text(place: str, wrong: Any) -> None:
    with pytest.raises(InvalidRequest) as expected:
        queue_name(wrong)
    assert str(expected.value).endswith(RULE)
    with pytest.raises(InvalidRequest) as refused:
        PLACES[place](wrong)
    assert str(refused.value).endswith(str(expected.value))


@pytest.mark.parametrize("parse", [queue_name, type_name, schedule_name])
def test_a_name_is_any_printable_text(parse: Callable[[object], str]) -> None:
    for name in ("mail", "a b", "Übersicht", "q" * 200, "x"):
        assert parse(name) == name


@pytest.mark.parametrize("wrong", ["", "q" * 201, "a\nb", "nul\x00", "\ud800", "\x9b", 7, None])
def test_an_id_of_another_system_has_no_control_character(wrong: Any) -> None:
    with pytest.raises(
        InvalidRequest,
        match=r"^owner .*: expected 1 to 200 characters, none of them a control character",
    ):
        owner_id(wrong)
    assert foreign_id("unique_key", "a\u00a0b ") == "a\u00a0b "
