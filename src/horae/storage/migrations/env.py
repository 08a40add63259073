"""Alembic's environment script: runs migrations on the caller's connection, or writes them out as
text.
"""

from alembic import context

from horae.storage.migrations.version import BASE, OLDEST_COMPATIBLE, VERSION_TABLE, version

given = context.config.attributes
if context.is_offline_mode():
    context.configure(
        dialect_name=given["dialect"],
        version_table=VERSION_TABLE,
        literal_binds=True,
        transactional_ddl=True,
    )
else:
    context.configure(connection=given["connection"], version_table=VERSION_TABLE)

with context.begin_transaction():
    context.run_migrations()
    if (oldest := OLDEST_COMPATIBLE.get(given["end"])) is not None:
        context.execute(version.update().values(oldest_compatible=oldest))
    if given["end"] == BASE:  # leave nothing behind; the table is created again on the way up
        context.execute(f"DROP TABLE {VERSION_TABLE}")
