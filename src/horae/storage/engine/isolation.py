"""Isolation levels of transactions, as PostgreSQL names them."""

from typing import Final

SEES_COMMITTED: Final = ("read committed", "read uncommitted")
"""Levels in which each statement sees what others have committed since the transaction began."""
