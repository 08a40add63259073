"""What the annotations of a class consist of, with the metadata in them."""

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from pydantic import BaseModel


def parts_by_field(cls: type) -> Iterator[tuple[str, list[Any]]]:
    """Yield the fields of a model, or of another annotated class, with the parts of their
    annotations.
    """
    if issubclass(cls, BaseModel):
        for name, field in cls.model_fields.items():
            yield name, [*field.metadata, *parts_of(field.annotation)]
        return
    try:
        hints = get_type_hints(cls, include_extras=True)
    except (AttributeError, NameError, SyntaxError, TypeError):
        # Pydantic has resolved them with names that are not known here.
        return
    for name, hint in hints.items():
        yield name, list(parts_of(hint))


def parts_of(annotation: Any) -> Iterator[Any]:
    """Yield an annotation, its parts, the metadata in it, and what aliases in it stand for."""
    waiting, aliases = [annotation], list[Any]()
    while waiting:
        part = waiting.pop()
        yield part
        yield from getattr(part, "__metadata__", ())
        waiting += get_args(part)
        # `type Cents = Annotated[…]`, which may name itself.
        if hasattr(part, "__value__") and part not in aliases:
            aliases.append(part)
            waiting.append(part.__value__)
