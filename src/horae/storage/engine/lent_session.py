"""A second psycopg connection object on a PostgreSQL session that belongs to another library."""

from typing import Any

import psycopg
from typing_extensions import override

from horae.storage.engine import unreadable_rows


class LentSession(psycopg.Connection[Any]):
    """The session of `owner`, without the power to end its transaction.

    The owner may have registered converters that Horae's statements do not expect, such as Django's
    for JSON and moments; this object has its own.
    """

    def __init__(self, owner: psycopg.Connection[Any]) -> None:
        handlers = owner.pgconn.notice_handler, owner.pgconn.notify_handler
        super().__init__(owner.pgconn)
        self.owner = owner
        # The constructor has taken notices and notifications away from the owner.
        owner.pgconn.notice_handler, owner.pgconn.notify_handler = handlers
        # Each object counts the names of its prepared statements, so those of two would collide.
        self.prepare_threshold = None
        self.lock = owner.lock
        unreadable_rows.load_tolerantly(self)

    @override
    def __del__(self, _warn: object = None, /) -> None:
        """Leave the session open, without psycopg's warning: it is the owner's."""

    @override
    def commit(self) -> None:
        """Do nothing: the owner commits."""

    @override
    def rollback(self) -> None:
        """Do nothing: the owner rolls back."""

    @override
    def close(self) -> None:
        """Do nothing: the owner closes."""
