"""Engines share what they compile, and only with engines of the same kind."""

from typing import Any

import pytest
from sqlalchemy import Integer, NullPool, bindparam, create_engine, select
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

DOUBLED: Any = select(bindparam("number", type_=Integer) * 2)


def test_a_statement_is_compiled_once_for_all_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = list[object]()

    class Counting(SQLiteCompiler):
        def __init__(self, dialect: Any, statement: Any, *arguments: Any, **options: Any) -> None:
            compiled.append(statement)
            super().__init__(dialect, statement, *arguments, **options)

    monkeypatch.setattr(SQLiteDialect_pysqlite, "statement_compiler", Counting)
    answers = list[int]()
    for number in (1, 2):
        with create_engine("sqlite://", poolclass=NullPool).connect() as connection:
            answers.append(connection.execute(DOUBLED, {"number": number}).scalar_one())
    assert answers == [2, 4]
    assert sum(each is DOUBLED for each in compiled) <= 1
