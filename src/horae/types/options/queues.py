"""Queues as an application declares them: who takes turns, and what limits their jobs."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from horae.domain.limits import Limit, fields_of, named
from horae.domain.names import LONGEST_NAME, queue_name
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.types.arguments import LARGEST_NUMBER, of_kind
from horae.types.parameters import is_secret


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredQueue:
    """A declared queue; None is nothing declared. `limits` are as they are stored, by name."""

    name: str
    concurrency_limit: int | None = None
    fair_by: str | None = None
    limits: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        name: str,
        *,
        concurrency: int | None = None,
        fair_by: str | None = None,
        limits: Sequence[Limit] = (),
    ) -> "DeclaredQueue":
        """Check a declaration. Raises `InvalidRequest`."""
        queue_name(name)
        if not isinstance(limits, Sequence) or not all(
            isinstance(limit, Limit) for limit in limits
        ):
            raise InvalidRequest(
                f"queue {quoted(name)}: limits is {limits!r}, expected a list such as"
                " [Limit(rate='10/s')]"
            )
        by_name = {each: stored_limit(limit) for each, limit in named(limits, f"queue {name}")}
        if concurrency is None and fair_by is None and not by_name:
            raise InvalidRequest(
                f"queue {quoted(name)}: nothing is declared; name concurrency=, fair_by= or limits="
                " (a queue without them needs no declaration)"
            )
        return cls(
            name=name,
            concurrency_limit=check_concurrency("concurrency", concurrency),
            fair_by=check_fair_by("fair_by", fair_by),
            limits=by_name or None,
        )

    @property
    def values(self) -> Mapping[str, Any]:
        """What is declared, by the columns of the queue's row."""
        given = {
            "concurrency_limit": self.concurrency_limit,
            "fair_by": self.fair_by,
            "limits": self.limits,
        }
        return {name: value for name, value in given.items() if value is not None}

    @property
    def key_names(self) -> frozenset[str]:
        """The parameters in the keys of its limits, and the one whose values take turns."""
        return names_in(self.fair_by, *(limit["key"] for limit in (self.limits or {}).values()))

    @property
    def text(self) -> str:
        """The declaration in the schema of its module."""
        return json.dumps(self.values, sort_keys=True)


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
