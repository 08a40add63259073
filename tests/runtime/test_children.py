"""Child processes: their set-up, their replacement, those kept ready, and the number of them beside other jobs."""

import asyncio
import errno
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pytest

from horae import ConfigurationError, Horae, JobContext
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.components import NodeOptions
from horae.runtime.executors import process
from horae.runtime.executors.application import ChildSetup, setup_of
from horae.runtime.executors.child import Assigned, log_to_stderr
from horae.runtime.executors.child_pool import ProcessLimits
from horae.runtime.executors.child_process import ChildProcess, start_child
from horae.runtime.timing import ClaimerTiming, Pauses, ShutdownTiming, Timing
from horae.storage.engine.database import Database
from horae.storage.jobs import claims
from horae.types.application_hooks import ApplicationHooks
from horae.types.attempt import Attempt
from tests.harness.applications import attempts_of, url_of
from tests.harness.nodes import running_node, until, until_set, until_state
from tests.harness.waiting import PATIENCE
from tests.runtime import child_application
from tests.runtime.child_application import HOW, NOTE, grow, run_on, told, told_later, wait_for_file
from tests.runtime.executor_under_test import NODE, Declared, ExecutorUnderTest, is_gone

pytestmark = [pytest.mark.one_database, pytest.mark.slow]
SHORT: Final = Timing(shutdown=ShutdownTiming(last_words=0.3))
NO_SUCH_PROCESS: Final = 2**22 - 1
BEFORE_A_BODY: Final = ["set up", "set up later", "in"]


@asynccontextmanager
async def executor_with(
    hooks: ApplicationHooks = child_application.horae.hooks, **limits: Any
) -> AsyncGenerator[ExecutorUnderTest]:
    executor = ExecutorUnderTest(
        Database("sqlite:////nowhere/horae.db"), ProcessLimits(**limits), hooks
    )
    yield executor
    await executor.close()


def result_of(run: FinishedRun) -> Any:
    assert run.settlement is not None
    assert run.settlement.error is None
    return json.loads(run.settlement.result or "null")


def was_handed_back(run: FinishedRun) -> bool:
    return (run.settlement, run.unbegun) == (None, True)


def error_of(run: FinishedRun) -> str:
    assert run.settlement is not None
    return run.settlement.error or ""


async def pid_of(executor: ExecutorUnderTest, declared: Declared = told) -> int:
    answer = result_of(await executor.perform(declared))
    return int(answer[0] if isinstance(answer, list) else answer)


def test_handlers_of_the_application_get_what_the_level_of_the_node_lets_through(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)  # the level of the root before an application sets another
    handlers = [each.filters.copy() for each in logging.getLogger().handlers]
    assert handlers
    log_to_stderr(NODE, Assigned(mock.Mock(), mock.Mock(), logging.INFO, log_json=False))
    assert logging.getLogger().level == logging.INFO
    for each, filters in zip(logging.getLogger().handlers, handlers, strict=True):
        each.filters[:] = filters


class TestSetUp:
    async def test_the_application_is_set_up_once_in_each_child(self) -> None:
        async with executor_with() as executor:
            first, *calls = result_of(await executor.perform(told))
            assert calls == BEFORE_A_BODY
            again, *calls = result_of(await executor.perform(told_later))
            assert (again, calls) == (first, [*BEFORE_A_BODY, "out finished", "in"])

    @pytest.mark.parametrize(
        ("how", "text"),
        [
            ("raise", "calling tests.runtime.child_application.set_up: LookupError: no licence"),
            ("sys.exit", "calling tests.runtime.child_application.set_up: SystemExit: enough"),
        ],
    )
    async def test_a_hook_that_fails_costs_the_job_that_waits_for_it(
        self, monkeypatch: pytest.MonkeyPatch, how: str, text: str
    ) -> None:
        monkeypatch.setenv(HOW, how)
        async with executor_with() as executor:
            run = await executor.perform(told)
            assert text in error_of(run)
            monkeypatch.delenv(HOW)
            assert (await pid_of(executor)) > 0

    @pytest.mark.parametrize(
        ("how", "text"), [("kill", "SIGKILL"), ("lack", "too many open files")]
    )
    async def test_a_child_that_is_killed_or_lacks_something_while_it_starts_costs_no_attempt(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: str, text: str
    ) -> None:
        monkeypatch.setenv(HOW, how)
        async with executor_with() as executor:
            assert was_handed_back(await executor.perform(told))
            assert text in caplog.text
            monkeypatch.delenv(HOW)
            assert (await pid_of(executor)) > 0

    async def test_a_hook_that_hangs_is_given_up(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
    ) -> None:
        note = tmp_path / "pid"
        monkeypatch.setenv(HOW, "hang")
        monkeypatch.setenv(NOTE, str(note))
        async with executor_with(give_up_after=59.0) as executor:
            started = executor.start(told)
            pid = int(await until(lambda: note.exists() and note.read_text()))
            [child] = pool_of(executor)["_starting"]
            child.give_up("it was not ready within 59 s")  # as the timer does
            assert was_handed_back(await started.performed())
            await is_gone(pid)
        assert (
            "job 7 (told) cannot begin yet: the process of the job was ended: it was not ready within 59 s, while it "
            "was starting (calling tests.runtime.child_application.set_up)"
        ) in caplog.text

    async def test_a_child_that_starts_slowly_is_used_by_later_jobs(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
    ) -> None:
        note = tmp_path / "pid"
        monkeypatch.setenv(HOW, "wait")
        monkeypatch.setenv(NOTE, str(note))
        async with executor_with() as executor:
            started = executor.start(told)
            pid = int(await until(lambda: note.exists() and note.read_text()))
            [child] = pool_of(executor)["_starting"]
            vars(executor.executor)["_pool"]._note_late(child)  # noqa: SLF001 - as the timer does
            assert was_handed_back(await executor.perform(told))
            assert f"job 7 (told) cannot begin yet: child process {pid} (calling " in caplog.text
            note.with_name("pid.go").touch()
            assert result_of(await started.performed())[0] == pid
            assert await pid_of(executor) == pid

    async def test_a_job_does_not_wait_for_ever_for_a_child(self) -> None:
        async with executor_with(start_within=0.001) as executor:
            assert was_handed_back(await executor.perform(told))
            [pid] = await until(lambda: children_of(executor))
            assert await pid_of(executor) == pid

    async def test_the_failure_of_a_hook_has_its_traceback(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(HOW, "raise")
        async with executor_with() as executor:
            settlement = (await executor.perform(told)).settlement
        assert settlement is not None
        assert 'raise LookupError("no licence")' in (settlement.traceback or "")

    async def test_hooks_of_an_application_that_no_child_can_import_are_refused(self) -> None:
        local = Horae("sqlite:////nowhere/horae.db")
        assert setup_of(local.hooks) == ChildSetup()
        local.on_child_start(lambda: None)
        with pytest.raises(ConfigurationError, match="make it at the top level of a module"):
            setup_of(local.hooks)
        async with executor_with(local.hooks) as executor:
            assert (
                "ConfigurationError: the hooks of the application cannot run in a child process"
                in error_of(await executor.perform(told))
            )

    async def test_a_hook_that_its_module_does_not_declare_is_missed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hooks = child_application.horae.hooks
        monkeypatch.setattr(hooks, "around", list(hooks.around))
        child_application.horae.around(_late)
        async with executor_with() as executor:
            error = error_of(await executor.perform(told))
        assert "the hook tests.runtime.test_children._late is missing in a child process" in error

    async def test_a_child_in_its_hook_does_not_survive_its_node(self, tmp_path: Path) -> None:
        note = tmp_path / "pid"
        environment = {**os.environ, HOW: "hang", NOTE: str(note)}
        node = subprocess.Popen([sys.executable, "-m", "tests.runtime.child_node"], env=environment)  # noqa: ASYNC220
        try:
            pid = int(await until(lambda: note.exists() and note.read_text()))
        finally:
            node.kill()
            await asyncio.to_thread(node.wait)
        await is_gone(pid)


def _late(job: JobContext) -> Any: ...


class TestReplacement:
    async def test_a_child_is_replaced_after_so_many_jobs(self) -> None:
        async with executor_with(max_jobs=2) as executor:
            pids = [await pid_of(executor) for _ in range(4)]
            assert pids[0] == pids[1] != pids[2] == pids[3]
            await is_gone(pids[0])

    async def test_a_child_that_has_grown_is_replaced(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "horae.runtime")
        async with executor_with(max_memory=300_000_000) as executor:
            first = await pid_of(executor)
            assert result_of(await executor.perform(grow, megabytes=300)) == first
            await is_gone(first)
            assert await pid_of(executor) != first
        assert "more than 300 MB, and is replaced" in caplog.text


class TestStarts:
    @pytest.mark.parametrize("trouble", ["slow", "failed", "killed"])
    async def test_children_are_started_one_at_a_time_after_trouble(
        self, monkeypatch: pytest.MonkeyPatch, trouble: str
    ) -> None:
        beside = list[int]()

        def start_and_count(*arguments: Any) -> ChildProcess:
            beside.append(len(pool_of(executor)["_starting"]))
            return start_child(*arguments)

        monkeypatch.setattr(process, "start_child", start_and_count)
        async with executor_with() as executor:
            await {"slow": self.start_slowly, "failed": self.fail_to_start, "killed": self.kill}[
                trouble
            ](executor)
            beside.clear()
            jobs = [executor.start(told) for _ in range(3)]
            pids = [result_of(await job.performed())[0] for job in jobs]
            assert beside[:2] == [0] * len(beside[:2])
            assert len(set(pids)) == len(beside)

    async def start_slowly(self, executor: ExecutorUnderTest) -> None:
        pool = vars(executor.executor)["_pool"]
        pool._note_slow()  # noqa: SLF001 - as the timer does

    async def fail_to_start(self, executor: ExecutorUnderTest) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv(HOW, "kill")
            await executor.perform(told)

    async def kill(self, executor: ExecutorUnderTest) -> None:
        started = executor.start(wait_for_file, path="/nowhere/at/all")
        await until(lambda: not started.run.waiting)
        await until(
            lambda: all(each.began for each in vars(executor.executor)["_assignments"].values())
        )
        [assignment] = vars(executor.executor)["_assignments"].values()
        os.kill(assignment.child.pid, signal.SIGKILL)
        await started.performed()


class TestSpares:
    async def test_a_child_is_started_ahead_of_each_job(self) -> None:
        async with executor_with(spare=1, most=2) as executor:
            executor.executor.warm()
            [ahead] = await until(lambda: children_of(executor))
            busy = executor.start(wait_for_file, path="/nowhere/at/all")
            await until(
                lambda: len(children_of(executor)) == 1 and ahead not in children_of(executor)
            )
            assert await pid_of(executor) in children_of(executor)
            executor.executor.kill(busy.run)
            await busy.performed()

    async def test_an_idle_child_that_dies_loses_no_job(self) -> None:
        async with executor_with(spare=1) as executor:
            executor.executor.warm()
            [pid] = await until(lambda: children_of(executor))
            os.kill(pid, signal.SIGKILL)
            assert await pid_of(executor) != pid

    async def test_a_starting_child_that_is_stopped_has_not_failed(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        caplog.set_level(logging.INFO, "horae")
        async with executor_with(spare=1) as executor:
            executor.executor.warm()
            [child] = pool_of(executor)["_ahead"]
            os.kill(child.pid, signal.SIGTERM)
            await until(lambda: "has received SIGTERM before it was used" in caplog.text)
            assert "failed" not in caplog.text

    async def test_no_other_is_started_after_one_that_cannot_start(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        monkeypatch.setenv(HOW, "raise")
        async with executor_with(spare=1) as executor:
            executor.executor.warm()
            await until(
                lambda: (
                    "started ahead of the next job failed: a child process could not be"
                    in caplog.text
                )
            )
            executor.executor.warm()
            assert pool_of(executor)["_ahead"] == []
            monkeypatch.delenv(HOW)
            await pid_of(executor)
            await until(lambda: len(children_of(executor)) == 1)


def pool_of(executor: ExecutorUnderTest) -> dict[str, Any]:
    pool: dict[str, Any] = vars(vars(executor.executor)["_pool"])
    return pool


def children_of(executor: ExecutorUnderTest) -> set[int]:
    """The processes that are ready and run nothing."""
    return {child.pid for child in pool_of(executor)["_idle"]}


@pytest.fixture
async def horae(database: Database) -> AsyncIterator[Horae]:
    """The application of the module, on a database."""
    horae, before = child_application.horae, child_application.horae.settings
    horae.settings = before.model_copy(update={"database": url_of(database)})
    yield horae
    horae.close()
    horae.settings = before


class TestNodes:
    async def test_jobs_in_children_have_slots_of_their_own(
        self, horae: Horae, tmp_path: Path
    ) -> None:
        begun, release = threading.Event(), threading.Event()

        @horae.job(name="threaded")
        def threaded() -> None:
            begun.set()
            release.wait(30)

        go = tmp_path / "go"
        try:
            async with running_node(horae, concurrency=1, processes=1) as node:
                in_child = [
                    await horae.aio.jobs.start(wait_for_file, path=str(go)) for _ in range(3)
                ]
                on_threads = [await horae.aio.jobs.start(threaded) for _ in range(3)]
                await until_set(begun)
                await until_state(horae, in_child[0].id, "started")
                states = [horae.jobs.get(job.id).state for job in (*in_child[1:], *on_threads[1:])]
                assert states == ["pending"] * 4
                assert horae.jobs.get(in_child[0].id).node_id == node.id
                release.set()
                for job in on_threads:
                    await horae.aio.jobs.wait(job, timeout="30s")
                go.touch()
                for each in in_child:
                    await horae.aio.jobs.wait(each, timeout="30s")
        finally:
            horae.registry.remove("threaded")

    async def test_a_claim_under_way_is_not_orphaned_for_the_other_worker(
        self, horae: Horae
    ) -> None:
        job = horae.jobs.start(wait_for_file, path="/", queue="elsewhere")
        async with running_node(horae, processes=1, queues=("default",)) as node:
            threads, processes = vars(vars(vars(node)["_incarnation"])["_worker"])["_workers"]
            async with vars(processes)["_held"].claiming:
                claim = await horae.components.database.autocommit_async(
                    claims.claim_one, job.id, node.id or NODE
                )
                assert claim is not None
                search = asyncio.ensure_future(threads._hand_back_unknown())  # noqa: SLF001 - as it does now and then
                await asyncio.wait([search], timeout=0.3)
                assert not search.done()
                attempt = Attempt(claim, horae.registry.get(claim.type), lambda *_: None)
                vars(processes)["_prefetched"].append(attempt)
            await search
            processes.wake()
            await horae.aio.jobs.wait(job.id, timeout="60s")
        assert attempts_of(horae, job.id) == ["finished"]
        assert horae.jobs.get(job.id).lease == 1

    @pytest.mark.parametrize("grace", [timedelta(0), timedelta(hours=1)])
    async def test_a_job_whose_child_is_not_ready_when_the_node_stops_has_not_begun(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, grace: timedelta
    ) -> None:
        """It may be run once only, and was not run at all; no grace is spent on it."""
        monkeypatch.setenv(HOW, "hang")
        monkeypatch.setenv(NOTE, str(tmp_path / "in the hook"))
        async with (
            asyncio.timeout(PATIENCE),
            running_node(horae, spare_children=0, grace=grace, timing=SHORT),
        ):
            job = await horae.aio.jobs.start(told)
            await until((tmp_path / "in the hook").exists)
        left = horae.jobs.get(job.id)
        assert (left.state, left.attempt, left.node_id) == ("pending", 0, None)
        assert attempts_of(horae, job.id) == []

    async def test_no_child_is_started_ahead_by_a_node_that_stops(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        children = list[ChildProcess]()

        def start_and_keep(*arguments: Any) -> ChildProcess:
            children.append(start_child(*arguments))
            return children[-1]

        monkeypatch.setattr(process, "start_child", start_and_keep)
        async with running_node(horae, processes=1, grace=timedelta(0), timing=SHORT):
            await horae.aio.jobs.start(run_on, begun=str(tmp_path / "begun"))
            await until((tmp_path / "begun").exists)
        assert len(children) == 1

    async def test_jobs_wait_for_a_machine_that_can_start_processes_again(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        failing = iter(range(5))

        def start_or_refuse(*arguments: Any) -> ChildProcess:
            if next(failing, None) is not None:
                raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
            return start_child(*arguments)

        monkeypatch.setattr(process, "start_child", start_or_refuse)
        soon = Timing(claimer=ClaimerTiming(avoided_for=Pauses(0.02, 0.1)))
        async with running_node(horae, spare_children=0, concurrency=2, timing=soon):
            jobs = await horae.aio.jobs.start_many(told, [{}] * 4)
            for job_id in jobs:
                await horae.aio.jobs.wait(job_id, timeout="60s")
        assert [attempts_of(horae, job_id) for job_id in jobs] == [["finished"]] * 4
        assert {horae.jobs.get(job_id).attempt for job_id in jobs} == {1}

    async def test_a_hook_that_fails_fails_the_job_and_the_node_goes_on(
        self, horae: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv(HOW, "raise")
        async with running_node(
            horae, spare_children=0
        ):  # a child started ahead would fail as well
            failing = await horae.aio.jobs.start(told)
            await until_state(horae, failing.id, "failed")
            assert "LookupError: no licence" in (horae.jobs.get(failing.id).error or "")
            monkeypatch.delenv(HOW)
            job = await horae.aio.jobs.start(told)
            _, *calls = await horae.aio.jobs.wait(job.id, timeout="30s")
        assert calls == BEFORE_A_BODY


@pytest.mark.parametrize(
    "options",
    [
        {"processes": 0},
        {"spare_children": -1},
        {"max_jobs_per_child": 0},
        {"max_child_memory": "500 apples"},
        {"max_child_memory": 500},
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=next(iter(options))):
        NodeOptions(**options)


def test_sizes_are_read() -> None:
    assert NodeOptions(max_child_memory="500MB").child_memory == 500_000_000
    assert NodeOptions(max_child_memory="1.5 GiB").child_memory == 3 << 29
    assert (
        Horae("sqlite:////nowhere/horae.db", max_child_memory="2gb").settings.max_child_memory
        == 2_000_000_000
    )
    assert Horae("sqlite:////nowhere/horae.db", max_body="2MiB").settings.max_body == 2 << 20
    with pytest.raises(
        ConfigurationError, match="expected a number of bytes or a text such as 500MB"
    ):
        Horae("sqlite:////nowhere/horae.db", max_child_memory="many")


async def test_an_exit_code_that_is_known_only_later_is_told() -> None:
    """As when another thread has collected it and not stored it yet, or a fork server still has to send it."""
    codes = iter([None, None, None, -signal.SIGSEGV])
    late: Any = mock.Mock(pid=NO_SUCH_PROCESS)
    type(late).exitcode = mock.PropertyMock(side_effect=lambda: next(codes, -signal.SIGSEGV))
    ours, theirs = socket.socketpair()
    with theirs:
        child = ChildProcess(late, ours)
        child.ready = True
        assert "signal 11" in await child.wait(PATIENCE)
