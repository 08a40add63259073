"""Where nodes keep their journals, and what is said of those that other nodes do not see."""

import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from horae import Horae
from horae.cli.commands.doctor import examine
from horae.client.doctor.finding import Finding
from horae.runtime.journal.files import Journals
from horae.runtime.timing import JournalTiming
from horae.settings import settings
from horae.storage.engine.database import Database
from tests.harness.nodes import running_node, until_state


def journal_findings(horae: Horae, **changed: Any) -> list[Finding]:
    before = horae.settings
    horae.settings = before.model_copy(update=changed)
    try:
        return [finding for finding in examine(horae) if finding.check == "journals"]
    finally:
        horae.settings = before


async def test_the_setting_names_the_folder_and_doctor_finds_journals_elsewhere(
    horae: Horae, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HORAE_JOURNAL_DIR", str(tmp_path / "journals"))
    assert settings().journal_dir == tmp_path / "journals"
    async with running_node(horae, journal_dir=tmp_path / "journals") as node:
        [folder] = (tmp_path / "journals").iterdir()
        file = folder / f"{node.id}.begun"
        assert file.exists()
        assert journal_findings(horae, journal_dir=tmp_path / "journals") == []
        [finding] = journal_findings(horae, journal_dir=tmp_path / "elsewhere")
        assert f"node {node.id} (process " in finding.message
        assert (
            f"keeps its journal in {file}, and nodes with the settings of this command look in "
            in finding.message
        )
        assert "Set HORAE_JOURNAL_DIR to one folder" in (finding.advice or "")
    assert list((tmp_path / "journals").iterdir()) == []


async def test_a_node_without_a_place_for_its_journal_works(
    horae: Horae, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """As on a root file system that is read-only."""

    @horae.job
    def work() -> None: ...

    def no_place() -> str:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", no_place)
    (tmp_path / "file").touch()
    on_file = horae.components.database.dialect == "sqlite"
    async with running_node(horae, journal_dir=tmp_path / "file" if on_file else None) as node:
        job = await horae.aio.jobs.start(work)
        await until_state(horae, job.id, "finished")
        [finding] = journal_findings(horae, journal_dir=tmp_path / "elsewhere")
        assert f"node {node.id} (process " in finding.message
        assert "keeps no journal of what has begun" in finding.message
    [warned] = [
        record.message
        for record in caplog.records
        if record.levelname == "WARNING" and record.name == "horae.runtime"
    ]
    assert warned.startswith(
        f"node {node.id} keeps no journal of what has begun, so if it is killed, all of its jobs "
    )
    assert warned.endswith("; set HORAE_JOURNAL_DIR to a folder that this user may write to")


@pytest.mark.postgres
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_journals_of_a_server_are_in_a_folder_named_for_the_database(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = Journals(database, JournalTiming()).find_folder()
    assert folder.parent == tmp_path
    with closing(Database(database.url)) as again:
        assert Journals(again, JournalTiming()).find_folder() == folder
