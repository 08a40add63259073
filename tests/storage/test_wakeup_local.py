"""What only the datagrams between local processes have to survive."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from horae.wakeup.announcements import FOREIGN_LIFE, Announcement, Announcements, this_place
from horae.wakeup.local import LOOPBACK, LocalChannel
from tests.storage.hint_recorder import HintRecorder, work

LISTENING_PROCESS = """
import pathlib, signal
from horae.wakeup.local import LocalChannel

channel = LocalChannel(pathlib.Path({directory!r}))
channel.subscribe(print)
print("ready", flush=True)
signal.pause()
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "horae.db-hints"


@pytest.fixture
def listener(directory: Path) -> Iterator[LocalChannel]:
    with closing(LocalChannel(directory)) as channel:
        yield channel


def files(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def announced(directory: Path) -> Announcement:
    (name,) = files(directory)
    found = Announcement.parse(name)
    assert found is not None
    return found


def dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


def send(directory: Path, id_: int) -> None:
    """From a process that only sends, and has done so when this returns."""
    with closing(LocalChannel(directory)) as sender:
        sender.send(work(id_))


def test_a_lone_sender_leaves_no_trace(directory: Path) -> None:
    send(directory, 1)
    assert not directory.exists()


def test_a_listener_is_announced_until_it_closes(directory: Path, listener: LocalChannel) -> None:
    HintRecorder.on(listener)
    assert announced(directory).pid == os.getpid()
    listener.close()
    assert files(directory) == set()


def test_garbage_is_ignored(directory: Path, listener: LocalChannel) -> None:
    recorder = HintRecorder.on(listener)
    found = announced(directory)
    secret = found.secret.encode()
    good = b' {"kind":"work","ids":[1]}'
    garbage = [
        b"",
        b"\xff\x00",
        good,
        b"wrong" + good,
        secret,
        secret + b" 7",
        secret + b" [",
        secret + b" " + b"[" * 2000,
    ]
    bodies = [
        b'{"kind":"party"}',
        b'{"kind":[]}',
        b'{"kind":"work","ids":7}',
        b'{"kind":"work","ids":"12"}',
    ]
    bodies += [
        b'{"kind":"work","ids":[%s]}' % id_
        for id_ in (b"0", b"-1", b"true", b"1.5", b'"1"', b"9223372036854775808")
    ]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for datagram in [*garbage, *(secret + b" " + body for body in bodies)]:
            stranger.sendto(datagram, (LOOPBACK, found.port))
    send(directory, 2)
    recorder.wait_for(work(2))
    assert recorder.received == [work(2)]
    assert listener.connected


def test_foreign_files_beside_the_announcements_keep_no_hint_back(
    directory: Path, listener: LocalChannel
) -> None:
    recorder = HintRecorder.on(listener)
    own = announced(directory)
    for number, port, secret in (
        (1, 99_999, "a"),
        (0, own.port, "b"),
        (os.getpid(), 0, "c"),
        (os.getpid(), own.port, "ü"),
    ):
        (directory / f"{own.place}-{number}-{port}-{secret}").touch()
    (directory / f"{own.place}-{os.getpid()}-{'9' * 100}-d").touch()
    (directory / os.fsdecode(f"{own.place}-{os.getpid()}-{own.port}-".encode() + b"\xff")).touch()
    send(directory, 1)
    recorder.wait_for(work(1))


def test_a_killed_process_is_forgotten(directory: Path) -> None:
    script = LISTENING_PROCESS.format(directory=str(directory))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert announced(directory).pid == process.pid
        process.send_signal(signal.SIGKILL)
    send(directory, 1)
    assert files(directory) == set()


def test_a_closed_port_is_forgotten_though_its_process_lives(directory: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind((LOOPBACK, 0))
        stale = Announcement.of_this_process(closed.getsockname()[1])
    Announcements(directory).add(stale)
    send(directory, 1)
    assert files(directory) == set()


def test_a_port_that_has_another_owner_now_is_spared(directory: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind((LOOPBACK, 0))
        other.settimeout(0)
        Announcements(directory).add(
            Announcement(this_place(), dead_pid(), other.getsockname()[1], "secret")
        )
        send(directory, 1)
        assert files(directory) == set()
        with pytest.raises(BlockingIOError):
            other.recv(1)


def test_a_dead_listener_does_not_block_the_others(directory: Path, listener: LocalChannel) -> None:
    recorder = HintRecorder.on(listener)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as closed:
        closed.bind((LOOPBACK, 0))
        Announcements(directory).add(Announcement.of_this_process(closed.getsockname()[1]))
    with closing(LocalChannel(directory)) as sender:
        for id_ in (1, 2, 3):
            sender.send(work(id_))
            recorder.wait_for(work(id_))


def test_a_later_listener_is_found(directory: Path, listener: LocalChannel) -> None:
    with closing(LocalChannel(directory)) as sender, closing(LocalChannel(directory)) as late:
        recorder = HintRecorder.on(listener)
        sender.send(work(1))
        recorder.wait_for(work(1))
        late_recorder = HintRecorder.on(late)
        sender.send(work(2))
        late_recorder.wait_for(work(2))
        recorder.wait_for(work(2))


def test_a_listener_announces_itself_again(directory: Path, listener: LocalChannel) -> None:
    recorder = HintRecorder.on(listener)
    (directory / announced(directory).name).unlink()
    directory.rmdir()
    assert listener.connected
    send(directory, 1)
    recorder.wait_for(work(1))


def test_other_files_and_other_places_are_left_alone(
    directory: Path, listener: LocalChannel
) -> None:
    recorder = HintRecorder.on(listener)
    here = announced(directory)
    foreign = Announcement(
        "another", dead_pid(), here.port, here.secret
    )  # which says nothing there
    Announcements(directory).add(foreign)
    strangers = {"notes.txt", "a-b-c-d", "a-1-2"}
    for name in strangers:
        (directory / name).touch()
    send(directory, 1)
    recorder.wait_for(work(1))
    assert recorder.received == [work(1)]
    assert files(directory) == {here.name, foreign.name} | strangers


def test_an_old_announcement_of_another_place_goes(directory: Path) -> None:
    foreign = Announcement("another", 1, 1, "secret")
    Announcements(directory).add(foreign)
    long_ago = time.time() - FOREIGN_LIFE - 60
    os.utime(directory / foreign.name, (long_ago, long_ago))
    send(directory, 1)
    assert files(directory) == set()


def test_without_a_directory_hints_stay_in_the_process(
    directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    directory.write_text("in the way")
    with closing(LocalChannel(directory)) as channel:
        recorder = HintRecorder.on(channel)
        assert not channel.connected
        channel.send(work(1))
        recorder.wait_for(work(1))
    assert caplog.text.count("cannot receive hints") == 1


def test_the_directory_is_read_only_when_it_has_changed(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = Announcement.of_this_process(1)
    announcements = Announcements(directory)
    announcements.add(mine)
    long_ago = time.time() - 60
    os.utime(directory, (long_ago, long_ago))
    assert announcements.alive() == [mine]

    def refuse(_path: Path) -> None:
        raise AssertionError("read again without need")

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        assert announcements.alive() == [mine]
    other = Announcement.of_this_process(2)
    announcements.add(other)
    assert set(announcements.alive()) == {mine, other}


def test_a_change_within_one_tick_of_the_clock_is_seen(directory: Path) -> None:
    first, second = Announcement.of_this_process(1), Announcement.of_this_process(2)
    announcements = Announcements(directory)
    announcements.add(first)
    now = time.time()
    os.utime(directory, (now, now))
    assert announcements.alive() == [first]
    announcements.add(second)
    os.utime(directory, (now, now))
    assert set(announcements.alive()) == {first, second}
