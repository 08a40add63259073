"""The forms in which a parameter with a secret can be declared, each with a value that holds the secret."""

import dataclasses
from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Optional,
    TypeVar,
)

import pydantic
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Json,
    PlainSerializer,
    PlainValidator,
    RootModel,
    SecretBytes,
    SecretStr,
    SkipValidation,
    Tag,
    field_serializer,
    model_serializer,
)
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import TypeAliasType, TypedDict

from horae import Secret

HIDDEN: Final = "correct-horse"
T = TypeVar("T")

Password = TypeAliasType("Password", Annotated[str, Secret()])
MaybePassword = TypeAliasType("MaybePassword", Password | None)
Passwords = TypeAliasType("Passwords", list[Password])
OfOwnType = TypeAliasType("OfOwnType", Annotated[T, Secret()], type_params=(T,))
NamedPassword = NewType("NamedPassword", str)
Nested = TypeAliasType("Nested", "list[Nested] | Annotated[str, Secret()]")
SecretKind = Annotated[str, Secret()]


class Account(BaseModel):
    name: str = "n"
    key: Annotated[str, Secret()]


class AliasedAccount(BaseModel):
    key: Annotated[str, Field(alias="k"), Secret()]


class Tree(BaseModel):
    key: Annotated[str, Secret()] = ""
    children: list["Tree"] = []


class Box(BaseModel, Generic[T]):
    content: T


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Annotated[str, Secret()]]  # pyright: ignore[reportIncompatibleVariableOverride]


class Excluded(BaseModel):
    key: str = Field(exclude=True)


class WrittenByModel(BaseModel):
    key: Annotated[str, Secret()]

    @model_serializer(mode="wrap")
    def write(self, handler: Any) -> Any:
        return {"other": handler(self)["key"]}


class WrittenByField(BaseModel):
    account: Account

    @field_serializer("account")
    def write(self, account: Account) -> Any:
        return {"name": account.name, "other": account.key}


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    key: Annotated[str, Secret()]


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    key: str


class TypedAccount(TypedDict):
    key: Annotated[str, Secret()]
    name: NotRequired[str]


class TupleAccount(NamedTuple):
    name: str
    key: Annotated[str, Secret()]


@dataclasses.dataclass
class PlainAccount:
    key: Annotated[str, Secret()]


@pydantic_dataclass
class CheckedAccount:
    key: Password


class RootPassword(RootModel[Annotated[str, Secret()]]):
    pass


class RootAccounts(RootModel[dict[str, Account]]):
    pass


AliasedModel = TypeAliasType("AliasedModel", Account)
MarkedModel = TypeAliasType("MarkedModel", Annotated[Account, Secret()])
ListOfModels = TypeAliasType("ListOfModels", list[Account])
ACCOUNT: Final[Mapping[str, Any]] = {"key": HIDDEN}

FORMS: Final[Mapping[str, tuple[Any, Any]]] = {
    "marked": (Annotated[str, Secret()], HIDDEN),
    "marked optional": (Annotated[str | None, Secret()], HIDDEN),
    "optional of marked": (Optional[Annotated[str, Secret()]], HIDDEN),  # noqa: UP045 - pyright knows no other form
    "marked first, then constrained": (Annotated[str, Secret(), Field(min_length=3)], HIDDEN),
    "constrained, then marked": (Annotated[str, Field(pattern="^c"), Secret()], HIDDEN),
    "plain alias": (SecretKind, HIDDEN),
    "alias": (Password, HIDDEN),
    "optional alias": (Password | None, HIDDEN),
    "alias of an optional": (MaybePassword, HIDDEN),
    "list of an alias": (list[Password], [HIDDEN]),
    "alias of a list": (Passwords, [HIDDEN]),
    "generic alias": (OfOwnType[str], HIDDEN),
    "recursive alias": (Nested, [[HIDDEN]]),
    "marked new type": (Annotated[NamedPassword, Secret()], HIDDEN),
    "mapping of an alias": (dict[str, Password], {"a": HIDDEN}),
    "mapping from an alias": (dict[Password, int], {HIDDEN: 1}),
    "tuple": (tuple[int, Annotated[str, Secret()]], (1, HIDDEN)),
    "set": (set[Annotated[str, Secret()]], {HIDDEN}),
    "sequence": (Sequence[Password], [HIDDEN]),
    "deque": (deque[Password], [HIDDEN]),
    "any": (Annotated[Any, Secret()], {"a": [HIDDEN]}),
    "literal": (Annotated[Literal["correct-horse", "other"], Secret()], HIDDEN),
    "model": (Account, ACCOUNT),
    "marked model": (Annotated[Account, Secret()], ACCOUNT),
    "alias of a model": (AliasedModel, ACCOUNT),
    "alias of a marked model": (MarkedModel, ACCOUNT),
    "alias of a list of models": (ListOfModels, [ACCOUNT]),
    "optional alias of a model": (AliasedModel | None, ACCOUNT),
    "sequence of models": (Sequence[Account], [ACCOUNT]),
    "mapping of models": (dict[str, Account], {"a": ACCOUNT}),
    "ordered mapping of models": (OrderedDict[str, Account], {"a": ACCOUNT}),
    "model with an alias": (AliasedAccount, {"k": HIDDEN}),
    "recursive model": (Tree, {"children": [{"children": [ACCOUNT]}]}),
    "generic model": (Box[Password], {"content": HIDDEN}),
    "generic model of a model": (Box[Account], {"content": ACCOUNT}),
    "union of models": (Account | Dog, ACCOUNT),
    "tagged union": (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cat", **ACCOUNT}),
    "union with a discriminator": (
        Annotated[
            Annotated[Account, Tag("a")] | Annotated[list[Account], Tag("b")],
            Discriminator(lambda value: "b" if isinstance(value, list) else "a"),
        ],
        [ACCOUNT],
    ),
    "secret extra values": (Open, {"anything": HIDDEN}),
    "excluded field": (Excluded, ACCOUNT),
    "model with a serializer": (WrittenByField, {"account": ACCOUNT}),
    "typed dictionary": (TypedAccount, ACCOUNT),
    "list of typed dictionaries": (list[TypedAccount], [ACCOUNT]),
    "named tuple": (TupleAccount, ["n", HIDDEN]),
    "list of named tuples": (list[TupleAccount], [["n", HIDDEN], ["n", HIDDEN]]),
    "dataclass": (PlainAccount, ACCOUNT),
    "Pydantic dataclass": (CheckedAccount, ACCOUNT),
    "root model": (RootPassword, HIDDEN),
    "root model of models": (RootAccounts, {"a": ACCOUNT}),
    "JSON text": (Json[Account], f'{{"key": "{HIDDEN}"}}'),
    "SecretStr": (Annotated[SecretStr, Secret()], HIDDEN),
    "optional SecretStr": (Annotated[SecretStr | None, Secret()], HIDDEN),
    "optional of a marked SecretStr": (Optional[Annotated[SecretStr, Secret()]], HIDDEN),  # noqa: UP045 - as above
    "list of SecretStr": (Annotated[list[SecretStr], Secret()], [HIDDEN]),
    "SecretBytes": (Annotated[SecretBytes, Secret()], HIDDEN.encode()),
    "pydantic.Secret": (Annotated[pydantic.Secret[str], Secret()], HIDDEN),
    "validated after": (Annotated[str, Secret(), AfterValidator(str)], HIDDEN),
    "validated before the mark": (Annotated[str, PlainValidator(str), Secret()], HIDDEN),
    "validated by a function alone": (Annotated[str, Secret(), PlainValidator(str)], HIDDEN),
    "written by a function": (Annotated[str, Secret(), PlainSerializer(str)], HIDDEN),
    "not validated": (SkipValidation[Password], HIDDEN),
}
