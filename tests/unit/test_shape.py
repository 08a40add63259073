"""The shape of the package: imports, SQL only where it belongs, guarded loggers, and names with one meaning."""

import ast
import re
import tokenize
from collections import Counter
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "src" / "horae"

SPEAK_SQL: Final = frozenset({"storage", "live", "wakeup"})
CARRIED: Final = frozenset(
    {
        "AsyncConnection",
        "AsyncSession",
        "Connection",
        "Engine",
        "Session",
        "async_scoped_session",
        "scoped_session",
    }
)


def modules(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


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


def test_no_module_of_the_package_imports_the_package_itself() -> None:
    assert front_door_imports(PACKAGE) == []


def test_sql_is_spoken_where_it_belongs() -> None:
    assert stray_sqlalchemy(PACKAGE) == []


def test_loggers_of_the_package_are_guarded() -> None:
    """`horae.job` is the log of bodies: what it raises is theirs."""
    made = [
        path for path in modules(PACKAGE) if 'getLogger("horae' in path.read_text(encoding="utf-8")
    ]
    assert [path.name for path in made] == ["context.py"]


def test_imports_of_the_package_itself_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "guest.py").write_text("import horae\nfrom horae import Job\n")
    (tmp_path / "resident.py").write_text(
        "from horae.domain.jobs.job import Job\nimport horae.errors\n"
    )
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


def test_no_two_public_classes_share_a_name() -> None:
    names = Counter(
        node.name
        for path in modules(PACKAGE)
        for node in parse(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


FACELESS: Final = ("__init__.py", "cli/failures.py")
"""Modules that are loaded before SQLAlchemy and Pydantic may be: faces would load both."""


def past_faces(package: Path) -> list[str]:
    """Return the imports of a name from a module of another room whose face could hand it on."""
    found = list[str]()
    for path in modules(package):
        if path.relative_to(package).as_posix() in FACELESS:
            continue
        for node in ast.walk(parse(path)):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("horae."):
                continue
            target = package.joinpath(*str(node.module).split(".")[1:])
            room = target.parent
            if target.is_dir() or room == package or room in path.parents:
                continue
            face = room / "__init__.py"
            offered = set(re.findall(r'^    "(\w+)",$|"(\w+)"', face.read_text(encoding="utf-8")))
            names = {name for pair in offered for name in pair}
            found += [
                f"{path.relative_to(package)}:{node.lineno} {node.module}.{alias.name}"
                for alias in node.names
                if alias.name in names
            ]
    return found


def test_rooms_use_each_other_by_their_faces() -> None:
    assert past_faces(PACKAGE) == []


def test_a_name_that_is_imported_past_a_face_is_found(tmp_path: Path) -> None:
    for room in ("jobs", "nodes"):
        (tmp_path / room).mkdir()
    (tmp_path / "jobs" / "__init__.py").write_text(
        'from horae.jobs.claims import claim\n\n__all__ = ["claim"]\n'
    )
    (tmp_path / "jobs" / "claims.py").write_text("def claim(): ...\ndef count(): ...\n")
    (tmp_path / "jobs" / "limits.py").write_text("from horae.jobs.claims import claim\n")
    (tmp_path / "nodes" / "node.py").write_text(
        "from horae.jobs import claim\nfrom horae.jobs.claims import claim, count\n"
    )
    assert past_faces(tmp_path) == ["nodes/node.py:2 horae.jobs.claims.claim"]


DATABASES: Final = re.compile("postgres|sqlite|PerDialect", re.IGNORECASE)
MOST_OUTSIDE: Final = 31
"""Maximum number of files outside the engine that name a database: settings, messages, and true differences."""


def names_a_database(path: Path) -> bool:
    """Whether code or a string names one; comments and docstrings may."""
    if not DATABASES.search(path.read_text(encoding="utf-8")):
        return False
    tree = parse(path)
    docstrings = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    with path.open("rb") as file:
        return any(
            DATABASES.search(token.string)
            for token in tokenize.tokenize(file.readline)
            if token.type in {tokenize.NAME, tokenize.STRING} and token.start[0] not in docstrings
        )


def test_few_files_outside_the_engine_name_a_database() -> None:
    """A property of the database, or a construct of the engine, says better why the two differ."""
    engine = PACKAGE / "storage" / "engine"
    found = [
        str(path.relative_to(PACKAGE))
        for path in modules(PACKAGE)
        if not path.is_relative_to(engine) and names_a_database(path)
    ]
    assert len(found) <= MOST_OUTSIDE, found


def test_names_of_databases_are_found_in_code_and_strings(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    for text, expected in (
        ('"""On SQLite."""\n# As in PostgreSQL\n', False),
        ('URL = "sqlite://"\n', True),
        ("from sqlalchemy.dialects import postgresql\n", True),
        ("FIND = PerDialect(1, 2)\n", True),
    ):
        file.write_text(text)
        assert names_a_database(file) is expected
