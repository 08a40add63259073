"""Writes down the schema that the migrations lead to: `python -m tests.storage.golden`."""

import tempfile
from contextlib import closing
from pathlib import Path

from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.harness.postgres import THROW_AWAY, PostgresServer
from tests.storage.schema import describe


def rewrite(url: str) -> None:
    with closing(Database(url)) as database:
        upgrade(database)
        text = database.transact(describe)
        Path(__file__).with_name(f"{database.dialect}.sql").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        rewrite(f"sqlite:///{folder}/horae.db")
    with PostgresServer(THROW_AWAY) as server:
        rewrite(server.create_database())
