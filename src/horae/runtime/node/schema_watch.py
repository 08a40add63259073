"""Ends a node in an orderly way if its database is migrated to tables that it cannot use."""

import asyncio
from logging import DEBUG

from horae.domain.jobs import NodeId
from horae.errors import SchemaMismatch
from horae.guarded_log import guarded_log
from horae.storage.engine import Database
from horae.storage.migrations import runner

log = guarded_log("horae.runtime")


class SchemaWatch:
    """Checks from time to time whether one node can use the revision of the database.

    `horae migrate` refuses such a migration while nodes run. But scripts of its statements
    (`--sql`) cannot, and a backup of another version may be restored.
    """

    def __init__(self, database: Database, node: NodeId, every: float) -> None:
        self._database, self._node, self._every = database, node, every
        self.found = asyncio.Event()
        """Set once the tables no longer fit."""
        self.mismatch: SchemaMismatch | None = None

    async def run(self) -> None:
        """Check the revision until the tables no longer fit."""
        while self.mismatch is None:
            await asyncio.sleep(self._every)
            # Other services report that the database is away.
            with log.guard("the revision of the database could not be read: %s", level=DEBUG):
                try:
                    await self._database.autocommit_async(runner.check_open)
                except SchemaMismatch as error:
                    self.mismatch = error
                    log.error(
                        "node %s claims no more jobs and ends after its grace period: %s",
                        self._node,
                        error,
                    )
                    self.found.set()
