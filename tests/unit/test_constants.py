"""No statement makes SQLite prepare it again for each execution because a parameter decides about a partial index."""

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
from horae.storage.jobs.claims import CLAIM, Part
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
    return statement.on(connection) if isinstance(statement, PerDialect) else statement


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


def test_a_state_is_a_literal_on_sqlite_and_a_parameter_on_postgresql() -> None:
    assert "horae_jobs.state = 'pending'" in text_of(form_of(CLAIM[Part.ALL], SQL))
    compiled = form_of(CLAIM[Part.ALL], PSYCOPG).compile(dialect=PSYCOPG)
    assert "'pending'" not in str(compiled)
    assert JobState.PENDING in compiled.params.values()


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (jobs.c.state == JobState.FAILED, "horae_jobs.state = 'failed'"),
        (
            jobs.c.state.in_([JobState.FAILED, JobState.CANCELLED]),
            "horae_jobs.state IN ('failed', 'cancelled')",
        ),
        (jobs.c.state == "failed", "horae_jobs.state = ?"),  # not a constant of the program
        (jobs.c.attempt > constant(0), "horae_jobs.attempt > 0"),
    ],
)
def test_members_and_numbers_are_constants_and_texts_are_parameters(
    condition: Any, text: str
) -> None:
    assert text_of(select(jobs.c.id).where(condition)).endswith(f"WHERE {text}")
    assert "%(" in text_of(condition, PSYCOPG)


def test_statements_with_different_constants_are_not_taken_for_one_another() -> None:
    pending, started = (
        select(jobs.c.id).where(jobs.c.state == s) for s in (JobState.PENDING, JobState.STARTED)
    )
    assert not pending.compare(started)
    assert pending.compare(select(jobs.c.id).where(jobs.c.state == JobState.PENDING))
