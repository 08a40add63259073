"""Names the privilege that a role lacks: PostgreSQL only names the table."""

import re
from contextlib import suppress
from typing import Any, Final, TypeGuard

from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from horae.errors import DatabaseAccessDenied, Unavailable
from horae.storage.engine.failures import NO_PRIVILEGE, first_line

_OURS: Final = re.compile(r"\bhorae_\w+")
_LACKING: Final = text("""
    SELECT current_user, CASE relkind WHEN 'S' THEN ARRAY['USAGE'] ELSE ARRAY(
        SELECT privilege FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE']) AS privilege
        WHERE NOT has_any_column_privilege(pg_class.oid, privilege)
        UNION ALL
        SELECT 'DELETE' WHERE NOT has_table_privilege(pg_class.oid, 'DELETE')
    ) END
    FROM pg_class WHERE oid = to_regclass(:name)
""")


def is_denied(error: BaseException) -> TypeGuard[DBAPIError]:
    """Return whether the role of the connection lacks a privilege."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) == NO_PRIVILEGE


def denied(engine: Engine, error: DBAPIError) -> DatabaseAccessDenied:
    """Return the error for callers and services; `engine` connects as the same role."""
    said = first_line(error.orig)
    relation = _OURS.search(said)  # the server may write in any language
    found: Any = None
    if relation is not None:
        with suppress(DBAPIError, PoolTimeout, Unavailable), engine.connect() as connection:
            found = connection.execute(_LACKING, {"name": relation[0]}).one_or_none()
    role, lacking = found or ("", ())
    needed = _needed(error.statement or "")
    missing = [privilege for privilege in lacking if privilege in needed]
    if relation is None or not missing:  # it is one on columns or schemas, or to change a table
        return DatabaseAccessDenied(f"the database refuses this: {said}")
    return DatabaseAccessDenied(
        f"role {role} lacks the privilege {' and '.join(missing)} on {relation[0]}"
    )


def _needed(statement: str) -> set[str]:
    """Return the privileges that a statement may need, as far as its words tell."""
    words = set(re.findall(r"[A-Z]+", statement))
    if words & {"ALTER", "CREATE", "DROP"}:  # these need the owner of the table
        return set()
    # To return a row takes the right to read it, and an INSERT the next number of a sequence.
    more = {"RETURNING": "SELECT", "INSERT": "USAGE"}
    return words | {more[word] for word in words & more.keys()}
