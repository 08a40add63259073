"""A forked child starts jobs, whatever the threads of its parent were doing: they do not exist in the child."""

import ctypes
import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import Connection, NullPool, create_engine
from typing_extensions import override

from horae import Horae
from horae.domain.jobs.job import JobId
from horae.forking import BuiltAnewInChild, ForkSafeLock
from horae.storage.engine.after_commit import after_commit
from horae.storage.engine.database import Database
from horae.storage.migrations import runner
from horae.wakeup.channel import Hint, HintKind
from horae.wakeup.outbox import Outbox
from tests.harness.applications import rows

PATIENCE = 20


class Held:
    """Something that a thread waits in, with whatever locks it has taken on its way there."""

    def __init__(self) -> None:
        self.reached, self.release = threading.Event(), threading.Event()
        self.owner = os.getpid()

    def wait(self) -> None:
        if os.getpid() == self.owner:
            self.reached.set()
            self.release.wait(PATIENCE)


@pytest.fixture
def held() -> Iterator[Held]:
    held = Held()
    yield held
    held.release.set()


def child_does(work: Callable[[], object], fork: Callable[[], int] = os.fork) -> bool:
    """Whether `work` ends well in a child; one that hangs is ended by its alarm."""
    if (child := fork()) == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
        try:
            work()
        except BaseException:  # noqa: BLE001 - the child must not return into the test
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def in_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_a_hint_that_is_being_put_into_the_outbox(held: Held) -> None:
    class Slow(tuple[JobId, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[JobId]:
            held.wait()
            return super().__iter__()

    outbox = Outbox("test", lambda _hints: None)
    putting = in_thread(lambda: outbox.put(Hint(HintKind.WORK, Slow((JobId(1),)))))
    held.reached.wait(PATIENCE)
    assert child_does(lambda: outbox.put(Hint(HintKind.WORK, (JobId(2),))))
    held.release.set()
    putting.join(PATIENCE)
    assert outbox.close()


def test_a_transaction_that_is_being_followed(held: Held) -> None:
    engine = create_engine("sqlite://", poolclass=NullPool)  # closes what is dropped

    class Slow(Connection):
        def __hash__(self) -> int:
            held.wait()
            return super().__hash__()

    in_thread(lambda: after_commit(Slow(engine), lambda: None))
    held.reached.wait(PATIENCE)
    with engine.connect() as connection:
        assert child_does(lambda: after_commit(connection, lambda: None))


def test_an_application_that_is_being_opened(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    horae = Horae(f"sqlite:///{tmp_path}/new.db")
    ensure = runner.ensure

    def slow(database: Database) -> None:
        held.wait()
        ensure(database)

    monkeypatch.setattr(runner, "ensure", slow)

    @horae.job
    def nothing() -> None: ...

    opening = in_thread(horae.open)
    held.reached.wait(PATIENCE)
    assert child_does(lambda: horae.jobs.start(nothing))
    held.release.set()
    opening.join(PATIENCE)
    assert len(rows(horae, "SELECT id FROM horae_jobs")) == 1
    horae.close()


@pytest.mark.slow
def test_threads_that_start_jobs(horae: Horae) -> None:
    @horae.job(max_count=None)
    def nothing() -> None: ...

    over = threading.Event()

    def go_on() -> None:
        while not over.is_set():
            horae.jobs.start(nothing)

    horae.open()
    threads = [in_thread(go_on) for _ in range(3)]
    try:
        assert all(child_does(lambda: horae.jobs.start(nothing, owner="child")) for _ in range(10))
    finally:
        over.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert len(rows(horae, "SELECT id FROM horae_jobs WHERE owner = 'child'")) == 10


class Breaking(BuiltAnewInChild):
    def __hash__(self) -> int:
        return 0  # so it comes first

    @override
    def begin_in_child(self) -> None:
        raise RuntimeError


def test_garbage_of_the_parent_is_not_collected_in_the_child() -> None:
    """A connection in it would be closed, and SQLite may wait there for a lock that nobody holds any more."""

    class Garbage:
        itself: "Garbage"

        def __del__(self) -> None:
            freed.append(os.getpid())

    def collect() -> None:
        gc.collect()
        assert freed == []

    freed = list[int]()
    gc.disable()
    try:
        garbage = Garbage()
        garbage.itself = garbage
        del garbage
        assert child_does(collect)
    finally:
        gc.enable()
    gc.collect()
    assert freed == [os.getpid()]


def test_beside_something_that_cannot_begin_again(capfd: pytest.CaptureFixture[str]) -> None:
    parts = [Breaking(), *(ForkSafeLock() for _ in range(10))]
    locks = [part for part in parts if isinstance(part, ForkSafeLock)]

    def take_all() -> None:
        for lock in locks:
            with lock:
                pass

    with ExitStack() as held:
        for lock in locks:
            held.enter_context(lock)
        assert child_does(take_all)
    assert "in begin_in_child" in capfd.readouterr().err


def test_after_a_node_whose_loop_is_closed(horae: Horae, capfd: pytest.CaptureFixture[str]) -> None:
    @horae.job
    def nothing() -> None: ...

    gc.disable()  # what is left of the node stays until the garbage is collected
    try:
        with horae.node().running():
            horae.jobs.start(nothing)
        assert child_does(lambda: horae.jobs.start(nothing))
    finally:
        gc.enable()
    assert "begin_in_child" not in capfd.readouterr().err


def test_a_fork_that_runs_no_hooks(database: Database) -> None:
    """uWSGI forks so. Processes that share a connection read each other's answers."""
    horae = Horae(database.url.render_as_string(hide_password=False))

    @horae.job
    def nothing() -> None: ...

    def connection() -> object:
        return horae.components.database.autocommit(lambda used: used.connection.dbapi_connection)

    def start_on_own_connection() -> None:
        horae.jobs.start(nothing)
        assert connection() is not of_the_parent

    horae.jobs.start(nothing)
    of_the_parent = connection()
    assert child_does(start_on_own_connection, ctypes.PyDLL(None).fork)
    assert connection() is of_the_parent
    assert len(rows(horae, "SELECT id FROM horae_jobs")) == 2
    horae.close()
