"""The parts of the site that are written from the code, as a hook of MkDocs.

A page asks for a table by a line `<!-- from the code: settings -->`. A value stands between two
comments, as in `<!-- python: -->3.11<!-- -->`, so that the page can be read where no site is built
from it; a test compares it with the code.
"""

import ast
import inspect
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from horae import Horae, errors  # noqa: E402 - found by the line above
from horae.api import dependencies, metrics  # noqa: E402
from horae.api.problems import RESPONSES  # noqa: E402
from horae.api.resources import RESOURCE_ROUTERS, groups  # noqa: E402
from horae.client.jobs import job_starts  # noqa: E402
from horae.domain.jobs import KeepLogs, log_lines  # noqa: E402
from horae.domain.jobs.query import terms as query_rules  # noqa: E402
from horae.domain.names import LONGEST_NAME  # noqa: E402
from horae.domain.times import parse_duration  # noqa: E402
from horae.settings import PREFIX, Settings  # noqa: E402
from horae.storage.engine.connections import session  # noqa: E402
from horae.types import JobType, previous  # noqa: E402
from horae.types.options import declaration, uniqueness  # noqa: E402
from horae.types.parameters import plain_data  # noqa: E402

ROLES: Final[Mapping[Any, str]] = {
    dependencies.staff_of: "`staff`",
    dependencies.reader_of: "`staff`, `read_only`",
    dependencies.changer_of: "`owner`, `staff`",
    dependencies.actor_of: "all roles",
}
ASKED: Final = re.compile(r"^<!-- from the code: ([\w. ]+) -->$", re.MULTILINE)
VALUE: Final = re.compile(r"<!-- (\w+): -->(.*?)<!-- -->")
LEVELS: Final = ("warning", "error", "exception", "critical")
FOR_CONTRIBUTORS: Final = frozenset({"bench", "dev", "docs", "lint", "node", "test"})
"""Extras that are of use in a checkout only."""


def project() -> Mapping[str, Any]:
    """Return the table [project] of pyproject.toml."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"])


NUMBERS: Final[Mapping[str, int]] = {
    "deepest_parameters": plain_data.DEEPEST,
    "kept_lines": KeepLogs().lines,
    "longest_line": log_lines.LONGEST_LINE,
    "longest_query": query_rules.MOST_CHARACTERS,
    "most_compared": uniqueness.MOST_COMPARED,
    "most_created_at_once": job_starts.ATOMIC,
    "most_in_batch": declaration.MOST_IN_BATCH,
    "most_members_over_http": groups.MOST_MEMBERS,
    "most_parameter_values": plain_data.MOST_VALUES,
    "most_passed_results": previous.MOST_JOBS,
    "most_query_terms": query_rules.MOST_TERMS,
    "longest_gathering": int(declaration.LONGEST_GATHERING.total_seconds()),
}
"""Limits that pages name, from where they are enforced."""


def values() -> dict[str, str]:
    """Return the values that pages may name."""
    described = project()
    return {
        **{name: f"{number:,}" for name, number in NUMBERS.items()},
        "version": described["version"],
        "python": described["requires-python"].removeprefix(">="),
        "extras": ", ".join(
            f"`{name}`"
            for name in sorted(described["optional-dependencies"])
            if name not in FOR_CONTRIBUTORS
        ),
        "longest_name": str(LONGEST_NAME),
        "postgres": str(session.OLDEST),
        "soft_time_limit": str(parse_duration("limit", JobType.soft_time_limit or "0s")),
    }


def settings() -> Iterator[str]:
    """Return a row for each setting."""
    yield from ("| Setting | Variable | Default | Meaning |", "|---|---|---|---|")
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, (), {}) else f"`{_shown(field.default)}`"
        meaning = (field.description or "").replace("|", "\\|")
        yield f"| `{name}` | `{PREFIX}{name.upper()}` | {default} | {meaning} |"


def _shown(default: object) -> object:
    if isinstance(default, timedelta):
        seconds = int(default.total_seconds())
        return f"{seconds // 86_400} days" if seconds % 86_400 == 0 else f"{seconds}s"
    return ",".join(map(str, default)) if isinstance(default, tuple) else default


def error_classes() -> Iterator[str]:
    """Return a row for each error, below its base."""
    yield from ("| Error | Meaning | Over HTTP |", "|---|---|---|")
    for depth, error in _below(errors.HoraeError, 0):
        yield _error_row(depth, error)
    for depth, error in _below(errors.JobStopped, 0):
        yield _error_row(depth, error)


def _below(error: type[BaseException], depth: int) -> Iterator[tuple[int, type[BaseException]]]:
    yield depth, error
    for each in sorted(error.__subclasses__(), key=lambda found: found.__name__):
        if each.__module__ == errors.__name__:
            yield from _below(each, depth + 1)


def _error_row(depth: int, error: type[BaseException]) -> str:
    meaning = " ".join((inspect.getdoc(error) or "").split()) if error.__doc__ else ""
    found = next((RESPONSES[each] for each in error.__mro__ if each in RESPONSES), None)
    response = "" if found is None else f"{found[0]} `{found[1]}`"
    return f"| {'&emsp;' * depth}`{error.__name__}` | {meaning} | {response} |"


def log_messages() -> Iterator[str]:
    """Return a row for each warning and error that the program logs."""
    yield from ("| Level | Message | In |", "|---|---|---|")
    rows: set[tuple[str, str, str]] = set()
    for path in sorted((ROOT / "src/horae").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and (found := _logged(node)) is not None:
                rows.add((*found, str(path.relative_to(ROOT / "src/horae"))))
    for level, text, place in sorted(rows, key=lambda row: (row[2], row[1])):
        yield f"| {level} | `{text}` | `{place}` |"


def _logged(call: ast.Call) -> tuple[str, str] | None:
    """Return the level and the text of a call that logs, or None."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in LEVELS or not call.args:
        return None
    first = call.args[0]
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return None
    level = "error" if function.attr == "exception" else function.attr
    return level, " ".join(first.value.split()).replace("|", "\\|").replace("`", "'")


def names_of(module: str) -> list[str]:
    """Return the public names of a module, without importing it: it may need a library."""
    path = ROOT / "src" / module.replace(".", "/")
    source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8")
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def python(module: str) -> Iterator[str]:
    """Return a directive of mkdocstrings for each public name of a module but its errors."""
    for name in names_of(module):
        if not (module == "horae" and hasattr(errors, name)):
            yield f"::: {module}.{name}\n"


@cache
def interface() -> tuple[dict[str, Any], dict[str, str]]:
    """Return the OpenAPI document of an application without job types, and who may use each
    operation, by its id.
    """
    with (
        TemporaryDirectory() as folder,
        closing(Horae(f"sqlite:///{folder}/horae.db")) as horae,
    ):
        made: Any = horae.asgi(lambda _request: None).made
        document: dict[str, Any] = made.openapi()
    routes = [
        route
        for router in RESOURCE_ROUTERS
        for route in router.routes
        if isinstance(route, APIRoute)
    ]
    return document, {route.name: _allowed(route.dependant) for route in routes}


def _allowed(dependant: Dependant) -> str:
    """Return who may use an endpoint, by the actor that it or what it depends on asks for."""
    for each in dependant.dependencies:
        if each.call in ROLES:
            return ROLES[each.call]
    return next((_allowed(each) for each in dependant.dependencies), "everybody")


def endpoints(tag: str) -> Iterator[str]:
    """Return a row for each endpoint with this tag."""
    document, allowed = interface()
    yield from (
        "| Request | What it does | Takes | Answer | Allowed for |",
        "|---|---|---|---|---|",
    )
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if tag not in operation["tags"]:
                continue
            names = [
                f"`{each['name']}`"
                for each in operation.get("parameters", ())
                if each["in"] == "query"
            ]
            body = [_content(operation["requestBody"])] if "requestBody" in operation else []
            answers = [
                f"{status} {_content(answer)}".strip()
                for status, answer in operation["responses"].items()
                if status < "300"
            ]
            row = (
                f"`{method.upper()} {path}`",
                _first_sentence(operation.get("description", "")),
                ", ".join([*names, *body]),
                "; ".join(answers),
                allowed[operation["operationId"]],
            )
            yield f"| {' | '.join(row)} |"


def _first_sentence(text: str) -> str:
    """Return the first paragraph of a description, in one line."""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")


def _content(described: Mapping[str, Any]) -> str:
    """Return the type of a body or of an answer."""
    for each in described.get("content", {}).values():
        return _type(each.get("schema", {}))
    return ""


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a value, with links to models."""
    match schema:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            values = interface()[0]["components"]["schemas"][name].get("enum")
            written = _choices(values) if values else f"[{name}](#{name.lower()})"
        case {"enum": values}:
            written = _choices(values)
        case {"const": value}:
            written = _choices([value])
        case {"anyOf": kinds} | {"oneOf": kinds}:
            written = " or ".join(dict.fromkeys(_type(kind) for kind in kinds))
        case {"type": "array"}:
            written = f"list of {_type(schema.get('items', {}))}"
        case {"type": "object", "additionalProperties": {**values}}:
            written = f"object of {_type(values)}"
        case {"format": "date-time"}:
            written = "point in time"
        case _:
            written = str(schema.get("type", "any JSON"))
    return written


def _choices(values: Sequence[Any]) -> str:
    return ", ".join(f"`{json.dumps(value)}`" for value in values)


def models() -> Iterator[str]:
    """Return a heading and a table of fields for each model of the interface."""
    for name, schema in sorted(interface()[0]["components"]["schemas"].items()):
        if "enum" in schema:
            continue  # shown where it is used
        yield from (f"### {name}", "", _first_sentence(schema.get("description", "")), "")
        if schema.get("properties"):
            yield from ("| Field | Type | Meaning |", "|---|---|---|")
        for field, described in schema.get("properties", {}).items():
            optional = "" if field in schema.get("required", ()) else _default(described)
            meaning = _first_sentence(described.get("description", ""))
            yield f"| `{field}` | {_type(described)}{optional} | {meaning} |"
        yield ""


def _default(described: Mapping[str, Any]) -> str:
    default = described.get("default")
    return ", optional" if default in (None, {}, []) else f", `{json.dumps(default)}` if left out"


def query(operation_id: str) -> Iterator[str]:
    """Return a row for each parameter in the query of an operation."""
    yield from ("| Parameter | Type | Meaning |", "|---|---|---|")
    for operations in interface()[0]["paths"].values():
        for operation in operations.values():
            if operation["operationId"] == operation_id:
                for each in operation.get("parameters", ()):
                    meaning = _first_sentence(each.get("description", ""))
                    optional = _default(each["schema"])
                    yield f"| `{each['name']}` | {_type(each['schema'])}{optional} | {meaning} |"


def metric_names() -> Iterator[str]:
    """Return a row for each metric of `/metrics`."""
    yield from ("| Name | Kind | Labels | Meaning |", "|---|---|---|---|")
    for each in metrics.DECLARED:
        suffix = {"counter": "_total", "info": "_info"}.get(each.kind, "")
        labels = ", ".join(f"`{label}`" for label in each.labels)
        yield f"| `{each.name}{suffix}` | {each.kind} | {labels} | {each.help} |"


PARTS: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "settings": settings,
    "errors": error_classes,
    "log messages": log_messages,
    "models": models,
    "metrics": metric_names,
}
PARTS_OF: Final[Mapping[str, Callable[[str], Iterator[str]]]] = {
    "python": python,
    "endpoints": endpoints,
    "query": query,
}
"""Parts that have a word after their name, such as `python horae.testing`."""


def part(name: str) -> str:
    """Return a generated part by its name."""
    kind, _, of = name.partition(" ")
    return "\n".join(PARTS_OF[kind](of) if kind in PARTS_OF else PARTS[name]())


def weight(page: str) -> float:
    """Return how much the words of a page count in a search: users look for guides first."""
    folder = page.partition("/")[0]
    return {"guides": 3.0, "moving": 2.0, "adr": 0.1, "project": 0.1}.get(folder, 1.0)


ASKED_FOR: Final[Mapping[str, Sequence[str]]] = {
    "concepts/guarantees.md": ("exactly-once", "at-least-once"),
    "concepts/sqlite.md": ("sqlite",),
    "guides/fleets.md": ("postgres", "postgresql", "deploy", "scale", "kubernetes"),
    "guides/jobs.md": (
        *("async", "asyncio", "cancel", "delay", "priority", "progress", "queue", "result"),
        *("retries", "retry", "timeout", "timeouts", "transaction"),
    ),
    "guides/limits.md": ("concurrency", "throttle"),
    "guides/migrations.md": ("migration",),
    "guides/operations.md": ("dead-letter", "monitoring", "systemd"),
    "guides/schedules.md": ("cron", "interval", "schedule", "timezone"),
    "guides/security.md": ("authentication", "password"),
    "guides/testing.md": ("eager", "mock"),
}
"""Words that people search for and the page to be found first, where its headings lack them."""


def on_page_markdown(markdown: str, *, page: Any = None, **_: Any) -> str:
    """Replace what a page asks for; called by MkDocs for each page."""
    if page is not None:
        page.meta["search"] = {"boost": weight(page.file.src_uri)}
        page.meta["tags"] = list(ASKED_FOR.get(page.file.src_uri, ()))  # no plugin shows them
    known = values()
    filled = VALUE.sub(lambda found: known[found[1]], markdown)
    return ASKED.sub(lambda found: part(found[1]), filled)
