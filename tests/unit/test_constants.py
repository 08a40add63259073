"""No statement is prepared again for each execution because a parameter decides about a partial index."""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

import pytest
from sqlalchemy import Delete, Select, Update, create_engine, select

import horae.storage
from horae.domain.jobs.job import JobState
from horae.storage.engine.constants import constant
from horae.storage.engine.dialect import PerDialect
from horae.storage.engine.direct import Direct
from horae.storage.jobs.tables import jobs

SQL: Final[Any] = create_engine("sqlite://").dialect
PSYCOPG: Final[Any] = create_engine("postgresql+psycopg://").dialect
BOUND: Final = re.compile(
    r"horae_jobs\.(state (=|!=) \?|(state (NOT )?IN \(\?)|awaited > \? AND horae_jobs\.finished_at)"
)


def text_of(statement: Any, dialect: Any = SQL) -> str:
    return re.sub(r"\s+", " ", str(statement.compile(dialect=dialect)))


def form_of(statement: Any, dialect: Any) -> Any:
    connection: Any = SimpleNamespace(dialect=dialect)
    return statement.on(connection) if isinstance(statement, PerDialect | Direct) else statement


def statements() -> Iterator[tuple[str, Any]]:
    """Yield all statements of the storage that are built at import, in their form for SQLite."""
    for info in pkgutil.walk_packages(horae.storage.__path__, "horae.storage."):
        if ".migrations." in info.name:
            continue
        for name, value in vars(importlib.import_module(info.name)).items():
            values = value.values() if isinstance(value, dict) else [value]
            for number, each in enumerate(values):
                statement = form_of(each, SQL)
                if isinstance(statement, Select | Update | Delete):
                    yield f"{info.name}.{name} {number}", statement


def test_no_parameter_of_a_statement_decides_whether_a_partial_index_applies() -> None:
    found = dict(statements())
    assert len(found) > 100
    assert [name for name, statement in found.items() if BOUND.search(text_of(statement))] == []


@pytest.mark.parametrize("dialect", [SQL, PSYCOPG])
@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (jobs.c.state == JobState.FAILED, "horae_jobs.state = 'failed'"),
        (
            jobs.c.state.in_([JobState.FAILED, JobState.CANCELLED]),
            "horae_jobs.state IN ('failed', 'cancelled')",
        ),
        (jobs.c.attempt > constant(0), "horae_jobs.attempt > 0"),
    ],
)
def test_members_and_numbers_are_literals(condition: Any, text: str, dialect: Any) -> None:
    assert text_of(select(jobs.c.id).where(condition), dialect).endswith(f"WHERE {text}")


def test_a_text_is_a_parameter_because_it_is_no_constant_of_the_program() -> None:
    assert text_of(jobs.c.state == "failed") == "horae_jobs.state = ?"


def test_statements_with_different_constants_are_not_taken_for_one_another() -> None:
    pending, started = (
        select(jobs.c.id).where(jobs.c.state == s) for s in (JobState.PENDING, JobState.STARTED)
    )
    assert not pending.compare(started)
    assert pending.compare(select(jobs.c.id).where(jobs.c.state == JobState.PENDING))
