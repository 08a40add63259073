"""Parameters are plain data of a bounded size, and are refused before anything consumes them."""

import itertools
import math
import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Final, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import override

from horae.client.jobs.creating.new_job import new_job
from horae.domain.storable import shortened
from horae.errors import InvalidJobType, InvalidParameters, InvalidRequest
from horae.types.function import JobFunction
from horae.types.options.start_options import StartOptions
from horae.types.parameters.plain_data import problem_of


class Ones(Iterator[int]):
    def __next__(self) -> int:
        return 1


class Endless(Sequence[int]):
    """Says that it is short."""

    @override
    def __getitem__(self, index: Any) -> Any:
        return 1

    @override
    def __len__(self) -> int:
        return 1


class EndlessMapping(Mapping[str, int]):
    @override
    def __getitem__(self, key: str) -> int:
        return 1

    @override
    def __iter__(self) -> Iterator[str]:
        return map(str, itertools.count())

    @override
    def __len__(self) -> int:
        return 1


class EndlessList(list[int]):
    @override
    def __iter__(self) -> Iterator[int]:
        return itertools.count()


class EndlessDict(dict[str, int]):
    @override
    def items(self) -> Any:
        return ((str(number), number) for number in itertools.count())


class OldProtocol:
    def __getitem__(self, index: int) -> int:
        return index


ENDLESS: Final[dict[str, Callable[[], Any]]] = {
    "generator": lambda: (1 for _ in itertools.count()),
    "count": itertools.count,
    "map": lambda: map(abs, itertools.count()),
    "range": lambda: range(10**12),
    "longest range": lambda: range(10**40),
    "Ones": Ones,
    "Endless": Endless,
    "EndlessMapping": EndlessMapping,
    "EndlessList": EndlessList,
    "EndlessDict": EndlessDict,
    "KeysView": lambda: KeysView(EndlessMapping()),
    "OldProtocol": OldProtocol,
}


@JobFunction
def take(numbers: list[int], anything: Any = None) -> None:
    del numbers, anything


@JobFunction
def take_iterable(numbers: Iterable[int]) -> None:
    del numbers


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize(
    "within", [lambda value: value, lambda value: [[value]], lambda value: {"a": {"b": value}}]
)
def test_an_iterator_is_refused_before_it_is_consumed(
    kind: str, within: Callable[[Any], Any]
) -> None:
    for function in (take, take_iterable):
        with pytest.raises(InvalidParameters):
            new_job(function.job_type, StartOptions(), {"numbers": within(ENDLESS[kind]())})
    with pytest.raises(InvalidParameters):
        new_job(take.job_type, StartOptions(), {"numbers": [], "anything": within(ENDLESS[kind]())})
    with pytest.raises(InvalidRequest, match="meta"):
        new_job(take.job_type, StartOptions(meta={"a": within(ENDLESS[kind]())}), {"numbers": []})


@pytest.mark.timeout(20)
def test_the_mapping_of_parameters_may_not_be_endless_either() -> None:
    with pytest.raises(InvalidRequest, match="more than 10,000 entries"):
        new_job(take.job_type, StartOptions(), EndlessMapping())
    with pytest.raises(InvalidRequest, match="more than 10,000 entries"):
        new_job(take.job_type, StartOptions(meta=EndlessMapping()), {"numbers": []})
    with pytest.raises(InvalidRequest, match="expected a mapping"):
        new_job(take.job_type, StartOptions(), [("numbers", [])])  # type: ignore[arg-type]


def test_the_error_names_the_place_and_the_value() -> None:
    with pytest.raises(
        InvalidParameters, match=r"anything\.rows\.1: a list_iterator is no plain data; pass a list"
    ):
        new_job(
            take.job_type, StartOptions(), {"numbers": [], "anything": {"rows": [1, iter([1])]}}
        )


class Point(NamedTuple):
    x: int
    y: int


@dataclass(slots=True)
class Part:
    numbers: Any


class Whole(BaseModel):
    part: Any = None


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    "value",
    [
        1,
        1.5,
        "a",
        b"a",
        None,
        True,
        Decimal(1),
        UUID(int=1),
        date(2026, 1, 1),
        Colour.RED,
        Point(1, 2),
        Part([1]),
        Whole(part=[1]),
        [1],
        (1,),
        {1},
        frozenset({1}),
        deque([1]),
        range(3),
        {"a": 1}.keys(),
        {1: 2},
        {(1, 2): 3},
        OrderedDict(a=1),
        defaultdict(int, a=1),
        Counter("a"),
        object(),
        int,
    ],
)
def test_plain_data_is_what_one_expects(value: Any) -> None:
    assert problem_of(value) is None


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, Part([math.nan]), Whole(part={"a": -math.inf}), {1: [math.nan]}]
)
def test_a_number_that_json_does_not_have_is_found_wherever_it_is(value: Any) -> None:
    problem = problem_of(value)
    assert problem is not None
    assert "is no number that JSON has" in problem.what


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [100, 201, 254, 255, 100_000])
def test_values_that_are_nested_too_deep_are_refused_at_the_call(levels: int) -> None:
    with pytest.raises(InvalidParameters, match="more than 100 levels deep"):
        new_job(take.job_type, StartOptions(), {"numbers": [], "anything": nested(levels)})
    with pytest.raises(InvalidRequest, match="more than 100 levels deep"):
        new_job(take.job_type, StartOptions(meta={"a": nested(levels)}), {"numbers": []})


def test_values_that_are_nested_less_deep_are_not() -> None:
    wanted = new_job(
        take.job_type, StartOptions(meta={"a": nested(99)}), {"numbers": [], "anything": nested(99)}
    )
    assert wanted.values["anything"] == nested(99)


def test_a_value_in_itself_is_refused() -> None:
    knot: list[Any] = []
    knot += [knot, knot]
    with pytest.raises(InvalidParameters, match="levels deep"):
        new_job(take.job_type, StartOptions(), {"numbers": [], "anything": knot})


def test_a_small_value_that_is_large_when_written_out_is_refused() -> None:
    laughs: Any = ["ha"] * 10
    for _ in range(20):
        laughs = [laughs] * 10
    with pytest.raises(InvalidParameters, match="more than 500,000 values"):
        new_job(take.job_type, StartOptions(), {"numbers": [], "anything": laughs})


def test_parameters_and_meta_are_bounded_in_bytes() -> None:
    with pytest.raises(
        InvalidParameters, match=r"more than 1,048,576 bytes of JSON; .* max_params_bytes"
    ):
        new_job(take.job_type, StartOptions(), {"numbers": [], "anything": "é" * 600_000})
    with pytest.raises(InvalidRequest, match="meta is longer than 1,048,576 bytes"):
        new_job(take.job_type, StartOptions(meta={"a": "é" * 600_000}), {"numbers": []})

    @JobFunction
    def small(text: str) -> None: ...

    small.job_type.max_params_bytes = 20
    assert (
        new_job(small.job_type, StartOptions(), {"text": "x" * 9}).stored.text
        == '{"text":"xxxxxxxxx"}'
    )
    with pytest.raises(InvalidParameters, match="more than 20 bytes"):
        new_job(small.job_type, StartOptions(), {"text": "x" * 10})


@pytest.mark.parametrize("most", [0, -1, True, "1"])
@pytest.mark.parametrize("name", ["max_params_bytes", "max_result_bytes"])
def test_a_bound_is_a_whole_number(name: Any, most: Any) -> None:
    options: dict[str, Any] = {"name": "bounded", name: most}
    with pytest.raises(InvalidJobType, match=name):
        JobFunction(lambda: None, **options)


class Loose(BaseModel):
    model_config = ConfigDict(extra="allow")
    inner: Any = None


@JobFunction
def keep(  # noqa: PLR0913, PLR0917 - one of each kind of annotation
    value: Any = None,
    plain: list = [],  # type: ignore[type-arg]  # noqa: B006
    table: dict[str, Any] = {},  # noqa: B006
    keyed: dict = {},  # type: ignore[type-arg]  # noqa: B006
    either: int | list[Any] | None = None,
    pair: tuple[date, Any] = (date.min, 1),
    loose: Loose | None = None,
    noted: list[Annotated[Any, Field(description="x")]] = [],  # noqa: B006
    thing: object = None,
) -> None: ...


WHEN: Final = datetime(2026, 3, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    "changed",
    [
        WHEN,
        Decimal("1.5"),
        (1, 2),
        {1},
        UUID(int=1),
        Colour.RED,
        {1: 2},
        {None: 1},
        Point(1, 2),
        Part(1),
        Whole(),
    ],
)
def test_an_untyped_value_that_would_come_back_as_another_is_refused(changed: Any) -> None:
    for given in (
        {"value": changed},
        {"value": [{"a": changed}]},
        {"plain": [changed]},
        {"table": {"a": changed}},
        {"keyed": {"a": changed}},
        {"either": [changed]},
        {"pair": [date.min, changed]},
        {"loose": {"inner": changed}},
        {"loose": {"extra": changed}},
        {"noted": [changed]},
        {"thing": changed},
    ):
        with pytest.raises(InvalidParameters, match="cannot be stored as it is"):
            new_job(keep.job_type, StartOptions(), given)
    with pytest.raises(InvalidRequest, match="meta cannot be stored: a: "):
        new_job(keep.job_type, StartOptions(meta={"a": changed}), {})


def test_typed_and_json_values_are_kept() -> None:
    @JobFunction
    def typed(
        when: datetime,
        amount: Decimal,
        pair: tuple[int, date],
        many: set[int],
        by_day: dict[date, Any],
        loose: Loose,
    ) -> None: ...

    values = {
        "when": WHEN,
        "amount": Decimal("1.50"),
        "pair": (1, date.min),
        "many": {1},
        "by_day": {date.min: [1, "a"]},
        "loose": Loose.model_validate({"inner": {"a": [None, True, 1, 2.5, "x"]}, "extra": [1]}),
    }
    text = new_job(typed.job_type, StartOptions(), values).stored.text
    assert vars(typed.job_type.parameters.load(text)) == values


def test_a_long_text_keeps_both_its_ends() -> None:
    assert shortened("x" * 20_000) == "x" * 20_000
    cut = shortened("beginning" + "x" * 100_000 + "end")
    assert len(cut) <= 20_000
    assert cut.startswith("beginningx")
    assert cut.endswith("xend")
    assert re.search("x … [0-9,]+ characters left out … x", cut)
