"""`Limit`, as a job type or a queue declares it, and the keys by which jobs share a limit."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from string import Formatter
from typing import Any, Final, TypeAlias

from typing_extensions import override

from horae.domain.functions import problem_of_result
from horae.domain.limits.numbers import LimitNumbers, OnReached, Window, numbers_of
from horae.domain.names import LONGEST_NAME, limit_name
from horae.domain.storable import escaped, storable
from horae.errors import InvalidRequest
from horae.quoting import quoted

Key: TypeAlias = str | Callable[[Any], object]

OWNER: Final = "owner"
"""The name in a key that stands for the owner of the job; no parameter can have this name."""
_DIGEST: Final = 16
"""Characters of the hash that keeps long keys apart when they are shortened."""


class Limit:
    """Limits the jobs of a type or a queue: `Limit(rate="10/s")`, or `Limit(concurrency=2)`; exact
    over all nodes.

    `key`: jobs with different keys are limited separately; a format such as `"{account_id}"` over
    the parameters (`{owner}` is the owner of the job), or a function of the parameters, which may
    return None for a job without this limit. `burst`: how many jobs may start at once after a
    pause; by default as many as the rate names. `window="sliding"`: at most that many starts in any
    window of the period, in place of a token bucket. `on_reached="discard"`: a job that the limit
    does not let start when a node has a slot for it is cancelled, instead of waiting. `name`:
    identifies the limit where it is listed and changed; limits of the same name share their
    numbers. Raises `InvalidRequest`.
    """

    __slots__ = ("key", "name", "numbers")

    def __init__(
        self,
        *,
        rate: str | None = None,
        burst: int | None = None,
        window: Window | None = None,
        concurrency: int | None = None,
        key: Key | None = None,
        name: str | None = None,
        on_reached: OnReached = "wait",
    ) -> None:
        self.numbers: LimitNumbers = numbers_of(
            rate=rate,
            burst=burst,
            window=window,
            concurrency=concurrency,
            on_reached=on_reached,
        )
        if callable(key):
            if (problem := problem_of_result(key, "the parameters")) is not None:
                raise InvalidRequest(f"key is {quoted(key)}: {problem}")
        elif key is not None:
            fields_of(key)
        self.key = key
        self.name = None if name is None else limit_name(name)

    @override
    def __repr__(self) -> str:
        """Return the limit as it reads in an error."""
        name = "" if self.name is None else f" {self.name!r}"
        return f"<Limit{name} {self.numbers.text}>"

    def name_for(self, place: str) -> str:
        """Return the name of the limit: its own, or one made of where it is declared, its kind and
        its key.
        """
        if self.name is not None:
            return self.name
        parts = [place, "rate" if self.numbers.is_rate else "concurrency"]
        if callable(self.key):
            parts.append(getattr(self.key, "__name__", "key").strip("<>"))
        elif self.key is not None:
            parts += fields_of(self.key)
        return ".".join(parts)[-LONGEST_NAME:]


def fields_of(key: object) -> list[str]:
    """Return the names in a format such as "{account_id}". Raises `InvalidRequest`."""
    expected = 'expected a format such as "{account_id}", or a function of the parameters'
    if not isinstance(key, str) or not key:
        raise InvalidRequest(f"key is {quoted(key)}, {expected}")
    try:
        parts = list(Formatter().parse(key))
    except ValueError as error:
        raise InvalidRequest(f"key is {quoted(key)}, {expected}: {error}") from None
    names = [name for _, name, _, _ in parts if name is not None]
    if not names:
        raise InvalidRequest(
            f"key {quoted(key)} names no parameter, {expected}; without key= one limit holds"
            " for all"
        )
    for name in names:
        if not name.isidentifier():
            raise InvalidRequest(
                f"key {quoted(key)}: {{{name}}} is no name of a parameter; use a function for more"
            )
    if any(spec or conversion for _, name, spec, conversion in parts if name is not None):
        raise InvalidRequest(
            f"key {quoted(key)}: names stand alone in braces; use a function for more"
        )
    return names


def check_key(key: Key | None, parameters: Collection[str]) -> None:
    """Raise `InvalidRequest` for a format with a name that is not a parameter."""
    if key is None or callable(key):
        return
    for name in fields_of(key):
        if name not in parameters and name != OWNER:
            known = ", ".join(f"{{{each}}}" for each in (*sorted(parameters), OWNER))
            raise InvalidRequest(
                f"key {quoted(key)} names no parameter: {{{name}}}; there are {known}"
            )


class _Values(dict[str, Any]):
    """The values in a key.

    One that is missing is empty: a job of a limited queue may lack the parameter.
    """

    def __missing__(self, name: str) -> str:
        """Return an empty text for a parameter that the job lacks."""
        return ""


def key_of(key: Key | None, value: Any, values: Mapping[str, Any], owner: str | None) -> str | None:
    """Return the key of one job; None: the limit is not for this job.

    `value`: what a function is called with.

    Raises `InvalidRequest`, and what the function raises.
    """
    if key is None:
        return ""
    if not callable(key):
        return _short(key.format_map(_Values({**values, OWNER: owner or ""})))
    found = key(value)
    if found is None:
        return None
    text = str(found)
    # A text with an address differs from job to job, so it would limit nothing.
    if not isinstance(found, str) and f"{id(found):x}" in text:
        raise InvalidRequest(
            f"the function of a key returned {quoted(text)}, expected a text or a number"
        )
    return _short(text)


def _short(text: str) -> str:
    clean = escaped(storable(text))
    if len(clean) <= LONGEST_NAME and clean == text:
        return clean
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{clean[: LONGEST_NAME - _DIGEST - 1]}~{digest}"


def named(limits: Sequence[Limit], place: str) -> list[tuple[str, Limit]]:
    """Return the limits of a type or queue with their names.

    Raises `InvalidRequest` if two have the same.
    """
    found = [(limit.name_for(place), limit) for limit in limits]
    for name, _ in found:
        if sum(name == other for other, _ in found) > 1:
            raise InvalidRequest(
                f"two limits have the name {quoted(name)}; give one of them a name= of its own"
            )
    return found
