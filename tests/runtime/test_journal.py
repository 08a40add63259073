"""The journal of what a node has begun: what others read of it, and when they may believe it."""

import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from horae.domain.jobs.job import Claim, JobId, NodeId
from horae.errors import LeaseLost
from horae.runtime.journal import files as journals_module
from horae.runtime.journal.files import Journals
from horae.runtime.journal.journal import ChildJournal, Journal, entry_of
from horae.runtime.timing import JournalTiming
from horae.storage.engine.database import Database

NODE = NodeId("0123456789abcdef")


def claim_of(job_id: int, lease: int = 1) -> Claim:
    return Claim(JobId(job_id), "work", "default", 0, None, None, 1, 1, lease, None, "{}")


@pytest.fixture
def journals(database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journals:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return Journals(database, JournalTiming())


@pytest.fixture
def journal(journals: Journals) -> Iterator[Journal]:
    journal = Journal()
    journals.open(journal, NODE)
    yield journal
    journal.close(keep=False)


@pytest.fixture(params=["sqlite"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    del request
    database = Database(f"sqlite:///{tmp_path}/horae.db")
    yield database
    database.close()


def unbegun(journals: Journals, *claims: Claim, patience: float = 0.0) -> list[int]:
    begun = journals.begun_by(NODE, patience)
    return [claim.id for claim in claims if not begun.may_include(claim)]


def test_others_read_what_had_begun_and_not_ended(journals: Journals, journal: Journal) -> None:
    for number in (1, 2, 3):
        journal.begin(claim_of(number))
    journal.end([claim_of(2)])
    journal.close(keep=True)
    assert unbegun(journals, *(claim_of(number) for number in (1, 2, 3, 4))) == [2, 4]
    assert unbegun(journals, claim_of(1, lease=2)) == [1]


def test_the_journal_of_a_dead_node_keeps_all_that_had_begun(
    journals: Journals, journal: Journal
) -> None:
    journal.begin(claim_of(1))
    journal.keep_all()
    journal.end([claim_of(1)])
    assert journal.listed == [1]
    journal.close(keep=True)
    assert unbegun(journals, claim_of(1), claim_of(2)) == [2]


def test_others_read_which_bodies_have_returned(journals: Journals, journal: Journal) -> None:
    for number in (1, 2, 3):
        journal.begin(claim_of(number))
    journal.succeed(claim_of(2))
    journal.succeed(claim_of(3))
    journal.end([claim_of(3)])
    journal.succeed(claim_of(4))
    journal.close(keep=True)
    begun = journals.begun_by(NODE)
    assert [begun.may_include(claim_of(number)) for number in (1, 2, 3, 4)] == [
        True,
        True,
        False,
        False,
    ]
    assert [begun.has_succeeded(claim_of(number)) for number in (1, 2, 3, 4)] == [
        False,
        True,
        False,
        False,
    ]


def test_a_journal_is_not_read_while_its_writer_lives(journals: Journals, journal: Journal) -> None:
    assert unbegun(journals, claim_of(1)) == []
    journal.close(keep=True)
    assert unbegun(journals, claim_of(1)) == [1]


def test_after_the_end_of_a_node_nothing_begins(journals: Journals, journal: Journal) -> None:
    journal.close(keep=True)
    with pytest.raises(LeaseLost):
        journal.begin(claim_of(1))
    assert unbegun(journals, claim_of(1)) == [1]


def test_a_process_that_a_body_forked_keeps_no_lock(journals: Journals, journal: Journal) -> None:
    """The copy lives on after the node, with everything that it has inherited."""
    ours, theirs = os.pipe()
    if (child := os.fork()) == 0:  # pragma: no cover - another process
        os.close(theirs)
        os.read(ours, 1)
        os._exit(0)
    journal.begin(claim_of(1))
    journal.close(keep=True)
    try:
        assert unbegun(journals, claim_of(1), claim_of(2), patience=20.0) == [
            2
        ]  # once the copy has let go of it
    finally:
        os.close(theirs)
        os.close(ours)
        os.waitpid(child, 0)


def test_a_file_of_an_earlier_boot_proves_nothing(
    journals: Journals, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal.close(keep=True)
    monkeypatch.setattr(journals_module, "header", lambda: b"horae begun 1 another-boot\n")
    assert unbegun(journals, claim_of(1)) == []


@pytest.mark.parametrize("content", [b"", b"something else", b"\x00" * 5000])
def test_a_file_that_cannot_be_read_proves_nothing(
    journals: Journals, journal: Journal, content: bytes
) -> None:
    journal.close(keep=True)
    assert journal.file is not None
    journal.file.write_bytes(content)
    assert unbegun(journals, claim_of(1)) == []
    journals.remove(NODE)
    assert unbegun(journals, claim_of(1)) == []


def test_more_entries_than_a_new_file_has_room_for(journals: Journals) -> None:
    journal, started = Journal(slots=16), threading.Barrier(4)
    journals.open(journal, NODE)

    def begin(first: int) -> None:
        started.wait(10)
        for number in range(first, 400, 4):
            journal.begin(claim_of(number + 1))

    threads = [threading.Thread(target=begin, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.end(claim_of(number + 1) for number in range(0, 400, 2))
    journal.close(keep=True)
    assert unbegun(journals, *(claim_of(number + 1) for number in range(401))) == [
        *range(1, 401, 2),
        401,
    ]
    journals.remove(NODE)


def test_a_child_process_enters_its_own_beginning(journals: Journals, journal: Journal) -> None:
    kept, other = claim_of(7), claim_of(8)
    child = ChildJournal()
    child.expect(str(journal.file), journal.reserve(kept))
    assert kept not in child
    child.begin(kept)
    assert (kept in child, other in child) == (True, False)
    journal.reserve(other)
    journal.close(keep=True)
    assert unbegun(journals, kept, other) == [8]


def test_a_child_continues_if_its_file_is_removed(journal: Journal) -> None:
    child = ChildJournal()
    child.expect(f"{journal.file}.gone", 0)
    child.begin(claim_of(1))
    assert claim_of(1) not in child  # another claim than the one that it was given


def test_unused_files_are_removed_after_a_day(
    database: Database, journals: Journals, journal: Journal
) -> None:
    assert journal.file is not None
    impatient = Journals(database, JournalTiming(stale=-1.0))
    impatient.sweep()
    assert journal.file.exists()
    journal.close(keep=True)
    journals.sweep()
    assert journal.file.exists()
    impatient.sweep()
    assert not journal.file.exists()


def test_a_file_is_its_owners_alone(journal: Journal) -> None:
    assert journal.file is not None
    assert journal.file.stat().st_mode & 0o777 == 0o600


class TestOnPostgres:
    @pytest.fixture
    def journals(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Journals:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        monkeypatch.setattr(journals_module, "local_name_of", lambda _: "shop")
        return Journals(Database("postgresql://nobody@127.0.0.1:1/nothing"), JournalTiming())

    def test_they_are_in_a_private_folder_of_this_user(
        self, journals: Journals, tmp_path: Path
    ) -> None:
        journal = Journal()
        journals.open(journal, NODE)
        folder = tmp_path / f"horae-{os.getuid()}-shop"
        assert [file.name for file in folder.iterdir()] == [f"{NODE}.begun"]
        assert folder.stat().st_mode & 0o777 == 0o700
        other = Journal()
        journals.open(other, NodeId("another"))
        journals.close(journal, keep=False)
        assert [file.name for file in folder.iterdir()] == ["another.begun"]
        journals.close(other, keep=False)
        assert not folder.exists()

    def test_a_folder_that_the_last_one_removes_meanwhile_is_made_again(
        self, journals: Journals, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real, leaving = Journal.open, iter([True, True])

        def open_late(journal: Journal, file: Path) -> None:
            if next(leaving, False):
                journals.find_folder().rmdir()
            real(journal, file)

        monkeypatch.setattr(Journal, "open", open_late)
        journal = Journal()
        journals.open(journal, NODE)
        assert journal.file is not None
        journals.close(journal, keep=False)

    @pytest.mark.parametrize("how", ["link", "writable", "foreign"])
    def test_files_that_other_users_could_have_written_are_not_opened(
        self, journals: Journals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
    ) -> None:
        impatient = Journals(
            Database("postgresql://nobody@127.0.0.1:1/nothing"), JournalTiming(stale=-1.0)
        )
        folder = impatient.find_folder()
        journal = Journal()
        journals.open(journal, NODE)
        journal.close(keep=True)
        assert unbegun(journals, claim_of(1)) == [1]
        if how == "link":
            folder.rename(tmp_path / "elsewhere")
            folder.symlink_to(tmp_path / "elsewhere")
        elif how == "writable":
            folder.chmod(0o770)
        else:
            monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
        os.mkfifo(folder / "trap.begun")  # a process that opened it would wait for ever
        impatient.sweep()
        journals.remove(NODE)
        assert unbegun(journals, claim_of(1)) == []
        assert journals.begun_by(NodeId("trap")).may_include(claim_of(1))
        assert (folder / f"{NODE}.begun").exists()
        journals.open(Journal(), NodeId("next"))
        assert not (folder / "next.begun").exists()

    def test_of_another_user_or_machine_everything_counts_as_begun(
        self, journals: Journals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each looks in a folder of its own."""
        journal = Journal()
        journals.open(journal, NODE)
        journal.close(keep=True)
        monkeypatch.setattr(os, "getuid", lambda: 4711)
        elsewhere = Journals(Database("postgresql://nobody@127.0.0.1:1/nothing"), JournalTiming())
        assert elsewhere.find_folder() == tmp_path / "horae-4711-shop"
        assert elsewhere.begun_by(NODE).may_include(claim_of(1))
        assert not elsewhere.begun_by(NODE).has_succeeded(claim_of(1))

    def test_a_folder_that_others_can_write_to_is_not_used(
        self, journals: Journals, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        folder = tmp_path / f"horae-{os.getuid()}-shop"
        folder.mkdir()
        folder.chmod(0o777)
        journal = Journal()
        journals.open(journal, NODE)
        assert (journal.file, list(folder.iterdir())) == (None, [])
        assert "not a folder of this user alone" in caplog.text
        journal.begin(claim_of(1))  # in memory, for this node's own use
        assert journal.listed == [1]


class TestOfTwoDatabases:
    def test_a_copy_of_a_file_has_a_folder_of_its_own(self, tmp_path: Path) -> None:
        file, folders = tmp_path / "horae.db", list[Path]()
        file.touch()
        (tmp_path / "copy.db").write_bytes(b"")
        (tmp_path / "linked.db").hardlink_to(file)
        for name in ("horae.db", "copy.db", "linked.db"):
            database = Database(f"sqlite:///{tmp_path}/{name}")
            folders.append(Journals(database, JournalTiming(), tmp_path / "journals").find_folder())
            database.close()
        original, copy, linked = folders
        assert {folder.parent for folder in folders} == {tmp_path / "journals"}
        assert original == linked != copy

    def test_the_journal_of_a_node_that_lives_is_not_removed(
        self, journals: Journals, journal: Journal
    ) -> None:
        """As by a node on a copy of the database, which finds the nodes of the original in its table, and no heartbeat."""
        journals.remove(NODE)
        assert journal.file is not None
        assert journal.file.exists()
        journal.close(keep=True)
        journals.remove(NODE)
        assert not journal.file.exists()


def test_entries_tell_claims_apart() -> None:
    assert (
        len(
            {
                entry_of(claim_of(job_id, lease))
                for job_id in (1, 2, 2**47)
                for lease in (0, 1, 2, 0x7FFF)
            }
        )
        == 12
    )
    assert all(
        0 < entry_of(claim_of(job_id, lease)) < 2**63
        for job_id in (1, 2**48 - 1)
        for lease in (0, 2**40)
    )
