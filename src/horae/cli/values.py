"""Parses arguments: durations, times, parameters."""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, cast

from horae.domain.backoff import Backoff
from horae.domain.times import read_interval
from horae.errors import InvalidParameters, InvalidRequest
from horae.quoting import quoted
from horae.types import JobType
from horae.types.options import OPTIONS, START_OPTIONS

ONLY_IN_PYTHON: Final = frozenset({"job_type", "session"})
"""Options of a start that the command lacks, because they are Python objects."""


def duration(text: str) -> timedelta:
    """Parse `30s`, `1h30m`, `2 days`, `PT90M` or a number of seconds; raises `InvalidRequest`."""
    try:
        if text.isascii() and text.replace(".", "", 1).isdigit():
            return timedelta(seconds=float(text))
        return read_interval(text).nominal
    except OverflowError as error:
        raise InvalidRequest(f"{quoted(text)} is too long") from error


def names(text: str) -> tuple[str, ...] | None:
    """Parse names that are separated by commas; None for `*`, which stands for all."""
    return None if text.strip() == "*" else comma_separated(text)


def comma_separated(text: str) -> tuple[str, ...]:
    """Parse a list; empty entries do not count."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


def backoff(text: str) -> Backoff:
    """Parse `base=10s,cap=5m,factor=linear,jitter=0.1`; missing parts have their defaults.

    Raises `InvalidRequest`.
    """
    stored: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = (each.strip() for each in part.partition("="))
        if name not in ("base", "cap", "factor", "jitter") or not value:
            raise InvalidRequest(
                f"backoff {quoted(part)}: expected one or more of base=TIME, cap=TIME,"
                " factor=NAME, jitter=SHARE"
            )
        if name == "factor":
            stored[name] = value
        elif name == "jitter":
            try:
                stored[name] = float(value)
            except ValueError:
                raise InvalidRequest(f"backoff jitter {quoted(value)}: expected 0 to 1") from None
        else:
            stored[name] = duration(value).total_seconds()
    return Backoff.from_json(stored)


def start_parameters(
    job_type: JobType[Any], pairs: Sequence[str], params: str | None
) -> dict[str, Any]:
    """Return the parameters of `horae jobs start`.

    Raises `InvalidRequest` for the name of an option. No type declares such a parameter, but a type
    that takes any can get it in the JSON object.
    """
    accepts_any = job_type.request.model.model_config.get("extra") == "allow"
    given = {_pair(pair)[0] for pair in pairs} | (
        set() if accepts_any else json_object("--params", params).keys()
    )
    if reserved := sorted(START_OPTIONS & given):
        name = reserved[0]
        if name in ONLY_IN_PYTHON:
            advice = (
                f"{name!r} is an option of `horae.jobs.start` in Python, not a parameter, and the"
                " command has none for it"
            )
        else:
            named = OPTIONS[name].flag if name in OPTIONS else None
            flag = f"--{(named or name).replace('_', '-')}"
            advice = f"{name!r} is an option of the command, not a parameter; write {flag}"
        if accepts_any:
            advice += f"; for a parameter of this name, write --params '{{\"{name}\": …}}'"
        raise InvalidRequest(advice)
    return parameters(job_type, pairs, params)


def parameters(job_type: JobType[Any], pairs: Sequence[str], params: str | None) -> dict[str, Any]:
    """Merge `name=value` pairs into a JSON object; raises `InvalidRequest`.

    A value that is valid JSON is read as JSON, any other as text. If the job type refuses the JSON
    value but accepts the text, it gets the text: `zip=12345` works for a string as for a number.
    """
    texts = dict(_pair(pair) for pair in pairs)
    values = json_object("--params", params) | {name: _value(text) for name, text in texts.items()}
    refused = _refused(job_type, values)
    if refused:
        as_typed = {**values, **{name: texts[name] for name in refused & texts.keys()}}
        if not _refused(job_type, as_typed):
            return as_typed
    return values


def _refused(job_type: JobType[Any], values: Mapping[str, Any]) -> set[str]:
    try:
        job_type.request.check(job_type.type, values)
    except InvalidParameters as error:
        return {where.partition(".")[0] for where, _ in error.problems}
    return set()


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise InvalidRequest(
            f"parameter {quoted(text)}: write name=value, as in path=people.csv or limit=10"
        )
    return name, value


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def json_object(option: str, text: str | None) -> dict[str, Any]:
    """Parse the value of an option that is a JSON object. Raises `InvalidRequest`."""
    if text is None:
        return {}
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"{option} {quoted(text)} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidRequest(
            f'{option} {quoted(text)}: expected a JSON object, as in {{"path": "people.csv"}}'
        )
    return cast("dict[str, Any]", value)
