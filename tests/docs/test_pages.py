"""The commands in the guides work as described."""

from pathlib import Path
from typing import Final

import pytest

from horae import Horae, JobState
from horae.storage.engine.database import Database
from tests.docs.transcripts import Command, commands_of, is_as_shown, run
from tests.harness.applications import application, url_of
from tests.harness.nodes import running_node, until

pytestmark = pytest.mark.one_database

APPLICATION: Final = """
from horae import Horae

horae = Horae()

@horae.job(max_count=None)
def import_csv(path: str) -> int:
    return len(open(path).readlines())
"""


def typed(page: str, part: str) -> Command:
    """Return the only command of a page that contains this text."""
    [command] = [command for command in commands_of(page) if part in command.typed]
    return command


@pytest.mark.slow
def test_migrations(database_url: str, tmp_path: Path) -> None:
    environment = {"HORAE_DATABASE": database_url}
    page = "docs/guides/migrations.md"
    for command in commands_of(page):
        if not command.typed.startswith("export"):
            printed = run(command, tmp_path, environment)
            assert is_as_shown(command, printed), printed
    assert "CREATE TABLE horae_jobs" in (tmp_path / "up.sql").read_text()
    assert "DROP TABLE horae_jobs" in (tmp_path / "down.sql").read_text()


async def test_many_failed_jobs_are_retried(database: Database, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    environment = {"HORAE_DATABASE": url_of(database), "HORAE_APP": "app:horae"}
    with application(database) as horae:
        await _retried(horae, tmp_path, environment)


async def _retried(horae: Horae, folder: Path, environment: dict[str, str]) -> None:
    @horae.job(name="import_csv", max_count=None)
    def import_csv(path: str) -> int:
        return len(Path(path).read_text().splitlines())

    failed = horae.jobs.start_many("import_csv", [{"path": str(folder / "people.csv")}] * 60)
    async with running_node(horae):
        await until(lambda: horae.jobs.count().get(JobState.FAILED) == len(failed))
    (folder / "people.csv").write_text("ada\nbob\n")
    retry = typed("docs/guides/operations.md", "xargs")
    assert len(run(retry, folder, environment).split()) == len(failed)
    assert horae.jobs.count()[JobState.PENDING] == len(failed)
