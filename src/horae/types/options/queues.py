"""Queues as an application declares them: who takes turns, and what limits their jobs.

An option is declared once, as a field of `DeclaredQueue` named for its column, with a
`QueueOption`. `Horae.queue` repeats its keyword for type checkers, which is checked at import.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from pydantic import BaseModel

from horae.domain.arguments import of_kind
from horae.domain.limits import Limit, fields_of, named
from horae.domain.names import LONGEST_NAME, queue_name
from horae.domain.storable import LARGEST_NUMBER
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.types.parameters import is_secret


@dataclass(frozen=True, slots=True)
class QueueOption:
    """An option of a queue: its keyword, and the description of its value in HTTP.

    `parse` is called with the keyword, the value and the name of the queue.
    """

    keyword: str
    parse: Callable[[str, Any, str], Any]
    description: str


def check_concurrency(name: str, given: object) -> int | None:
    """Return how many jobs of a queue may run at a time, the value of the argument `name`.

    Raises `InvalidRequest`.
    """
    if given is None:
        return None
    most: int = of_kind(name, given, int, "a whole number")
    if not 0 < most <= LARGEST_NUMBER:
        raise InvalidRequest(
            f"{name} is {most}, expected 1 to {LARGEST_NUMBER}, or None for no limit; to start no"
            " job at all, pause the queue"
        )
    return most


def check_fair_by(name: str, given: object) -> str | None:
    """Return who takes turns in a queue, the value of the argument `name`.

    Raises `InvalidRequest`.
    """
    if given is None:
        return None
    if not isinstance(given, str) or not given.isidentifier() or len(given) > LONGEST_NAME:
        raise InvalidRequest(
            f"{name} is {quoted(given)}, expected 'owner', the name of a parameter, or none"
        )
    return given


def stored_limit(limit: Limit) -> dict[str, Any]:
    """Return a limit as it is stored with its queue. Raises `InvalidRequest`."""
    of_kind("limit", limit, Limit, "a Limit")
    if callable(limit.key):
        raise InvalidRequest(
            "the key of a queue's limit is stored, so it must be a format such as '{customer_id}'"
        )
    return {"key": limit.key, "numbers": limit.numbers.to_json()}


def _limits_by_name(name: str, given: Any, queue: str) -> dict[str, Any] | None:
    if not isinstance(given, Sequence) or not all(isinstance(limit, Limit) for limit in given):
        raise InvalidRequest(
            f"queue {quoted(queue)}: {name} is {given!r}, expected a list such as"
            " [Limit(rate='10/s')]"
        )
    return {each: stored_limit(limit) for each, limit in named(given, f"queue {queue}")} or None


def _option(
    keyword: str, parse: Callable[[str, Any, str], Any], description: str
) -> Mapping[str, QueueOption]:
    return {"option": QueueOption(keyword, parse, description)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredQueue:
    """A declared queue; None is nothing declared. `limits` are as they are stored, by name."""

    name: str
    concurrency_limit: int | None = field(
        default=None,
        metadata=_option(
            "concurrency",
            lambda name, given, _: check_concurrency(name, given),
            "Jobs that may run at a time, over all nodes; null for no limit.",
        ),
    )
    fair_by: str | None = field(
        default=None,
        metadata=_option(
            "fair_by",
            lambda name, given, _: check_fair_by(name, given),
            "Who takes turns in it; null: its jobs start in the order they are due.",
        ),
    )
    limits: Mapping[str, Any] | None = field(
        default=None,
        metadata=_option(
            "limits", _limits_by_name, "Its limits by key, with their keys and numbers, by name."
        ),
    )

    @classmethod
    def of(cls, name: str, given: Mapping[str, Any]) -> "DeclaredQueue":
        """Check a declaration, by keywords. Raises `InvalidRequest`."""
        queue_name(name)
        parsed = {
            column: option.parse(option.keyword, given[option.keyword], name)
            for column, option in QUEUE_OPTIONS.items()
        }
        declared = cls(name=name, **parsed)
        if not declared.values:
            keywords = [f"{option.keyword}=" for option in QUEUE_OPTIONS.values()]
            raise InvalidRequest(
                f"queue {quoted(name)}: nothing is declared; name"
                f" {', '.join(keywords[:-1])} or {keywords[-1]} (a queue without them needs no"
                " declaration)"
            )
        return declared

    @property
    def values(self) -> Mapping[str, Any]:
        """What is declared, by the columns of the queue's row."""
        given = {name: getattr(self, name) for name in QUEUE_OPTIONS}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def key_names(self) -> frozenset[str]:
        """The parameters in the keys of its limits, and the one whose values take turns."""
        return names_in(self.fair_by, *(limit["key"] for limit in (self.limits or {}).values()))

    @property
    def text(self) -> str:
        """The declaration in the schema of its module."""
        return json.dumps(self.values, sort_keys=True)


QUEUE_OPTIONS: Final[Mapping[str, QueueOption]] = {
    each.name: each.metadata["option"] for each in fields(DeclaredQueue) if each.metadata
}
"""All options of a queue, by their columns."""


def names_in(fair_by: str | None, *keys: str | None) -> frozenset[str]:
    """Return the parameters that decide the turns of a queue, or the keys of its limits."""
    names = {name for key in keys if key is not None for name in fields_of(key)}
    return frozenset(names if fair_by is None else {*names, fair_by})


def refuse_secret_names(
    queue: str, names: Collection[str], job_type: str, model: type[BaseModel]
) -> None:
    """Raise `InvalidRequest` if a type of the queue has secrets in one of these parameters."""
    for name in sorted(names):
        if is_secret(model, name):
            raise InvalidRequest(
                f"queue {quoted(queue)}: parameter {name!r} of job type {quoted(job_type)} is"
                " secret or contains a secret, so it cannot be in the key of a limit or decide who"
                " takes turns"
            )
