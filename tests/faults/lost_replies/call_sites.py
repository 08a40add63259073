"""Every place in the package where a node or a caller runs a statement, found in its source."""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Final

import horae

PACKAGE: Final = Path(horae.__file__).parent
CALLED: Final = (
    "transact",
    "transact_at_once",
    "autocommit",
    "write_one",
    "transact_async",
    "autocommit_async",
    "write_one_async",
)
SCOPE: Final = ("runtime", "client", "types", "live")
"""The packages whose calls are meant: those of nodes and of callers."""
LEFT_OUT: Final = (
    "client/doctor",
    "client/forecasting.py",
    "client/operations/failures.py",
    "client/operations/history.py",
    "client/operations/overview.py",
)
"""Modules that only read, to report: a call that fails there changes nothing."""
OWN_NAMES: Final = {"live/database.py": ("_run",)}
"""Names by which a module calls the functions of the database."""


@dataclass(frozen=True, order=True)
class CallSite:
    """One call in the source."""

    module: str
    function: str
    statement: str

    def __str__(self) -> str:
        return f"{self.module}:{self.function}:{self.statement}"


class Sites:
    """All call sites, by module and line."""

    def __init__(self) -> None:
        self.by_line: dict[tuple[str, int], CallSite] = {}
        for file in sorted(PACKAGE.rglob("*.py")):
            relative = str(file.relative_to(PACKAGE))
            if relative.startswith(SCOPE) and not relative.startswith(LEFT_OUT):
                names = (*CALLED, *OWN_NAMES.get(relative, ()))
                for node, function in _functions(ast.parse(file.read_text())):
                    for line, statement in _calls(node, names):
                        self.by_line[relative, line] = CallSite(relative, function, statement)

    def __iter__(self) -> Iterator[CallSite]:
        return iter(sorted(set(self.by_line.values())))

    def of_frame(self, frame: FrameType | None) -> CallSite | None:
        """Return the site that called, however many other functions are between."""
        while frame is not None:
            file = frame.f_code.co_filename
            if file.startswith(str(PACKAGE)):
                relative = file.removeprefix(f"{PACKAGE}/")
                if (relative, frame.f_lineno) in self.by_line:
                    return self.by_line[relative, frame.f_lineno]
            frame = frame.f_back
        return None


@cache
def call_sites() -> Sites:
    """Return the sites of the package; to find them takes half a second, so this is not done while tests are collected."""
    return Sites()


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[ast.AST, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node, f"{prefix}{node.name}"


def _calls(function: ast.AST, names: Collection[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            called = [
                node.func,
                *node.args[:1],
            ]  # the second for `partial(database.transact, statement)`
            for place, candidate in enumerate(called):
                if (
                    isinstance(candidate, ast.Attribute)
                    and candidate.attr in names
                    and len(node.args) > place
                ):
                    yield node.lineno, ast.unparse(node.args[place])
