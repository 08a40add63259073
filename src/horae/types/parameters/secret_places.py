"""Where the parameters of a model are secret, by the schema that Pydantic has made of it.

Pydantic has resolved what can be declared: aliases, generic types, dataclasses, typed dictionaries,
named tuples. The mark `Secret()` is metadata of a node of that schema. Where the schema does not
tell in which form a value is stored, as with a serializer of the application, the whole value
counts as secret if any part of it is.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Final, TypeAlias

from pydantic import BaseModel, SecretBytes, SecretStr, TypeAdapter
from pydantic import Secret as HiddenValue

Node: TypeAlias = dict[str, Any]

MARK: Final = "horae_secret"
"""The key in the metadata of a node whose value is secret."""

_SAME_VALUE: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(
        ("definitions", "nullable", "default", "model", "dataclass", "custom-error"), ("schema",)
    ),
    **dict.fromkeys(("function-before", "function-after", "function-wrap"), ("schema",)),
    **dict.fromkeys(
        ("model-field", "typed-dict-field", "dataclass-field", "named-tuple-field"), ("schema",)
    ),
    **dict.fromkeys(("union", "tagged-union"), ("choices",)),
    "lax-or-strict": ("lax_schema", "strict_schema"),
    "json-or-python": ("json_schema", "python_schema"),
    "chain": ("steps",),
    "definition-ref": (),
}
"""The types of nodes that wrap another node, and the keys under which they hold it."""
_ITEMS: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(("list", "set", "frozenset", "generator", "tuple"), ("items_schema",)),
    "dict": ("values_schema", "keys_schema"),
}
_FIELDS: Final = frozenset({"model-fields", "typed-dict", "dataclass-args", "named-tuple"})
WITHOUT_NODES: Final = frozenset({"metadata", "config", "default", "expected"})
"""The keys of a node whose values contain no nodes."""
_ANYTHING: Final[Node] = {"type": "any"}


class Place:
    """A place in the parameters, with the nodes that describe its value: a union has several."""

    def __init__(self, places: "Places", nodes: Sequence[Node]) -> None:
        self._places, self.nodes = places, nodes

    @cached_property
    def has_secrets(self) -> bool:
        """Whether the value or a part of it is secret."""
        return self._places.has_mark(self.nodes)

    @cached_property
    def is_secret(self) -> bool:
        """Whether the whole value is secret."""
        return self.has_secrets and self._places.is_secret(self, frozenset())

    @cached_property
    def hides_keys(self) -> bool:
        """Whether the keys of a mapping in the value are secret."""
        return any(
            self._places.has_mark(_nodes_in(node.get("keys_schema")))
            for _, node in self._places.walk(self.nodes)
        )

    def at(self, name: str) -> "Place | None":
        """Return the place of the value with this name in a mapping; None if the schema has no such
        place.
        """
        found: list[Node] = []
        for node in self.nodes:
            named = [field for own, field in fields_of(node) if name in _names(own, field)]
            if named:
                found += named
            elif node.get("config", {}).get("extra_fields_behavior") == "allow":
                found.append(_ANYTHING)
            else:
                found += [node[key] for key in ("extras_schema", "values_schema") if key in node]
        return self._places.of(found) if found else None

    def item(self, index: int) -> "Place | None":
        """Return the place of an item of a list; None if the schema has no list here."""
        found: list[Node] = []
        for node in self.nodes:
            if node["type"] == "named-tuple":
                found += [field for _, field in list(fields_of(node))[index : index + 1]]
            elif node["type"] != "dict":
                found += _items(node)
        return self._places.of(found) if found else None


class Places:
    """The places in the parameters of one model."""

    def __init__(self, model: type[BaseModel]) -> None:
        model.model_rebuild()
        schema: Node = dict(model.__pydantic_core_schema__)
        self._defined = {node["ref"]: node for node in all_nodes(schema) if "ref" in node}
        self.schema: Node = schema["schema"] if schema["type"] == "definitions" else schema
        self._known: dict[frozenset[int], Place] = {}
        self.root = self.of([self.schema])

    def of(self, nodes: Iterable[Node]) -> Place:
        """Return the place that these nodes describe, with all that describe the same value."""
        waiting, found = list(nodes), dict[int, Node]()
        while waiting:
            node = waiting.pop()
            if id(node) not in found:
                found[id(node)] = node
                waiting += self._follow(node)
                for key in _SAME_VALUE.get(node["type"], ()):
                    waiting += _nodes_in(node.get(key))
        return self._known.setdefault(frozenset(found), Place(self, tuple(found.values())))

    def has_mark(self, nodes: Iterable[Node]) -> bool:
        """Return whether one of the nodes is marked, or a node within them."""
        return any(is_marked(node) for _, node in self.walk(nodes))

    def is_secret(self, place: Place, within: frozenset[Place]) -> bool:
        """Return whether a whole value is secret; `within`: the values that contain it."""
        if place in within:  # a type that contains itself, such as `Json = list[Json] | str`
            return False
        return any(
            is_marked(node)
            or (_is_opaque(node) and self.has_mark([node]))
            or any(self.is_secret(self.of([item]), within | {place}) for item in _items(node))
            for node in place.nodes
        )

    def walk(self, nodes: Iterable[Node]) -> Iterator[tuple[tuple[str, ...], Node]]:
        """Yield these nodes and all within them, with the names of the fields that lead there; each
        node once.
        """
        waiting: deque[tuple[tuple[str, ...], Node]] = deque(((), node) for node in nodes)
        seen = set[int]()
        while waiting:
            path, node = waiting.popleft()
            if id(node) in seen:
                continue
            seen.add(id(node))
            yield path, node
            names = {id(field): name for name, field in fields_of(node)}
            for inner in (*_inner(node), *self._follow(node)):
                waiting.append(((*path, names[id(inner)]) if id(inner) in names else path, inner))

    def _follow(self, node: Node) -> Iterator[Node]:
        if node["type"] == "definition-ref":
            yield self._defined[node["schema_ref"]]


@lru_cache(maxsize=4096)
def places_of(model: type[BaseModel]) -> Places:
    """Return the places in the parameters of a model."""
    return Places(model)


def is_marked(node: Node) -> bool:
    """Return whether a node is marked as secret, excluded from output, or of a type that Pydantic
    hides.
    """
    return (
        MARK in node.get("metadata", ())
        or node.get("serialization_exclude") is True
        or is_hidden(node)
    )


def is_hidden(node: Node) -> bool:
    """Return whether Pydantic writes stars in place of the value."""
    return _serializer_of(node) in _hiding_serializers()


def fields_of(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the fields of a model, a dataclass, a typed dictionary or a named tuple, with their
    names.
    """
    if node["type"] in _FIELDS:
        fields: Any = node["fields"]
        yield from (
            fields.items()
            if isinstance(fields, dict)
            else ((field["name"], field) for field in fields)
        )


def _names(own: str, field: Node) -> Iterator[str]:
    """Yield the names under which callers may pass a field, and under which it is stored."""
    yield own
    for alias in (field.get("serialization_alias"), field.get("validation_alias")):
        if isinstance(alias, str):
            yield alias
        elif alias:  # an alias of several paths, each of which begins with a name
            yield from (str(path[0]) if isinstance(path, list) else str(path) for path in alias)


def _items(node: Node) -> list[Node]:
    return [item for key in _ITEMS.get(node["type"], ()) for item in _nodes_in(node.get(key))]


def _is_opaque(node: Node) -> bool:
    """Return whether the schema does not tell in which form a value is stored, or which of its keys
    are secret.
    """
    if (
        node["type"] not in _SAME_VALUE.keys() | _ITEMS.keys() | _FIELDS
        or "extras_keys_schema" in node
    ):
        return True
    function = _serializer_of(node)
    return function is not None and not str(getattr(function, "__module__", "")).startswith(
        "pydantic."
    )


def _serializer_of(node: Node) -> Any:
    return node.get("serialization", {}).get("function")


@lru_cache(maxsize=1)
def _hiding_serializers() -> frozenset[Any]:
    schemas: list[Any] = [
        TypeAdapter(kind).core_schema for kind in (SecretStr, SecretBytes, HiddenValue[str])
    ]
    return frozenset(
        found for schema in schemas for node in all_nodes(schema) if (found := _serializer_of(node))
    )


def all_nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all within it, without those that it refers to."""
    yield node
    for inner in _inner(node):
        yield from all_nodes(inner)


def _inner(node: Node) -> Iterator[Node]:
    """Yield the nodes directly within a node, without those that it refers to."""
    for key, value in node.items():
        if key not in WITHOUT_NODES:
            yield from _nodes_in(value)


def _nodes_in(value: Any) -> Iterator[Node]:
    """Yield the nodes of a node, a list of nodes, pairs of a node and a label, or nodes by name."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _nodes_in(item)
    elif isinstance(value, dict) and isinstance(value.get("type"), str):
        yield value
    elif isinstance(value, dict):
        yield from _nodes_in(list(value.values()))
