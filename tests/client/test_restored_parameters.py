"""What was validated at the call is what the body gets; what cannot be restored unchanged is refused at the call."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    SecretStr,
    WrapValidator,
    computed_field,
    field_serializer,
    field_validator,
    model_validator,
)

from horae import Horae, InvalidParameters, JobContext, JobType, Secret
from horae.errors import InvalidJobType
from horae.types.function import JobFunction
from horae.types.values.parameters import ModelParameters
from horae.types.values.sameness import is_same
from horae.types.values.secret import masked


def cents(value: Any) -> int:
    return int(Decimal(str(value)) * 100)


def doubled(value: int) -> int:
    return value * 2


class Money(BaseModel):
    amount: int

    _before = field_validator("amount", mode="before")(cents)


class Order(BaseModel):
    price: Annotated[int, BeforeValidator(cents), Field(le=1000)]
    tip: Annotated[int, Field(le=10), AfterValidator(doubled)] = 1
    fee: Annotated[int, WrapValidator(lambda value, handler: handler(value) + 1)] = 1
    plain: Annotated[int, PlainValidator(cents)] = 1
    parts: list[Money] = []

    @model_validator(mode="after")
    def add_fee(self) -> "Order":
        vars(self)["price"] += 1
        return self


class Hidden(BaseModel):
    shown: str
    hidden: str = Field(exclude=True)
    password: Annotated[SecretStr, Secret()] = Field(SecretStr("none"), exclude=True)


class Part(BaseModel):
    kind: Literal["part"] = "part"
    inner: Hidden


class Other(BaseModel):
    kind: Literal["other"] = "other"


class Nested(BaseModel):
    model_config = ConfigDict(extra="allow")
    one: Annotated[Part | Other, Field(discriminator="kind")]

    @computed_field
    def size(self) -> int:
        return 1


class Lossy(BaseModel):
    moment: datetime
    name: Annotated[str, PlainSerializer(lambda text: text[:1])] = "abc"

    @field_serializer("moment")
    def year_only(self, moment: datetime) -> str:
        return str(moment.year)


class Kept(BaseModel):
    number: int
    _twice: int = PrivateAttr(0)

    @property
    def twice(self) -> int:
        return self._twice

    def model_post_init(self, context: Any) -> None:
        self._twice = 2 * self.number


class Stepping(BaseModel):
    number: int

    def model_post_init(self, context: Any) -> None:
        self.number += 1


class Colour(enum.Enum):
    RED = "r"


class Grade(enum.IntEnum):
    ONE = 1


@dataclass
class Point:
    x: int
    y: Annotated[int, AfterValidator(doubled)] = 1


class Word:
    """A type of the application's own: a constructor that is no validator."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Word) and other.text == self.text

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415 - only here

        return core_schema.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls(str(value)),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda word: word.text),
        )


class Tree(BaseModel):
    value: Annotated[int, AfterValidator(doubled)] = 1
    branches: list["Tree"] = []


class Many(BaseModel):
    moment: datetime = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin"))
    span: timedelta = timedelta(days=-1, microseconds=3)
    exact: Decimal = Decimal("1.500")
    key: UUID = UUID(int=5)
    raw: bytes = b"abc"
    path: Path = Path("/tmp/a")
    colour: Colour = Colour.RED
    grade: Grade = Grade.ONE
    point: Point = Point(1, 2)
    pair: tuple[int, str] = (1, "a")
    tags: frozenset[str] = frozenset({"a", "b"})
    by_number: dict[int, list[float | None]] = {1: [1.5, None]}
    by_key: Mapping[UUID, int] = {UUID(int=6): 1}
    either: int | float | str = 1.0
    word: Word = Word("a")


def body_gets(model: type[BaseModel], **values: Any) -> Any:
    """What a body gets of these values."""
    parameters = ModelParameters(model)
    checked = parameters.check("test", values)
    back = parameters.load(parameters.store(checked).text)
    assert type(back) is type(checked)
    return back


def test_validators_run_once() -> None:
    back = body_gets(Order, price="1.5", tip=8, plain="2", parts=[{"amount": "3"}])
    assert (back.price, back.tip, back.fee, back.plain, back.parts[0].amount) == (
        151,
        16,
        1,
        200,
        300,
    )


@pytest.mark.parametrize(("value", "stored"), [("1.5", 150), (2, 200)])
def test_a_function_gets_what_was_validated(horae: Horae, value: Any, stored: int) -> None:
    @horae.job
    def pay(amount: Annotated[int, BeforeValidator(cents)]) -> int:
        return amount

    job = horae.jobs.start(pay, amount=value, sync=True)
    assert job.params == {"amount": stored}
    assert job.result == stored


def test_excluded_values_do_not_vanish_and_are_not_shown() -> None:
    back = body_gets(Part, inner={"shown": "a", "hidden": "b", "password": "c"})
    assert (back.inner.hidden, back.inner.password.get_secret_value()) == ("b", "c")
    assert masked(Hidden, {"shown": "a", "hidden": "b"}) == {"shown": "a", "hidden": "••••••"}


def test_a_secret_that_is_only_excluded_is_refused_at_registration(horae: Horae) -> None:
    class Wrong(BaseModel):
        password: SecretStr = Field(exclude=True)

    class Type(JobType[Any]):
        type = "wrong"
        params = Wrong

        def run(self, job: JobContext[Any]) -> None: ...

    with pytest.raises(InvalidJobType, match="stars"):
        horae.register(Type)


def test_models_within_models() -> None:
    back = body_gets(
        Nested, one={"kind": "part", "inner": {"shown": "a", "hidden": "b"}}, more=[1, "x"]
    )
    assert (back.one.inner.hidden, back.model_extra) == ("b", {"more": [1, "x"]})


def test_a_lossy_serializer_loses_no_parameter() -> None:
    back = body_gets(Lossy, moment=datetime(2026, 5, 1, tzinfo=UTC), name="long")
    assert (back.moment, back.name) == (datetime(2026, 5, 1, tzinfo=UTC), "long")


def test_the_post_init_of_a_model_runs_once() -> None:
    assert body_gets(Kept, number=2).twice == 4
    assert body_gets(Stepping, number=2).number == 3


@pytest.mark.parametrize("field", Many.model_fields)
def test_each_kind_of_value_is_restored(field: str) -> None:
    checked = Many.model_validate({field: getattr(Many(), field)})
    back = body_gets(Many, **{field: getattr(checked, field)})
    assert is_same(getattr(back, field), getattr(checked, field))


def test_a_type_that_holds_itself() -> None:
    back = body_gets(Tree, value=2, branches=[{"value": 3}])
    assert (back.value, back.branches[0].value) == (4, 6)


def refused(function: JobFunction[..., Any], horae: Horae, **values: Any) -> InvalidParameters:
    with pytest.raises(InvalidParameters, match="restored unchanged") as caught:
        horae.jobs.start(function, **values)
    return caught.value


class TestRefusals:
    def test_keys_that_json_does_not_have(self, horae: Horae) -> None:
        @horae.job
        def draw(cells: dict[tuple[int, int], int], title: str = "") -> None: ...

        error = refused(draw, horae, cells={(1, 2): 3})
        assert [where for where, _ in error.problems] == ["cells"]

    def test_keys_that_fall_together(self, horae: Horae) -> None:
        @horae.job
        def count(words: dict[int | str, int]) -> None: ...

        refused(count, horae, words={1: 1, "1": 2})

    def test_a_text_that_would_become_a_moment(self, horae: Horae) -> None:
        @horae.job
        def at(moment: datetime | str) -> str:
            return type(moment).__name__

        assert horae.jobs.start(at, moment="tomorrow", sync=True).result == "str"
        refused(at, horae, moment="2026-01-01T00:00:00Z")

    def test_a_submodel_with_more_fields_is_refused(self, horae: Horae) -> None:
        class Priced(Other):
            price: int

        @horae.job
        def buy(what: Other) -> None: ...

        refused(buy, horae, what=Priced(price=3))

    def test_the_message_does_not_tell_the_value(self, horae: Horae) -> None:
        @horae.job
        def draw(cells: Annotated[dict[tuple[str, str], int], Secret()]) -> None: ...

        assert "sesame" not in str(refused(draw, horae, cells={("sesame", "open"): 3}))


def test_prepared_values_are_validated_once_each(horae: Horae) -> None:
    class Amounts(BaseModel):
        price: Annotated[int, BeforeValidator(cents)]
        count: Annotated[int, AfterValidator(doubled)] = 1

    @horae.register
    class Buying(JobType[Any]):
        type = "buying"
        params = Amounts

        def prepare_values(self, values: dict[str, Any], owner: str | None) -> Mapping[str, Any]:
            return {**values, "count": 3} if owner == "alice" else values

        def run(self, job: JobContext[Any]) -> None: ...

    assert horae.jobs.start("buying", price="1.5").params == {"price": 150, "count": 1}
    assert horae.jobs.start("buying", price="1.5", owner="alice").params == {
        "price": 150,
        "count": 6,
    }
