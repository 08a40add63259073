"""`horae types`: the job types of an application."""

import inspect
from dataclasses import fields
from datetime import timedelta
from operator import itemgetter
from typing import Annotated, Any

import typer
from pydantic.errors import PydanticInvalidForJsonSchema

from horae.cli.context import target_of
from horae.cli.options import AsJson
from horae.cli.printing import Columns, brief, print_fields, print_json, print_list, print_table
from horae.domain.jobs import Debounce, Unique
from horae.domain.limits import Limit
from horae.types import FunctionJobType, JobType

types_app = typer.Typer(
    help="List the job types of an application (needs --app or HORAE_APP).", no_args_is_help=True
)


@types_app.command("list")
def list_types(context: typer.Context, *, as_json: AsJson = False) -> None:
    """List the job types that the application declares."""
    found = [as_values(job_type) for job_type in target_of(context).application.registry]
    columns: Columns = {
        "TYPE": itemgetter("name"),
        "QUEUE": itemgetter("queue"),
        "PARAMETERS": lambda kind: ", ".join(kind["parameters"].get("properties", {})),
        "MAX COUNT": lambda kind: "no limit" if kind["max_count"] is None else kind["max_count"],
        "ATTEMPTS": itemgetter("max_attempts"),
        "SOFT LIMIT": lambda kind: brief(kind["soft_time_limit"]),
        "DESCRIPTION": lambda kind: (kind["description"] or "").partition("\n")[0],
    }
    print_list(
        "types", found, columns, empty="The application declares no job types.", as_json=as_json
    )


@types_app.command()
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="TYPE", help="The name of a job type.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Show one job type: its options and its parameters."""
    kind = as_values(target_of(context).application.registry.get(name))
    if as_json:
        print_json(kind)
        return
    print_fields(
        (field.replace("_", " "), text_of(field, value))
        for field, value in kind.items()
        if field != "parameters"
    )
    required = kind["parameters"].get("required", [])
    typer.echo()
    columns: Columns = {
        "PARAMETER": itemgetter(0),
        "TYPE": lambda item: _kind(item[1]),
        "DEFAULT": lambda item: "required" if item[0] in required else repr(item[1].get("default")),
    }
    print_table(
        columns, kind["parameters"].get("properties", {}).items(), empty="It has no parameters."
    )


def as_values(job_type: JobType[Any]) -> dict[str, Any]:
    """Return a job type for `--json`: documented fields, seconds, parameters as a JSON schema."""
    source: Any = job_type.function if isinstance(job_type, FunctionJobType) else type(job_type)
    return {
        "name": job_type.type,
        "description": inspect.cleandoc(source.__doc__) if source.__doc__ else None,
        "declared_in": f"{source.__module__}.{source.__qualname__}",
        "queue": job_type.queue,
        "priority": job_type.priority,
        "max_count": job_type.max_count,
        "max_attempts": job_type.max_attempts,
        "soft_time_limit": _seconds(job_type.time_limits.soft),
        "grace": _seconds(job_type.time_limits.grace),
        "pending_timeout": _seconds(job_type.time_limits.pending),
        "expires": _seconds(job_type.time_limits.expires),
        "keep": {
            state.value: seconds for state, seconds in sorted(job_type.retention.seconds.items())
        },
        "unique": _rule(job_type.uniqueness, Unique),
        "debounce": _rule(job_type.uniqueness, Debounce),
        "limits": [
            {"name": each.name, "allows": each.limit.numbers.text, "key": _key(each.limit)}
            for each in job_type.named_limits
        ],
        "tags": sorted(job_type.tags),
        "on_shutdown": job_type.on_shutdown,
        "isolation": job_type.isolation,
        "public": job_type.public,
        "is_async": job_type.is_async,
        "parameters": schema_of(job_type),
    }


def _rule(rule: Unique | Debounce | None, kind: type) -> dict[str, Any] | None:
    """Return a rule as JSON, if it is of this kind; durations in seconds."""
    if rule is None or not isinstance(rule, kind):
        return None
    values = {each.name: getattr(rule, each.name) for each in fields(rule)}
    return {
        name: _seconds(value) if isinstance(value, timedelta) else _plain(value)
        for name, value in values.items()
    }


def _plain(value: Any) -> Any:
    return sorted(str(each.value) for each in value) if isinstance(value, frozenset) else value


def schema_of(job_type: JobType[Any]) -> dict[str, Any]:
    """Return the JSON schema of the parameters; empty if a column's type has none."""
    try:
        return job_type.request.model.model_json_schema()
    except PydanticInvalidForJsonSchema:
        return {}


def _seconds(length: Any) -> float | None:
    return None if length is None else length.total_seconds()


def text_of(field: str, value: Any) -> object:
    """Return the value of a field in words."""
    if field == "keep":
        return (
            ", ".join(f"{state} {brief(seconds)}" for state, seconds in value.items())
            or "as configured"
        )
    if field == "limits":
        return "; ".join(
            f"{each['allows']}{' by ' + each['key'] if each['key'] else ''}" for each in value
        )
    if isinstance(value, dict):
        return ", ".join(
            f"{name.replace('_', ' ')} {_plain_text(each)}"
            for name, each in value.items()
            if each is not None
        )
    if isinstance(value, list):
        return _plain_text(value)
    return (
        brief(value)
        if field in ("soft_time_limit", "grace", "pending_timeout", "expires")
        else value
    )


def _plain_text(value: object) -> str:
    if isinstance(value, float):
        return brief(value)
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _key(limit: Limit) -> str | None:
    """Return the format of the key of a limit, or the name of the function that computes it."""
    return getattr(limit.key, "__name__", "a function") if callable(limit.key) else limit.key


def _kind(schema: dict[str, Any]) -> str:
    options = schema.get("anyOf", [schema])
    return " or ".join(
        option.get("type") or option.get("$ref", "any").rpartition("/")[2] for option in options
    )
