"""How many modules are loaded before they are needed. Modules are counted and not seconds, which differ by machine."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

MOST_MODULES: Final = 470
"""With the interpreter's own. SQLAlchemy with its ORM and Pydantic alone are about 400."""

NOT_BEFORE_USE: Final = frozenset(
    {
        "alembic",
        "aiosqlite",
        "fastapi",
        "filelock",
        "multiprocessing",
        "prometheus_client",
        "psycopg",
    }
    | {"pythonjsonlogger", "sqlite3", "redis", "starlette", "uvicorn"}
)


def modules_after(program: str) -> set[str]:
    """All that is loaded after a program, in an interpreter of its own."""
    ending = "import sys; print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import atexit\natexit.register(lambda: exec({ending!r}))\n{program}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


def command(argument: str) -> str:
    return (
        f"import sys; sys.argv = ['horae', {argument!r}]; from horae.cli.main import main; main()"
    )


@pytest.mark.parametrize(
    "program",
    [
        pytest.param("import horae", id="import horae"),
        pytest.param(
            "from horae import Horae, JobContext, JobType, Secret", id="the names of every program"
        ),
        pytest.param(command("--version"), id="horae --version"),
        pytest.param(command("--help"), id="horae --help"),
    ],
)
def test_little_is_loaded_before_it_is_needed(program: str) -> None:
    loaded = modules_after(program)
    assert {name.partition(".")[0] for name in loaded} & NOT_BEFORE_USE == set()
    assert [
        name for name in loaded if name.startswith(("horae.runtime", "horae.cli.commands"))
    ] == []
    assert len(loaded) <= MOST_MODULES


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_a_program_that_only_describes_itself_loads_neither_database_nor_validation(
    argument: str,
) -> None:
    tops = {name.partition(".")[0] for name in modules_after(command(argument))}
    assert tops & {"pydantic", "sqlalchemy"} == set()


def test_neither_the_driver_of_postgresql_nor_the_web_server_is_needed_on_sqlite(
    tmp_path: Path,
) -> None:
    program = f"""
import sys
for name in ("psycopg", "fastapi", "redis", "celery"):
    sys.modules[name] = None  # as if it were not installed
from horae import Horae
horae = Horae("sqlite:///{tmp_path}/horae.db")
@horae.job
def double(number: int) -> int:
    return 2 * number
with horae.node().running():
    assert horae.jobs.wait(horae.jobs.start(double, number=2).id) == 4
"""
    assert "horae.storage.engine.database" in modules_after(program)


NODE = """
from horae import Horae
horae = Horae("sqlite:///{folder}/horae.db")

@horae.job
def work() -> None: ...

with horae.node().running():
    assert horae.jobs.wait(horae.jobs.start(work).id, timeout="20s") is None
"""


def test_a_node_loads_neither_the_orm_nor_what_prints_before_a_body_needs_it(
    tmp_path: Path,
) -> None:
    loaded = modules_after(NODE.format(folder=tmp_path))
    assert loaded & {"sqlalchemy.orm", "sqlalchemy.ext.asyncio", "rich", "fastapi"} == set()


def test_a_program_that_starts_jobs_does_not_load_what_runs_them(tmp_path: Path) -> None:
    loaded = modules_after(f"""
from horae import Horae
horae = Horae("sqlite:///{tmp_path}/horae.db")
@horae.job
def double(number: int) -> int:
    return 2 * number
horae.jobs.start(double, number=2)
horae.close()
""")
    parts = {name.split(".")[2] for name in loaded if name.startswith("horae.runtime.")}
    assert parts <= {"components", "timing"}
