"""The parts of the site that are written from the code, as a hook of MkDocs.

A page asks for a table by a line `<!-- from the code: settings -->`, and for a value by
`{{ version }}`.
"""

import ast
import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "src"))

from horae import errors  # noqa: E402 - found by the line above
from horae.api.problems import RESPONSES  # noqa: E402
from horae.domain.names import LONGEST_NAME  # noqa: E402
from horae.domain.times import parse_duration  # noqa: E402
from horae.settings import PREFIX, Settings  # noqa: E402
from horae.types import JobType  # noqa: E402

ASKED: Final = re.compile(r"^<!-- from the code: ([\w. ]+) -->$", re.MULTILINE)
VALUE: Final = re.compile(r"\{\{ (\w+) \}\}")
LEVELS: Final = ("warning", "error", "exception", "critical")
FOR_CONTRIBUTORS: Final = frozenset({"bench", "dev", "docs", "lint", "node", "test"})
"""Extras that are of use in a checkout only."""


def project() -> Mapping[str, Any]:
    """Return the table [project] of pyproject.toml."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"])


def values() -> dict[str, str]:
    """Return the values that pages may name."""
    described = project()
    return {
        "version": described["version"],
        "python": described["requires-python"].removeprefix(">="),
        "extras": ", ".join(
            f"`{name}`"
            for name in sorted(described["optional-dependencies"])
            if name not in FOR_CONTRIBUTORS
        ),
        "longest_name": str(LONGEST_NAME),
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
    meaning = " ".join(inspect.getdoc(error).split()) if error.__doc__ else ""
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


PARTS: Final[Mapping[str, Callable[[], Iterator[str]]]] = {
    "settings": settings,
    "errors": error_classes,
    "log messages": log_messages,
}


def part(name: str) -> str:
    """Return a generated part by its name; `python horae.testing` is that of a module."""
    kind, _, module = name.partition(" ")
    lines = python(module) if kind == "python" else PARTS[name]()
    return "\n".join(lines)


def weight(page: str) -> float:
    """Return how much the words of a page count in a search: users look for guides first."""
    folder = page.partition("/")[0]
    return {"guides": 3.0, "moving": 2.0, "adr": 0.1, "project": 0.1}.get(folder, 1.0)


def on_page_markdown(markdown: str, *, page: Any = None, **_: Any) -> str:
    """Replace what a page asks for; called by MkDocs for each page."""
    if page is not None:
        page.meta["search"] = {"boost": weight(page.file.src_uri)}
    known = values()
    filled = VALUE.sub(lambda found: known[found[1]], markdown)
    return ASKED.sub(lambda found: part(found[1]), filled)
