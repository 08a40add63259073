"""What the caller gave is stored and validated again; what would reach the body as another is refused at the call."""

import enum
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
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
from horae.types import storable_parameters
from horae.types.function import JobFunction
from horae.types.parameters.parameters import ModelParameters, Stored
from horae.types.parameters.secret import masked
from horae.types.parameters.written import NotStorableError


def to_cents(value: Any) -> int:
    return int(Decimal(str(value)) * 100)


def doubled(value: int) -> int:
    return value * 2


class Money(BaseModel):
    amount: int

    _before = field_validator("amount", mode="before")(to_cents)


class Order(BaseModel):
    price: Annotated[int, BeforeValidator(to_cents), Field(le=1000)]
    tip: Annotated[int, Field(le=10), AfterValidator(doubled)] = 1
    fee: Annotated[int, WrapValidator(lambda value, handler: handler(value) + 1)] = 1
    plain: Annotated[int, PlainValidator(to_cents)] = 1
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
    y: int = 1


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


def stored(model: type[BaseModel], **values: Any) -> Any:
    """The stored form of these values."""
    parameters = ModelParameters(model)
    return json.loads(parameters.store(parameters.check("test", values)).text or "{}")


def body_gets(model: type[BaseModel], **values: Any) -> Any:
    """What a body gets of these values, which is what validation made of them at the call."""
    parameters = ModelParameters(model)
    checked = parameters.check("test", values)
    back = parameters.load(parameters.store(checked).text)
    assert type(back) is type(checked.value)
    return back


def test_validators_get_what_the_caller_gave() -> None:
    values: dict[str, Any] = {
        "price": "1.5",
        "tip": 8,
        "plain": "2",
        "parts": [{"amount": "3"}],
    }
    back = body_gets(Order, **values)
    assert (back.price, back.tip, back.fee, back.plain, back.parts[0].amount) == (
        151,
        16,
        1,
        200,
        300,
    )
    assert stored(Order, **values) == values  # `fee` would be validated, unlike a default


@pytest.mark.parametrize(("value", "cents"), [("1.5", 150), (2, 200)])
def test_a_function_gets_what_was_validated(horae: Horae, value: Any, cents: int) -> None:
    @horae.job
    def pay(amount: Annotated[int, BeforeValidator(to_cents)]) -> int:
        return amount

    job = horae.jobs.start(pay, amount=value, sync=True)
    assert job.params == {"amount": value}
    assert job.result == cents


class Plain(BaseModel):
    text: Annotated[str, Field(min_length=1)]
    number: int | float | None
    flag: bool = False


@given(
    values=st.dictionaries(
        st.sampled_from(["text", "number", "flag", "other"]),
        st.one_of(
            st.text(st.characters(codec=None), max_size=600),
            st.integers(),
            st.just(10**5000),
            st.floats(),
            st.booleans(),
            st.none(),
            st.lists(st.integers(), max_size=2),
        ),
    ),
    most=st.sampled_from([20, 400, 1024 * 1024]),
)
@example(values={"text": "\x00", "number": 1, "flag": True}, most=1024)
@example(values={"text": "\ud800", "number": 1, "flag": True}, most=1024)
@example(values={"text": "a", "number": -0.0, "flag": True}, most=1024)
@example(values={"text": "a", "number": 10**5000, "flag": True}, most=1024 * 1024)
@example(values={"text": "a" * 30, "number": 1, "flag": True}, most=20)
@example(values={"text": "", "number": 1, "flag": True}, most=1024)
@example(values={"text": "a", "number": 1}, most=1024)
def test_one_step_stores_what_checking_and_storing_store(values: dict[str, Any], most: int) -> None:
    class Test(JobType[Plain]):
        type = "test"
        params = Plain
        max_params_bytes = most

        def run(self, job: JobContext) -> None: ...

    job_type = Test()
    parameters = job_type.parameters
    assert isinstance(parameters, ModelParameters)
    parameters.store(parameters.check("test", {"text": "a", "number": 1}))  # it knows the default
    at_once = parameters.store_at_once(values, most)
    if at_once is not None:
        assert at_once == storable_parameters(job_type, parameters.check("test", values))


def test_short_calls_are_stored_in_one_step() -> None:
    parameters = ModelParameters(Plain)
    values: dict[str, Any] = {"text": "a", "number": 1, "flag": True}
    assert parameters.store_at_once(values, 1024) == Stored('{"text":"a","number":1,"flag":true}')
    assert parameters.store_at_once(values | {"text": ""}, 1024) is None


@pytest.mark.parametrize("default", [1e22, -0.0])
def test_one_step_writes_no_default_that_databases_change(default: float) -> None:
    class Scaled(BaseModel):
        number: int
        scale: Any = default

    parameters = ModelParameters(Scaled)
    parameters.store(parameters.check("test", {"number": 1}))  # it knows the default
    assert parameters.store_at_once({"number": 1}, 1024) is None


def test_one_step_refuses_what_a_type_without_parameters_refuses() -> None:
    class Nothing(BaseModel):
        """Pydantic ignores what it does not declare."""

    assert ModelParameters(Nothing).store_at_once({"other": float("nan")}, 1024) is None


class Renamed(BaseModel):
    number: int = Field(5, alias="no")
    name: str = ""


class RenamedOrNot(Renamed):
    model_config = ConfigDict(populate_by_name=True)


@pytest.mark.parametrize(
    ("model", "values", "number"),
    [
        (Renamed, {"number": 1, "name": "a"}, 5),  # Pydantic ignores it
        (Renamed, {"no": 2, "number": 1}, 2),
        (Renamed, {"no": 2, "number": [1]}, 2),
        (RenamedOrNot, {"no": 2, "number": 1}, 2),
        (RenamedOrNot, {"number": 1, "name": "a"}, 1),
    ],
)
def test_an_alias_precedes_a_name(
    model: type[Renamed], values: dict[str, Any], number: int
) -> None:
    assert body_gets(model, **values).number == number
    assert stored(model, **values)["number"] == number
    assert ModelParameters(model).store_at_once(values, 1024) is None


@pytest.mark.parametrize("alias", ["other", "no"])
def test_an_alias_stands_for_one_parameter(horae: Horae, alias: str) -> None:
    with pytest.raises(InvalidJobType, match=f"has the alias '{alias}', which is the name or"):

        @horae.job
        def count(
            number: Annotated[int, Field(alias="no")],
            third: Annotated[int, Field(alias=alias)],
            other: int,
        ) -> None: ...


@pytest.mark.parametrize("values", [{"value": [10**5000]}, {"value": {10**5000: 1}}])
def test_a_number_that_is_too_long_is_refused_by_a_sentence(
    horae: Horae, values: dict[str, Any]
) -> None:
    @horae.job
    def keep(value: Any) -> None: ...

    with pytest.raises(InvalidParameters, match="cannot be stored: Exceeds the limit"):
        horae.jobs.start(keep, **values)


def test_a_long_number_beside_a_default_is_refused_by_a_sentence(horae: Horae) -> None:
    @horae.job
    def keep(value: int | str, at: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None: ...

    with pytest.raises(InvalidParameters, match="Exceeds the limit"):
        horae.jobs.start(keep, value=10**5000)


def test_a_validator_may_give_another_value_each_time(horae: Horae) -> None:
    salts = iter("abc")

    @horae.job
    def sign_up(password: Annotated[str, AfterValidator(lambda text: text + next(salts))]) -> str:
        return password

    job = horae.jobs.start(sign_up, password="sesame ", sync=True)
    assert job.params == {"password": "sesame "}
    assert job.result == "sesame b"


def test_a_validator_may_change_what_it_gets(horae: Horae) -> None:
    class Request(BaseModel):
        rows: list[int]

        @model_validator(mode="before")
        @classmethod
        def take(cls, values: Any) -> Any:
            values["rows"] = [len(values.pop("text")), *values["more"]]
            values["more"].clear()
            return values

    assert stored(Request, text="abc", more=[1]) == {"text": "abc", "more": [1]}
    assert body_gets(Request, text="abc", more=[1]).rows == [3, 1]


def test_defaults_are_made_once() -> None:
    numbers = iter(range(100))

    class Line(BaseModel):
        number: int = Field(default_factory=lambda: next(numbers))

    class Invoice(BaseModel):
        number: int = Field(default_factory=lambda: next(numbers))
        when: datetime = Field(default_factory=lambda: datetime(2026, 1, next(numbers), tzinfo=UTC))
        lines: list[Line] = []
        rest: dict[str, Line] = {}

    parameters = ModelParameters(Invoice)
    checked = parameters.check("test", {"lines": [{}, {"number": 50}], "rest": {"a": {}}})
    text = parameters.store(checked).text
    assert parameters.load(text) == parameters.load(text) == checked.value


def test_a_default_that_cannot_be_stored_and_is_made_anew_is_refused() -> None:
    class Unwritten(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        thing: object = Field(default_factory=object)

    with pytest.raises(NotStorableError, match="thing: cannot be stored"):
        stored(Unwritten)


def test_defaults_are_filled_in_by_the_worker_if_validation_would_change_them() -> None:
    class Doubled(BaseModel):
        number: Annotated[int, AfterValidator(doubled)] = 1
        limit: float = float("inf")
        other: int = 3

    assert stored(Doubled) == {"other": 3}
    assert body_gets(Doubled).model_dump() == {"number": 1, "limit": float("inf"), "other": 3}


def test_bytes_are_bytes_again(horae: Horae) -> None:
    @horae.job
    def keep(raw: bytes, anything: Any) -> str:
        return f"{raw!r} {anything!r}"

    job = horae.jobs.start(keep, raw=b"\xff", anything=[b"\x00"], sync=True)
    assert job.params == {"raw": {"$bytes": "/w=="}, "anything": [{"$bytes": "AA=="}]}
    assert job.result == "b'\\xff' [b'\\x00']"
    with pytest.raises(InvalidParameters, match=r"anything: \$bytes is a reserved name"):
        horae.jobs.start(keep, raw=b"", anything={"$bytes": "AA=="})


def test_a_strict_model_gets_what_it_took_at_the_call() -> None:
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        when: datetime
        pair: tuple[int, int] = (1, 2)

    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert body_gets(Strict, when=now, pair=(3, 4)).model_dump() == {"when": now, "pair": (3, 4)}


def test_a_tuple_may_become_a_list_where_any_sequence_will_do() -> None:
    class Many(BaseModel):
        names: Sequence[str] = ()

    assert body_gets(Many, names=("a", "b")).names == ["a", "b"]
    assert body_gets(Many).names == []


def test_excluded_values_do_not_vanish_and_are_not_shown() -> None:
    back = body_gets(Part, inner={"shown": "a", "hidden": "b", "password": "c"})
    assert (back.inner.hidden, back.inner.password.get_secret_value()) == ("b", "c")
    assert masked(Hidden, {"shown": "a", "hidden": "b"}) == {"shown": "a", "hidden": "••••••"}


@pytest.mark.one_database
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
    body_gets(Many, **{field: getattr(checked, field)})  # refuses what would change


def test_a_type_that_holds_itself() -> None:
    back = body_gets(Tree, value=2, branches=[{"value": 3}])
    assert (back.value, back.branches[0].value) == (4, 6)


def refused(function: JobFunction[..., Any], horae: Horae, **values: Any) -> InvalidParameters:
    with pytest.raises(InvalidParameters, match="cannot be stored") as caught:
        horae.jobs.start(function, **values)
    return caught.value


@pytest.mark.one_database
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

    def test_a_moment_that_would_become_a_text(self, horae: Horae) -> None:
        @horae.job
        def at(moment: datetime | str) -> str:
            return type(moment).__name__

        assert horae.jobs.start(at, moment="2026-01-01T00:00:00Z", sync=True).result == "str"
        refused(at, horae, moment=datetime(2026, 1, 1, tzinfo=UTC))

    def test_a_submodel_with_more_fields_is_refused(self, horae: Horae) -> None:
        class Priced(Other):
            price: int

        @horae.job
        def buy(what: Other) -> None: ...

        refused(buy, horae, what=Priced(price=3))

    def test_an_instance_that_validation_would_change_again(self, horae: Horae) -> None:
        @horae.job
        def order(money: Money) -> int:
            return money.amount

        assert horae.jobs.start(order, money={"amount": "1.5"}, sync=True).result == 150
        refused(order, horae, money=Money(amount="1.5"))  # type: ignore[arg-type]

    def test_the_message_does_not_tell_the_value(self, horae: Horae) -> None:
        @horae.job
        def draw(cells: Annotated[dict[tuple[str, str], int], Secret()]) -> None: ...

        assert "sesame" not in str(refused(draw, horae, cells={("sesame", "open"): 3}))


def test_what_prepare_values_leaves_alone_is_stored_as_it_was_given(horae: Horae) -> None:
    class Amounts(BaseModel):
        price: Annotated[int, BeforeValidator(to_cents)]
        count: Annotated[int, AfterValidator(doubled)] = 1

    @horae.register
    class Buying(JobType[Any]):
        type = "buying"
        params = Amounts

        def prepare_values(self, values: dict[str, Any], owner: str | None) -> Mapping[str, Any]:
            return {**values, "count": 3} if owner == "alice" else values

        def run(self, job: JobContext[Any]) -> None: ...

    assert horae.jobs.start("buying", price="1.5").params == {"price": "1.5"}
    assert horae.jobs.start("buying", price="1.5", owner="alice").params == {
        "price": "1.5",
        "count": 3,
    }
