"""The definitions in Python files."""

import ast
import sysconfig
from dataclasses import dataclass
from pathlib import Path

LEFT_OUT = {"site-packages", "test", "tests", "idle_test"}


@dataclass(frozen=True)
class Outline:
    """The definitions in one module: kind, name, line."""

    name: str
    lines: int
    definitions: list[tuple[str, str, int]]


def standard_library() -> Path:
    """Return the folder of this interpreter's standard library."""
    return Path(sysconfig.get_path("stdlib"))


def files_under(root: Path) -> list[Path]:
    """Return every Python file, except those of installed packages and of Python's own tests."""
    return sorted(file for file in root.rglob("*.py") if LEFT_OUT.isdisjoint(file.parts))


def outline_of(root: Path, file: Path) -> Outline:
    """Parse one file; a file that is no Python of this version counts as empty."""
    source = file.read_bytes()
    name = ".".join(file.relative_to(root).with_suffix("").parts)
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return Outline(name, len(source.splitlines()), [])
    return Outline(
        name,
        len(source.splitlines()),
        [_entry(node) for node in ast.walk(tree) if isinstance(node, KINDS)],
    )


KINDS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _entry(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, str, int]:
    return "class" if isinstance(node, ast.ClassDef) else "function", node.name, node.lineno
