"""The harness that measures other job systems: its turns, its bounds, and what it reports."""

import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from benchmarks.peers import __main__ as command
from benchmarks.peers import conversation, environments
from benchmarks.peers.catalogue import NOT_COMPARED, PEERS, Durability, Peer
from benchmarks.peers.conversation import AdapterFailed, Conversation
from benchmarks.peers.environments import InstallationFailed, python_of
from benchmarks.peers.protocol import LEAD, Place
from benchmarks.peers.report import as_json, budgets, peer_table
from benchmarks.peers.rounds import Measured, Scale, measure

TINY = Scale(
    rounds=2, singles=5, bulk=20, jobs=20, samples=3, schedules=4, drain_seconds=0.1, trial=5
)
FAKE = "tests.benchmarks.fake_peer"


def peer(name: str, *requirements: str, durability: Durability = Durability.SQLITE) -> Peer:
    return Peer(name, "fake_peer", durability, "as it is", requirements, variant=name)


def talk_to(peer: Peer, folder: Path) -> Conversation:
    place = Place("", "", folder, peer.variant)
    command = [sys.executable, "-m", "benchmarks.peers.adapter", FAKE]
    return Conversation(peer.name, command, place.as_environment(), folder / "log")


def measured(name: str, drain: float, *requirements: str, enqueue: float = 10.0) -> Measured:
    return Measured(peer(name, *requirements), [enqueue], [5.0], [drain], [1.0, 2.0], drained=20)


def test_peers_take_turns_and_one_that_fails_is_left_out(tmp_path: Path) -> None:
    said: list[str] = []
    peers = [peer("works"), peer("no-bulk", "x"), peer("raises", "x"), peer("no-start", "x")]
    works, no_bulk, raises, no_start = measure(peers, talk_to, tmp_path, TINY, said.append)
    assert len(works.enqueue) == len(works.bulk) == len(works.drain) == 2
    assert len(works.latencies) == 6
    assert 0 < works.p50 <= works.p99
    assert len(works.fires) == 4
    assert all(-LEAD * 1000 - 60_000 <= late <= -LEAD * 1000 + 5_000 for late in works.fires)
    assert not works.failure
    assert not works.remarks
    assert no_bulk.bulk == []
    assert no_bulk.fires == []
    assert len(no_bulk.drain) == 2
    assert "raises, enqueue: ValueError: no such queue" in raises.failure
    assert raises.drain == []
    assert "RuntimeError: cannot connect" in no_start.failure
    turns = [text for text in said if "enqueue" in text]
    assert [text.split()[-1] for text in turns] == [
        "works",
        "no-bulk",
        "raises",
        "no-bulk",
        "works",
    ]


def test_an_adapter_that_hangs_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "GRACE", 0.2)
    with talk_to(peer("hangs"), tmp_path) as talk:
        began = time.monotonic()
        with pytest.raises(AdapterFailed, match="hangs: no answer in time"):
            talk.ask("enqueue", 1, 0.1)
        assert time.monotonic() - began < 10
        with pytest.raises(AdapterFailed, match="has ended before"):
            talk.ask("enqueue", 1, 0.1)


def test_an_adapter_that_crashes_is_reported(tmp_path: Path) -> None:
    with (
        talk_to(peer("crashes"), tmp_path) as talk,
        pytest.raises(AdapterFailed, match="crashes: the adapter has ended"),
    ):
        talk.ask("enqueue", 1, 5.0)


@pytest.mark.parametrize(
    ("variant", "says"),
    [
        ("worker-idles", "TimeoutError: not done in time; 0 of 3 jobs have begun"),
        ("worker-ends", "ChildProcessError: the worker ended with 4; 0 of 3 jobs have begun"),
    ],
)
def test_a_worker_that_fails_is_reported_and_gone(tmp_path: Path, variant: str, says: str) -> None:
    with talk_to(peer(variant), tmp_path) as talk, pytest.raises(AdapterFailed, match=says):
        talk.ask("drain", 3, 1.0)
    worker = (tmp_path / "worker").read_text()
    assert not Path(f"/proc/{worker}").exists()


@pytest.mark.parametrize("answer", ["print('no JSON')", "print('[1]')", "pass"])
def test_an_answer_that_is_none_is_reported(tmp_path: Path, answer: str) -> None:
    talk = Conversation("babbles", [sys.executable, "-c", answer], {}, tmp_path / "log")
    with pytest.raises(AdapterFailed, match=r"babbles: (answered|the adapter has ended)"), talk:
        pass


def test_horae_is_compared_with_the_fastest_of_the_same_durability() -> None:
    slow, fast = measured("slow", 50, "x", enqueue=11), measured("fast", 100, "x", enqueue=9)
    other = Measured(peer("other", "x", durability=Durability.MEMORY), [1e6], [], [1e6])
    horae = measured("horae", 250)
    drain, enqueue, bulk = budgets([horae, slow, other, fast])
    assert (drain.ratio, drain.kept, drain.note) == (2.5, False, "beside fast")
    assert (enqueue.kept, enqueue.note) == (False, "beside slow")
    assert bulk.kept is None
    assert drain.shortfall == "drain, a committed row in SQLite: 2.50x, not ≥ 3x"


def test_the_table_has_a_row_for_each_and_json_every_sample() -> None:
    failed = Measured(peer("failed", "x"), failure="pip failed")
    found = [measured("horae", 250), failed]
    assert peer_table(found).row_count == 2
    assert as_json(found[0])["drain"] == [250]
    assert as_json(failed)["failure"] == "pip failed"


@pytest.mark.parametrize(("drain", "status"), [(300, 0), (299, 1)])
def test_the_exit_status_says_whether_a_budget_is_kept(
    tmp_path: Path, drain: float, status: int
) -> None:
    found = [measured("horae", drain, enqueue=11), measured("fast", 100, "x")]
    with (tmp_path / "printed").open("w") as file:
        console = Console(file=file, width=150)
        assert command.report(console, found, {}, tmp_path / "figures.json") == status
    printed = (tmp_path / "printed").read_text()
    assert ("falls short: drain" in printed) == bool(status)
    assert "Oban for Python" in printed


def test_horae_is_measured_beside_whatever_is_chosen() -> None:
    assert [each.name for each in command.chosen_peers(["huey-sqlite"])] == [
        "horae-sqlite",
        "huey-sqlite",
    ]
    assert command.chosen_peers(None) == list(PEERS)


def test_peers_have_exact_versions_an_adapter_and_a_line_on_the_page() -> None:
    folder = Path(command.__file__).with_name("adapters")
    page = (environments.ROOT / "docs/reference/benchmarks.md").read_text()
    page = page.partition("## Beside other job systems")[2]
    for name, reason in NOT_COMPARED.items():
        assert f"- {name}: {reason}" in page
    for each in PEERS:
        versions = [requirement.split("==")[1] for requirement in each.requirements]
        (line,) = [line for line in page.splitlines() if line.startswith(f"| `{each.name}` |")]
        assert each.durability.value in line
        assert all(version in line for version in versions[:1])
        assert all("==" in requirement for requirement in each.requirements)
        assert (folder / f"{each.adapter}.py").exists()
    assert len({each.name for each in PEERS}) == len(PEERS)


@pytest.mark.parametrize(
    ("instead", "within", "says"),
    [
        ("import sys; sys.exit('no such package')", 30.0, "fake_peer: pip failed: no such package"),
        ("import time; time.sleep(60)", 0.2, "fake_peer: not installed within 0.2 s"),
    ],
)
def test_a_peer_that_cannot_be_installed_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instead: str, within: float, says: str
) -> None:
    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    monkeypatch.setattr(environments, "INSTALL_WITHIN", within)
    monkeypatch.setattr(environments, "commands_for", lambda *_: [[sys.executable, "-c", instead]])
    with pytest.raises(InstallationFailed, match=says):
        python_of(peer("fails", "nothing==0"))
    pythons, left_out = command.installed([peer("fails", "nothing==0")], lambda _: None)
    assert not pythons
    assert says in left_out[0].failure
