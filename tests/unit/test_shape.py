"""The shape of the tree: short modules, short functions, small folders, and no import of the public names inside the package."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "src" / "horae"
TESTS: Final = ROOT / "tests"

SPEAK_SQL: Final = frozenset({"storage", "live", "wakeup"})
CARRIED: Final = frozenset({"AsyncConnection", "AsyncSession", "Connection", "Session"})

LONGEST_MODULE: Final = 400
LONGEST_TEST_MODULE: Final = 600
LONGEST_BODY: Final = 40
LARGEST_FOLDER: Final = 20

Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def overlong_modules(folder: Path, limit: int) -> list[str]:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules(folder)}
    return [f"{path}: {length} lines" for path, length in lengths.items() if length > limit]


def crowded_folders(folder: Path, limit: int) -> list[str]:
    sizes = Counter(path.parent for path in modules(folder) if path.name != "__init__.py")
    return [f"{path}: {size} modules" for path, size in sizes.items() if size > limit]


def functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def body_length(function: Function) -> int:
    """Lines from the first statement after the docstring to the last."""
    statements = function.body if ast.get_docstring(function) is None else function.body[1:]
    if not statements:
        return 0
    return (statements[-1].end_lineno or 0) - statements[0].lineno + 1


def overlong_functions(folder: Path) -> list[str]:
    return [
        f"{path}:{function.lineno} {function.name}: {body_length(function)} lines"
        for path in modules(folder)
        for function in functions(parse(path))
        if body_length(function) > LONGEST_BODY
    ]


def uses_front_door(node: ast.AST) -> bool:
    match node:
        case ast.ImportFrom(module="horae", level=0):
            return True
        case ast.Import(names=names):
            return any(alias.name == "horae" for alias in names)
        case _:
            return False


def front_door_imports(folder: Path) -> list[str]:
    return [
        f"{path}:{getattr(node, 'lineno', 0)}"
        for path in modules(folder)
        for node in ast.walk(parse(path))
        if uses_front_door(node)
    ]


def stray_sqlalchemy(package: Path) -> list[str]:
    """Outside the packages that speak SQL, a connection may be named and passed on, no more."""
    return [
        f"{path}:{node.lineno} {alias.name}"
        for path in modules(package)
        if path.relative_to(package).parts[0] not in SPEAK_SQL
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if of_sqlalchemy(node, alias) and alias.name not in CARRIED
    ]


def of_sqlalchemy(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    module = node.module if isinstance(node, ast.ImportFrom) else alias.name
    return (module or "").partition(".")[0] == "sqlalchemy"


def test_modules_are_short() -> None:
    assert overlong_modules(PACKAGE, LONGEST_MODULE) == []
    assert overlong_modules(TESTS, LONGEST_TEST_MODULE) == []


def test_folders_are_small() -> None:
    assert crowded_folders(PACKAGE, LARGEST_FOLDER) == []


def test_functions_are_short() -> None:
    assert overlong_functions(PACKAGE) == []
    assert overlong_functions(TESTS) == []


def test_no_module_of_the_package_imports_the_package_itself() -> None:
    assert front_door_imports(PACKAGE) == []


def test_sql_is_spoken_where_it_belongs() -> None:
    assert stray_sqlalchemy(PACKAGE) == []


def test_loggers_of_the_package_are_guarded() -> None:
    """`horae.job` is the log of bodies: what it raises is theirs."""
    made = [path for path in modules(PACKAGE) if 'getLogger("horae' in path.read_text(encoding="utf-8")]
    assert [path.name for path in made] == ["context.py"]


def test_an_overlong_module_is_found(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text("x = 1\n" * 3)
    (tmp_path / "long.py").write_text("x = 1\n" * 4)
    assert overlong_modules(tmp_path, 3) == [f"{tmp_path}/long.py: 4 lines"]


def test_a_crowded_folder_is_found(tmp_path: Path) -> None:
    for name in ("__init__", "one", "two"):
        (tmp_path / f"{name}.py").touch()
    assert crowded_folders(tmp_path, 2) == []
    assert crowded_folders(tmp_path, 1) == [f"{tmp_path}: 2 modules"]


def test_an_overlong_function_is_found_and_its_docstring_is_not_counted(tmp_path: Path) -> None:
    docstring = '    """' + "word\n" * 50 + '"""\n'
    (tmp_path / "right.py").write_text("def f():\n" + docstring + "    x = 1\n" * LONGEST_BODY)
    (tmp_path / "long.py").write_text("async def g():\n" + "    x = 1\n" * (LONGEST_BODY + 1))
    assert overlong_functions(tmp_path) == [f"{tmp_path}/long.py:1 g: 41 lines"]


def test_imports_of_the_package_itself_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "guest.py").write_text("import horae\nfrom horae import Job\n")
    (tmp_path / "resident.py").write_text("from horae.domain.jobs.job import Job\nimport horae.errors\n")
    assert front_door_imports(tmp_path) == [f"{tmp_path}/guest.py:1", f"{tmp_path}/guest.py:2"]


def test_sql_outside_of_the_storage_is_found(tmp_path: Path) -> None:
    (tmp_path / "storage").mkdir()
    (tmp_path / "storage" / "jobs.py").write_text("from sqlalchemy import select\n")
    (tmp_path / "carrier.py").write_text("from sqlalchemy import Connection\n")
    (tmp_path / "stray.py").write_text("from sqlalchemy.sql import text\nimport sqlalchemy\n")
    assert stray_sqlalchemy(tmp_path) == [
        f"{tmp_path}/stray.py:1 text",
        f"{tmp_path}/stray.py:2 sqlalchemy",
    ]
