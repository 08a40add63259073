"""Refuse a migration under running nodes that could not use the new tables."""

from typing import Final

from sqlalchemy import Connection, select, text

from horae.domain.cluster import LivenessLimits
from horae.errors import SchemaMismatch
from horae.storage.engine import LOCK_SUFFIX, SQLITE, is_abandoned, seconds_since, side_car_path
from horae.storage.jobs import nodes

MOST_NAMED: Final = 5
"""Maximum number of nodes that the message names."""

_NO_NEW_NODES: Final = text(f"LOCK TABLE {nodes.name} IN SHARE MODE")
_NODES: Final = select(
    nodes.c.id, nodes.c.name, seconds_since(nodes.c.heartbeat_at).label("silence")
)


def refuse_beside_running_nodes(connection: Connection, revision: str) -> None:
    """Raise `SchemaMismatch` if a node lives; a node that was stopped has no row any more.

    A node that starts meanwhile waits with its registration until the migration ends, and then
    compares the revision. On SQLite the migration holds the write lock anyway.
    """
    if connection.dialect.name != SQLITE:
        connection.execute(_NO_NEW_NODES)
    found = connection.execute(_NODES).all()
    if connection.dialect.name == SQLITE:
        folder = side_car_path(connection.engine, "nodes")
        files = [(row.name, folder / f"{row.id}{LOCK_SUFFIX}") for row in found]
        names = sorted(name for name, file in files if file.exists() and not is_abandoned(file))
    else:
        names = sorted(row.name for row in found if row.silence < LivenessLimits().silence)
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        raise SchemaMismatch(
            f"nodes are running that cannot use the tables of revision {revision}"
            f" ({', '.join(names[:MOST_NAMED])}{more}): stop all nodes first, then run the command"
            " again"
        )
