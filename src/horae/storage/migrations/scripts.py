"""Runs, renders and drafts migration scripts by Alembic; imported only where one is needed (see `version`)."""

import threading
from io import StringIO
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from horae.storage.migrations.version import BASE, REVISIONS

_STEPS: Final[tuple[str, ...]] = (BASE, *REVISIONS)
_ALEMBIC: Final = threading.Lock()  # it keeps its context in module globals, one for all threads


def run(connection: Connection, start: str, end: str) -> None:
    """Migrate within the transaction of `connection`, up or down."""
    with _ALEMBIC:
        if _goes_up(start, end):
            command.upgrade(_config(connection=connection, end=end), end)
        else:
            command.downgrade(_config(connection=connection, end=end), end)


def render(dialect: str, start: str, end: str) -> str:
    """Write out the statements that lead from `start` to `end`, as one transaction; nothing when they are equal."""
    if start == end:
        return ""
    config = _config(dialect=dialect, end=end)
    config.output_buffer = text = StringIO()
    with _ALEMBIC:
        move = command.upgrade if _goes_up(start, end) else command.downgrade
        move(config, f"{start}:{end}", sql=True)
    return text.getvalue()


def draft(title: str) -> str:
    """Write an empty script that follows the newest, and return its path."""
    config = _config()
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    script = command.revision(config, title, rev_id=f"{len(REVISIONS) + 1:04d}")
    return getattr(script, "path", "")


def _config(**attributes: object) -> Config:
    config = Config(attributes=attributes)
    config.set_main_option("script_location", "horae.storage:migrations")
    return config


def _goes_up(start: str, end: str) -> bool:
    return _STEPS.index(start) < _STEPS.index(end)
