"""`horae types`: the job types of an application."""

from operator import itemgetter
from typing import Annotated, Any

import typer

from horae.cli.command import Answer, printed, table
from horae.cli.context import target_of
from horae.cli.printing import brief, print_fields, print_table
from horae.types import TYPE_OPTIONS, JobType
from horae.types.documentation import declared_by, description_of, parameters_schema

types_app = typer.Typer()


@types_app.command("list")
@printed
def list_types(context: typer.Context) -> Answer:
    """List the job types that the application declares."""
    found = [as_values(job_type) for job_type in target_of(context).application.registry]
    return table(
        "types",
        found,
        {
            "TYPE": "name",
            "QUEUE": "queue",
            "PARAMETERS": lambda kind: ", ".join(kind["parameters"].get("properties", {})),
            "MAX COUNT": lambda kind: (
                "no limit" if kind["max_count"] is None else kind["max_count"]
            ),
            "ATTEMPTS": "max_attempts",
            "SOFT LIMIT": lambda kind: brief(kind["soft_time_limit"]),
            "DESCRIPTION": lambda kind: (kind["description"] or "").partition("\n")[0],
        },
        empty="The application declares no job types.",
    )


@types_app.command()
@printed
def show(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="TYPE", help="The name of a job type.")],
) -> Answer:
    """Show one job type: its options and its parameters."""
    kind = as_values(target_of(context).application.registry.get(name))
    required = kind["parameters"].get("required", [])

    def show_all() -> None:
        print_fields(
            (field.replace("_", " "), text_of(field, value))
            for field, value in kind.items()
            if field != "parameters"
        )
        typer.echo()
        parameters = kind["parameters"].get("properties", {}).items()
        print_table(
            {
                "PARAMETER": itemgetter(0),
                "TYPE": lambda item: " or ".join(
                    option.get("type") or option.get("$ref", "any").rpartition("/")[2]
                    for option in item[1].get("anyOf", [item[1]])
                ),
                "DEFAULT": lambda item: (
                    "required" if item[0] in required else repr(item[1].get("default"))
                ),
            },
            parameters,
            empty="It has no parameters.",
        )

    return Answer(kind, show_all)


def as_values(job_type: JobType[Any]) -> dict[str, Any]:
    """Return a job type for `--json`: documented fields, seconds, parameters as a JSON schema."""
    source = declared_by(job_type)
    return {
        "name": job_type.type,
        "description": description_of(job_type),
        "declared_in": f"{source.__module__}.{source.__qualname__}",
        **{
            name: option.show(job_type)
            for name, option in TYPE_OPTIONS.items()
            if option.show is not None
        },
        "is_async": job_type.is_async,
        "parameters": parameters_schema(job_type),
    }


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
    if field in ("soft_time_limit", "grace", "pending_timeout", "expires"):
        return brief(value)
    return value


def _plain_text(value: object) -> str:
    if isinstance(value, float):
        return brief(value)
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
