"""Run, print and draft migrations with Alembic, which is imported only when one is needed."""

from io import StringIO
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from horae.forking import ForkSafeLock
from horae.storage.migrations import version

HOME: Final = "horae.storage:migrations"
_ALEMBIC: Final = ForkSafeLock()
"""Alembic keeps its context in module globals, which all threads share."""


def run(connection: Connection, start: str, end: str) -> None:
    """Migrate within the transaction of `connection`, up or down."""
    move = command.upgrade if version.distance(start, end) > 0 else command.downgrade
    with _ALEMBIC:
        move(_config(connection=connection, end=end), end)


def render(dialect: str, start: str, end: str) -> str:
    """Return the statements that lead from `start` to `end`, as one transaction."""
    config = _config(dialect=dialect, end=end)
    config.output_buffer = text = StringIO()
    move = command.upgrade if version.distance(start, end) > 0 else command.downgrade
    with _ALEMBIC:
        move(config, f"{start}:{end}", sql=True)
    return text.getvalue()


def draft(title: str) -> None:
    """Write an empty script that follows the newest one."""
    config = _config()
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    command.revision(config, title, rev_id=f"{len(version.REVISIONS) + 1:04d}")


def _config(**attributes: object) -> Config:
    config = Config(attributes=attributes)
    config.set_main_option("script_location", HOME)
    return config
