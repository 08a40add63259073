"""A second revision, as if this program were a later version than it is."""

import shutil
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

import horae.storage.migrations
from horae.storage.migrations import scripts, version

SCRIPTS: Final = Path(horae.storage.migrations.__file__).parent
FIRST: Final = version.HEAD
SECOND: Final = f"{len(version.REVISIONS) + 1:04d}"
SCRIPT: Final = f"""
import sqlalchemy as sa
from alembic import op

revision = "{SECOND}"
down_revision = "{FIRST}"

def upgrade():
    op.add_column("horae_queues", sa.Column("planted", sa.Text))

def downgrade():
    op.drop_column("horae_queues", "planted")
"""


def copy_scripts(folder: Path) -> Path:
    return shutil.copytree(
        SCRIPTS, folder / "migrations", ignore=shutil.ignore_patterns("__pycache__")
    )


def plant(folder: Path, monkeypatch: pytest.MonkeyPatch, *, oldest_compatible: str) -> None:
    """Let the program know a second revision, whose tables that program and all later ones can use."""
    home = copy_scripts(folder)
    (home / "versions" / f"{SECOND}_planted.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.setattr(scripts, "HOME", str(home))
    monkeypatch.setattr(version, "REVISIONS", (*version.REVISIONS, SECOND))
    monkeypatch.setattr(version, "HEAD", SECOND)
    oldest = {**version.OLDEST_COMPATIBLE, SECOND: oldest_compatible}
    monkeypatch.setattr(version, "OLDEST_COMPATIBLE", MappingProxyType(oldest))
