"""Deployments: the versions of a module's declared schedules, of which at most one is current."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, insert, select, update

from horae.domain.storable import is_storable
from horae.storage.engine import database_now, lock, read, readable, row_reader
from horae.storage.schedules.tables import deployments, schedules


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A version of a module's schedules. `ended_at`: when it was replaced, or ended by hand."""

    id: int
    key: str
    module: str
    schema: str
    schema_hash: str
    min_replicas: int
    created_at: datetime
    ended_at: datetime | None
    replaced_by: int | None


_of_module = select(deployments).where(deployments.c.module == bindparam("module"))
CURRENT: Final = _of_module.where(deployments.c.ended_at.is_(None))
_same_schema = _of_module.where(deployments.c.schema_hash == bindparam("schema_hash"))
WITH_SCHEMA: Final = _same_schema.order_by(deployments.c.id.desc()).limit(1)
BY_KEY: Final = select(deployments).where(deployments.c.key == bindparam("key"))
_read: Final = row_reader(Deployment, deployments.c)
LIST: Final = select(deployments).order_by(deployments.c.id.desc())
TYPES: Final = (
    select(schedules.c.deployment_id, schedules.c.job_type)
    .where(schedules.c.deployment_id.is_not(None))
    .distinct()
    .order_by(schedules.c.deployment_id, schedules.c.job_type)
)
ADD: Final = insert(deployments).values(created_at=database_now()).returning(*deployments.c)
_change = update(deployments).where(deployments.c.id == bindparam("deployment_id"))
END: Final = _change.where(deployments.c.ended_at.is_(None)).values(ended_at=database_now())
REPLACED: Final = _change.values(replaced_by=bindparam("by"))
SCALE: Final = _change.values(min_replicas=bindparam("replicas")).returning(*deployments.c)


def lock_module(connection: Connection, module: str) -> None:
    """Let only one transaction at a time deploy this module."""
    lock(connection, f"horae:{module}")


def current(connection: Connection, module: str) -> Deployment | None:
    """Return the current version of the module, whose schedules fire."""
    return _one(connection, CURRENT, module=module) if is_storable(module) else None


def with_schema(connection: Connection, module: str, schema_hash: str) -> Deployment | None:
    """Return the newest deployment of the module with this schema."""
    return _one(connection, WITH_SCHEMA, module=module, schema_hash=schema_hash)


def by_key(connection: Connection, key: str) -> Deployment | None:
    """Return the deployment with this key. Raises `UnreadableRow`."""
    if not is_storable(key):
        return None
    row = connection.execute(BY_KEY, {"key": key}).mappings().one_or_none()
    return None if row is None else read(deployments.name, row, _read)


def page(connection: Connection) -> list[Deployment]:
    """Return all deployments, the newest first."""
    return readable(deployments.name, connection.execute(LIST).mappings(), _read)


def types(connection: Connection) -> dict[int, list[str]]:
    """Return the job types of the schedules of each deployment that has schedules now."""
    found: dict[int, list[str]] = {}
    for deployment_id, job_type in connection.execute(TYPES):
        found.setdefault(deployment_id, []).append(job_type)
    return found


def add(
    connection: Connection, key: str, module: str, schema: str, schema_hash: str, min_replicas: int
) -> Deployment:
    """Insert the current version of a module; all others must have ended."""
    values = {
        "key": key,
        "module": module,
        "schema": schema,
        "schema_hash": schema_hash,
        "min_replicas": min_replicas,
    }
    return Deployment(**connection.execute(ADD, values).mappings().one())


def end(connection: Connection, deployment_id: int) -> None:
    """End a deployment."""
    connection.execute(END, {"deployment_id": deployment_id})


def set_replaced_by(connection: Connection, deployment_id: int, by: int) -> None:
    """Store which deployment replaced an ended one."""
    connection.execute(REPLACED, {"deployment_id": deployment_id, "by": by})


def scale(connection: Connection, deployment_id: int, replicas: int) -> Deployment:
    """Set how many nodes the deployment should have; its schedules fire whatever the number is."""
    values = {"deployment_id": deployment_id, "replicas": replicas}
    return Deployment(**connection.execute(SCALE, values).mappings().one())


def _one(connection: Connection, statement: Select[Any], **values: str) -> Deployment | None:
    row = connection.execute(statement, values).mappings().one_or_none()
    return None if row is None else Deployment(**row)
