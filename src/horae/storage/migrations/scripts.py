"""Run, render and draft migration scripts with Alembic; imported only when one is needed (see
`version`).
"""

from io import StringIO
from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from horae.forking import ForkSafeLock
from horae.storage.migrations.version import BASE, REVISIONS

HOME: Final = "horae.storage:migrations"
_STEPS: Final[tuple[str, ...]] = (BASE, *REVISIONS)
_ALEMBIC: Final = (
    ForkSafeLock()
)  # Alembic keeps its context in module globals, shared by all threads


def run(connection: Connection, start: str, end: str) -> None:
    """Migrate within the transaction of `connection`, up or down."""
    with _ALEMBIC:
        if _goes_up(start, end):
            command.upgrade(_config(connection=connection, end=end), end)
        else:
            command.downgrade(_config(connection=connection, end=end), end)


def render(dialect: str, start: str, end: str) -> str:
    """Write out the statements that lead from `start` to `end`, as one transaction."""
    config = _config(dialect=dialect, end=end)
    config.output_buffer = text = StringIO()
    with _ALEMBIC:
        move = command.upgrade if _goes_up(start, end) else command.downgrade
        move(config, f"{start}:{end}", sql=True)
    return text.getvalue()


def draft(title: str, home: str = HOME) -> None:
    """Write an empty script that follows the newest one."""
    config = _config(home)
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    command.revision(config, title, rev_id=f"{len(REVISIONS) + 1:04d}")


def _config(home: str = HOME, **attributes: object) -> Config:
    config = Config(attributes=attributes)
    config.set_main_option("script_location", home)
    return config


def _goes_up(start: str, end: str) -> bool:
    return _STEPS.index(start) < _STEPS.index(end)
