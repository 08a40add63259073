"""What only the datagrams between local processes have to survive."""

import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from horae.wakeup.local import LocalChannel
from tests.storage.hint_recorder import HintRecorder, work

LISTENING_PROCESS = """
import pathlib, signal
from horae.wakeup.local import LocalChannel

channel = LocalChannel("shop", pathlib.Path({folder!r}))
channel.subscribe(print)
print("ready", flush=True)
signal.pause()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "hints"


@pytest.fixture
def listener(folder: Path) -> Iterator[LocalChannel]:
    with closing(LocalChannel("shop", folder)) as channel:
        yield channel


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def send(folder: Path, id_: int) -> None:
    """From a process that only sends, and has done so when this returns."""
    with closing(LocalChannel("shop", folder)) as sender:
        sender.send(work(id_))


def test_a_lone_sender_leaves_no_trace(folder: Path) -> None:
    send(folder, 1)
    assert not folder.exists()


def test_a_listener_has_a_socket_until_it_closes(folder: Path, listener: LocalChannel) -> None:
    HintRecorder.on(listener)
    (name,) = files(folder)
    assert name.startswith(f"shop-{os.getpid()}-")
    listener.close()
    assert files(folder) == set()


def test_garbage_is_ignored(folder: Path, listener: LocalChannel) -> None:
    recorder = HintRecorder.on(listener)
    (name,) = files(folder)
    garbage = [b"", b"\xff\x00", b"horae", b"horae 7", b"horae [", b"horae " + b"[" * 2000]
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
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as stranger:
        # A hint that finds the queue of the socket full is lost, so each datagram is read first.
        for datagram in [*garbage, *(b"horae " + body for body in bodies)]:
            stranger.sendto(datagram, str(folder / name))
            send(folder, 2)
            recorder.wait_for(work(2))
            assert recorder.received == [work(2)]
            recorder.received.clear()
    assert listener.connected


def test_a_killed_process_is_forgotten(folder: Path) -> None:
    script = LISTENING_PROCESS.format(folder=str(folder))
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert len(files(folder)) == 1
        process.send_signal(signal.SIGKILL)
    send(folder, 1)
    assert files(folder) == set()


def leave_behind(folder: Path, name: str) -> Path:
    """Leave the socket of a process that has ended."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as closed:
        closed.bind(str(folder / name))
    return folder / name


def test_a_dead_listener_does_not_block_the_others(folder: Path, listener: LocalChannel) -> None:
    recorder = HintRecorder.on(listener)
    dead = leave_behind(folder, "shop-1-a")
    send(folder, 1)
    recorder.wait_for(work(1))
    assert not dead.exists()


def test_a_listener_sweeps_the_sockets_of_other_databases(
    folder: Path, listener: LocalChannel
) -> None:
    dead = leave_behind(folder, "gone-1-a")
    with closing(LocalChannel("other", folder)) as other:
        HintRecorder.on(other)
        HintRecorder.on(listener)
        assert not dead.exists()
        assert len(files(folder)) == 2


def test_a_hint_reaches_no_other_database(folder: Path, listener: LocalChannel) -> None:
    recorder = HintRecorder.on(listener)
    with closing(LocalChannel("shop2", folder)) as other:
        other.send(work(1))
    send(folder, 2)
    recorder.wait_for(work(2))
    assert recorder.received == [work(2)]


def test_a_listener_that_does_not_read_holds_up_nobody(
    folder: Path, listener: LocalChannel
) -> None:
    recorder = HintRecorder.on(listener)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as deaf:
        deaf.bind(str(folder / "shop-1-deaf"))
        for id_ in range(1, 30):
            send(folder, id_)
            recorder.wait_for(work(id_))


def test_a_hint_that_needs_a_descriptor_too_many_is_lost(
    folder: Path, listener: LocalChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller has committed its job, and must not start it again because of an error."""
    HintRecorder.on(listener)

    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with closing(LocalChannel("shop", folder)) as sender, monkeypatch.context() as exhausted:
        exhausted.setattr(socket, "socket", refuse)
        sender.send(work(1))


def test_the_socket_of_a_dead_process_may_stay(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a file system that is read-only now."""
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as dead:
        dead.bind(str(folder / "shop-1-dead"))

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "unlink", refuse)
    send(folder, 1)
    assert files(folder) == {"shop-1-dead"}


def test_a_later_listener_is_found(folder: Path, listener: LocalChannel) -> None:
    with (
        closing(LocalChannel("shop", folder)) as sender,
        closing(LocalChannel("shop", folder)) as late,
    ):
        recorder = HintRecorder.on(listener)
        sender.send(work(1))
        recorder.wait_for(work(1))
        late_recorder = HintRecorder.on(late)
        sender.send(work(2))
        late_recorder.wait_for(work(2))
        recorder.wait_for(work(2))


def test_a_listener_whose_socket_was_removed_listens_again(
    folder: Path, listener: LocalChannel
) -> None:
    recorder = HintRecorder.on(listener)
    (name,) = files(folder)
    (folder / name).unlink()
    folder.rmdir()
    assert listener.connected
    send(folder, 1)
    recorder.wait_for(work(1))


def hints_stay_in_the_process(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with closing(LocalChannel("shop", folder)) as channel:
        recorder = HintRecorder.on(channel)
        assert not channel.connected
        channel.send(work(1))
        recorder.wait_for(work(1))
    assert caplog.text.count("cannot receive hints") == 1


def test_without_a_folder_hints_stay_in_the_process(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder.write_text("in the way")
    hints_stay_in_the_process(folder, caplog)


def test_a_folder_that_others_can_use_is_not_used(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    hints_stay_in_the_process(folder, caplog)
    assert files(folder) == set()


def test_a_path_that_is_too_long_is_not_used(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    long = folder / ("x" * 100)
    folder.mkdir()
    hints_stay_in_the_process(long, caplog)
