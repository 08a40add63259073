"""A database's schema as text that two databases share exactly if they hold the same tables."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, text

SQLITE_OBJECTS: Final = text(
    "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name"
)

POSTGRES_TABLES: Final = text("""
    SELECT oid, relname, relpersistence FROM pg_class
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace ORDER BY relname
""")
POSTGRES_COLUMNS: Final = text("""
    SELECT concat_ws(' ', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'NOT NULL' END,
                     'DEFAULT ' || pg_get_expr(adbin, adrelid))
    FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
    WHERE attrelid = :table AND attnum > 0 AND NOT attisdropped ORDER BY attnum
""")
POSTGRES_CONSTRAINTS: Final = text("""
    SELECT format('CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE conrelid = :table AND contype IN ('c', 'f', 'p', 'u', 'x') ORDER BY conname
""")
POSTGRES_INDEXES: Final = text("""
    SELECT replace(pg_get_indexdef(indexrelid), format(' ON %I.', current_schema()), ' ON ')
    FROM pg_index JOIN pg_class ON oid = indexrelid
    WHERE indrelid = :table AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid) ORDER BY relname
""")


def describe(connection: Connection) -> str:
    """All tables with their columns, constraints and indexes, in an order that does not depend on their history."""
    statements = (
        _of_sqlite(connection) if connection.dialect.name == "sqlite" else _of_postgres(connection)
    )
    return "".join(f"{statement};\n" for statement in statements)


def _of_sqlite(connection: Connection) -> list[str]:
    return [_in_order(sql) for sql in connection.scalars(SQLITE_OBJECTS)]


def _in_order(sql: str) -> str:
    """A table's columns, then its constraints: SQLite puts a column that was added later behind the constraints."""
    if not sql.startswith("CREATE TABLE"):
        return " ".join(sql.split())
    head, _, body = sql.partition("(")
    parts = [" ".join(part.split()) for part in _split(body.rpartition(")")[0])]
    parts.sort(key=lambda part: part if part.startswith(("CONSTRAINT", "PRIMARY KEY")) else "")
    return f"{head.strip()} (\n    " + ",\n    ".join(parts) + "\n)"


def _split(body: str) -> Iterator[str]:
    """The parts between commas that stand in no bracket and in no quotes."""
    depth, quoted, part = 0, False, ""
    for each in body:
        quoted ^= each == "'"
        depth += 0 if quoted else (each == "(") - (each == ")")
        if each == "," and not depth and not quoted:
            yield part
            part = ""
        else:
            part += each
    yield part


def _of_postgres(connection: Connection) -> list[str]:
    statements: list[str] = []
    for oid, name, persistence in connection.execute(POSTGRES_TABLES).all():
        table = {"table": oid}
        parts = [
            *connection.scalars(POSTGRES_COLUMNS, table),
            *connection.scalars(POSTGRES_CONSTRAINTS, table),
        ]
        kind = "UNLOGGED TABLE" if persistence == "u" else "TABLE"
        statements.append(f"CREATE {kind} {name} (\n    " + ",\n    ".join(parts) + "\n)")
        statements.extend(connection.scalars(POSTGRES_INDEXES, table))
    return statements
