"""Pools that leave no connection to the garbage collector when they are closed.

SQLAlchemy's pools close their idle connections in `dispose`, and keep those that are given back
later: nobody closes them, and the collector warns of each.
"""

from sqlalchemy import AsyncAdaptedQueuePool, QueuePool
from sqlalchemy.pool import ConnectionPoolEntry
from typing_extensions import override


class ClosingPool(QueuePool):
    """Closes the connections that are in use at its disposal when they are given back."""

    # Otherwise the logger would be named after this module, and its messages be in Horae's log.
    _sqla_logger_namespace = "sqlalchemy.pool.impl.QueuePool"
    _is_disposed = False

    @override
    def dispose(self) -> None:
        self._is_disposed = True
        super().dispose()

    @override
    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        super()._do_return_conn(record)
        # Asked afterwards: `dispose` has found the connection, or has marked the pool before it.
        if self._is_disposed:
            super().dispose()


class AsyncClosingPool(ClosingPool, AsyncAdaptedQueuePool):
    """The same for the connections of an event loop."""
