"""Alembic's environment script, which runs migrations on the caller's connection or prints them."""

from alembic import context
from sqlalchemy import MetaData

from horae.storage.jobs import metadata
from horae.storage.migrations.version import BASE, OLDEST_COMPATIBLE, VERSION_TABLE, version_table

given = context.config.attributes
names = MetaData(naming_convention=metadata.naming_convention)
if context.is_offline_mode():
    context.configure(
        dialect_name=given["dialect"],
        version_table=VERSION_TABLE,
        target_metadata=names,
        literal_binds=True,
        transactional_ddl=True,
    )
else:
    context.configure(
        connection=given["connection"], version_table=VERSION_TABLE, target_metadata=names
    )

with context.begin_transaction():
    context.run_migrations()
    if (oldest := OLDEST_COMPATIBLE.get(given["end"])) is not None:
        context.execute(version_table.update().values(oldest_compatible=oldest))
    if given["end"] == BASE:  # leave nothing behind; the table is created again on the way up
        context.execute(f"DROP TABLE {VERSION_TABLE}")
