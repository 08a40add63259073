"""Bodies in child processes: what comes back, how they are stopped, and that whatever they do harms no one else."""

import asyncio
import errno
import importlib
import json
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import pytest_asyncio
from sqlalchemy import Connection, text

from horae.domain.jobs import TimeLimit
from horae.domain.jobs.job import AttemptOutcome, Claim, Failed, JobState, Settlement
from horae.domain.jobs.time_limit import code_of
from horae.errors import InvalidJobType, JobCancelled, LeaseLost, SoftTimeLimitExceeded
from horae.runtime.bodies.executor import START_UP
from horae.runtime.bodies.finished_run import FinishedRun
from horae.runtime.bodies.orders import Interrupted
from horae.runtime.executors import messages, process
from horae.runtime.executors.address import address_of
from horae.runtime.executors.child_pool import ProcessLimits
from horae.runtime.executors.child_signals import BodyInterrupt
from horae.runtime.journal.journal import entry_of
from horae.storage.engine.database import Database
from horae.storage.jobs import claims, creation, reading
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.creation import JobRow
from horae.types.application_hooks import Address
from horae.types.attempt import Attempt
from horae.types.function import JobFunction
from tests.runtime import process_bodies, process_main
from tests.runtime.executor_under_test import NODE, Declared, ExecutorUnderTest, claim_of, is_gone

ROOT = Path(__file__).parents[2]
# One loop for all, so that tests hand their children on; those that need an executor of their own make one.
pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def executor() -> AsyncIterator[ExecutorUnderTest]:
    # A database that cannot be opened: only a body that needs it may try.
    executor = ExecutorUnderTest(Database("sqlite:////nowhere/horae.db"))
    yield executor
    await executor.close()


@pytest_asyncio.fixture(loop_scope="module")
async def own_executor() -> AsyncIterator[ExecutorUnderTest]:
    executor = ExecutorUnderTest(Database("sqlite:////nowhere/horae.db"))
    yield executor
    await executor.close()


@asynccontextmanager
async def executor_with(**limits: Any) -> AsyncGenerator[ExecutorUnderTest]:
    """An executor of its own, with other limits."""
    executor = ExecutorUnderTest(Database("sqlite:////nowhere/horae.db"), ProcessLimits(**limits))
    yield executor
    await executor.close()


def settlement_of(run: FinishedRun) -> Settlement:
    assert run.settlement is not None
    return run.settlement


def failure(run: FinishedRun) -> Failed:
    ended = settlement_of(run)
    assert ended.state is JobState.FAILED
    timed_out = ended.outcome is AttemptOutcome.TIMED_OUT
    return Failed(
        ended.error or "", ended.human_readable_error or "", ended.traceback, timed_out=timed_out
    )


def is_cancelled_by_bob(run: FinishedRun) -> bool:
    return (settlement_of(run).state, settlement_of(run).cancelled_by) == (
        JobState.CANCELLED,
        "bob",
    )


def result(run: FinishedRun) -> Any:
    assert settlement_of(run).state is JobState.FINISHED
    return json.loads(settlement_of(run).result or "null")


async def pid_of(executor: ExecutorUnderTest) -> int:
    return int(result(await executor.perform(process_bodies.add, left=1, right=2))["pid"])


class TestResults:
    async def test_a_result_comes_back_from_another_process(
        self, executor: ExecutorUnderTest
    ) -> None:
        answer = result(await executor.perform(process_bodies.add, left=40, right=2))
        assert answer.pop("pid") != os.getpid()
        assert answer == {"sum": 42, "attempt": 1, "owner": "alice"}

    async def test_a_coroutine_function_runs(self, executor: ExecutorUnderTest) -> None:
        assert result(await executor.perform(process_bodies.add_later, left=40, right=2)) == 42

    async def test_a_class_runs(self, executor: ExecutorUnderTest) -> None:
        assert result(await executor.perform(process_bodies.Multiply())) == 42

    @pytest.mark.parametrize("bound", [process_bodies.bound, process_bodies.bound_later])
    async def test_a_body_whose_transaction_cannot_be_opened_has_not_begun(
        self, executor: ExecutorUnderTest, bound: Declared
    ) -> None:
        performed = await executor.perform(bound)
        assert (performed.settlement, performed.unbegun) == (None, True)

    async def test_started_bodies_are_in_the_journal_of_the_node(
        self, executor: ExecutorUnderTest, tmp_path: Path
    ) -> None:
        executor.environment.journal.open(tmp_path / "node.begun")
        started = executor.start(process_bodies.count)
        await started.first_label()
        entry = entry_of(started.run.claim).to_bytes(8, sys.byteorder)
        assert entry in (tmp_path / "node.begun").read_bytes()
        assert started.run.claim in executor.environment.journal
        executor.environment.journal.end([started.run.claim])
        assert entry not in (tmp_path / "node.begun").read_bytes()
        executor.environment.journal.close(keep=False)

    async def test_progress_is_reported_and_the_last_report_always_lands(
        self, executor: ExecutorUnderTest
    ) -> None:
        started = executor.start(process_bodies.count)
        await started.performed()
        assert started.reports[-1] == (100, "number 999")
        percentages = [percentage for percentage, _ in started.reports]
        assert percentages == sorted(percentages)
        assert len(started.reports) < 1000

    @pytest.mark.parametrize(
        ("kind", "error", "human"),
        [
            ("key", "KeyError: 'gap'", "there is no 'gap'"),
            ("value", "ValueError: gap", "mind the gap"),
            ("other", "OSError: gap", "Something went wrong while this job (fail) was running."),
        ],
    )
    async def test_a_failure_comes_back_as_texts(
        self, executor: ExecutorUnderTest, kind: str, error: str, human: str
    ) -> None:
        failed = failure(await executor.perform(process_bodies.fail, kind=kind))
        assert (failed.error, failed.human_readable_error, failed.timed_out) == (
            error,
            human,
            False,
        )
        assert "process_bodies.py" in (failed.traceback or "")

    async def test_megabytes_of_output_and_of_result_arrive(
        self, executor: ExecutorUnderTest
    ) -> None:
        assert (
            len(result(await executor.perform(process_bodies.print_megabytes)))
            == 2 * process_bodies.MEGABYTE
        )

    @pytest.mark.spawned
    async def test_log_records_go_to_stderr_with_the_fields_of_the_job(
        self,
        own_executor: ExecutorUnderTest,
        caplog: pytest.LogCaptureFixture,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        with caplog.at_level(logging.INFO):
            await own_executor.perform(process_bodies.write_log)
        assert (
            f"something happened [job=7 type=write_log lease=3 node={NODE}]"
            in capfd.readouterr().err
        )


class TestOrders:
    @pytest.mark.parametrize(
        "body", [process_bodies.go_on_with_progress, process_bodies.wait_for_ever]
    )
    async def test_a_cancel_reaches_the_body(
        self, executor: ExecutorUnderTest, body: Declared
    ) -> None:
        started = executor.start(body)
        await started.first_label()
        started.stop(JobCancelled("bob"))
        assert is_cancelled_by_bob(await started.performed())

    async def test_a_cancel_before_the_child_has_started_lets_no_body_begin(
        self, own_executor: ExecutorUnderTest
    ) -> None:
        started = own_executor.start(process_bodies.sleep)
        started.stop(JobCancelled("bob"))
        assert is_cancelled_by_bob(await started.performed())
        assert started.reports == []

    async def test_a_lost_lease_leaves_no_outcome(self, executor: ExecutorUnderTest) -> None:
        started = executor.start(process_bodies.wait_for_ever)
        await started.first_label()
        started.stop(LeaseLost())
        assert (await started.performed()).settlement is None

    async def test_an_interrupted_job_fails(self, executor: ExecutorUnderTest) -> None:
        started = executor.start(process_bodies.go_on_with_progress)
        await started.first_label()
        started.stop(Interrupted())
        assert failure(await started.performed()).error.startswith(
            "the node stopped before the job ended; "
        )

    async def test_a_body_that_ignores_a_cancel_is_killed(self) -> None:
        async with executor_with(stop_within=0.05, kill_after=0.05) as executor:
            started = executor.start(process_bodies.spin_unstoppably)
            pid = int(await started.first_label())
            started.stop(JobCancelled("bob"))
            assert is_cancelled_by_bob(await started.performed())
            await is_gone(pid)

    @pytest.mark.parametrize(
        "body",
        [process_bodies.spin, process_bodies.sleep, process_bodies.wait_for_ever],
        ids=lambda body: body.__name__,
    )
    async def test_the_soft_time_limit_is_raised_wherever_the_body_is(
        self, executor: ExecutorUnderTest, body: Declared
    ) -> None:
        started = executor.start(body)
        await started.first_label()
        started.stop(SoftTimeLimitExceeded("time is over"))
        failed = failure(await started.performed())
        assert failed.error == "SoftTimeLimitExceeded: time is over"
        assert (failed.human_readable_error, failed.timed_out) == (
            TimeLimit.HARD.human_readable_error,
            True,
        )

    async def test_a_body_can_tidy_up_at_its_soft_time_limit(
        self, executor: ExecutorUnderTest, tmp_path: Path
    ) -> None:
        note = tmp_path / "note"
        started = executor.start(process_bodies.tidy_up, path=str(note))
        await started.first_label()
        started.stop(SoftTimeLimitExceeded())
        assert failure(await started.performed()).timed_out
        assert note.read_text() == "tidy"

    async def test_a_child_that_was_interrupted_anywhere_is_not_used_again(
        self, own_executor: ExecutorUnderTest
    ) -> None:
        started = own_executor.start(process_bodies.tell_pid_and_sleep)
        pid = int(await started.first_label())
        started.stop(SoftTimeLimitExceeded())
        await started.performed()
        assert await pid_of(own_executor) != pid
        await is_gone(pid)

    async def test_the_hard_time_limit_kills(self) -> None:
        async with executor_with(kill_after=0.05) as executor:
            started = executor.start(process_bodies.spin_unstoppably)
            pid = int(await started.first_label())
            assert started.run.kill()
            failed = failure(await started.performed())
            assert code_of(failed.error) == "hard_time_limit"
            assert (failed.human_readable_error, failed.timed_out) == (
                TimeLimit.HARD.human_readable_error,
                True,
            )
            await is_gone(pid)

    async def test_the_start_of_the_child_and_its_imports_do_not_count_against_the_limits(
        self, own_executor: ExecutorUnderTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gate = tmp_path / "gate"
        (tmp_path / "slow_to_import.py").write_text(
            f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\n"
            "from tests.runtime.process_bodies import sleep\n"
        )
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        monkeypatch.setattr(process, "address_of", lambda _: Address("slow_to_import", "sleep"))
        limit = process_bodies.sleep.job_type.time_limits.soft
        assert limit is not None
        started = own_executor.start(process_bodies.sleep)
        began = started.run.began
        assert began > time.monotonic() + START_UP.total_seconds() / 2
        gate.touch()
        await started.first_label()
        assert began - START_UP.total_seconds() < started.run.began <= time.monotonic()
        assert started.run.soft_at == started.run.began + limit.total_seconds()
        started.stop(JobCancelled("bob"))
        await started.performed()

    async def test_a_kill_while_the_child_starts_is_not_lost(self) -> None:
        async with executor_with(kill_after=1000) as executor:
            started = executor.start(process_bodies.sleep)
            started.run.kill()
            performed = await started.performed()
            assert (performed.settlement, performed.unbegun) == (None, True)

    async def test_orders_after_the_end_change_nothing(
        self, own_executor: ExecutorUnderTest
    ) -> None:
        started = own_executor.start(process_bodies.add, left=1, right=2)
        pid = result(await started.performed())["pid"]
        started.stop(JobCancelled("bob"))
        started.run.kill()
        assert await pid_of(own_executor) == pid


class TestDeaths:
    @pytest.mark.parametrize(
        ("how", "error"),
        [
            (
                "SIGKILL",
                "the process of the job was killed by signal 9 (SIGKILL), as the system does when memory runs out",
            ),
            ("segfault", "the process of the job was killed by signal 11 (Segmentation fault)"),
            ("os._exit", "the process of the job ended with exit code 3 before the job did"),
            ("sys.exit", "SystemExit: enough"),
        ],
    )
    async def test_a_body_that_ends_its_process_fails(
        self, executor: ExecutorUnderTest, how: str, error: str
    ) -> None:
        other = executor.start(process_bodies.wait_for_ever)
        await other.first_label()
        failed = failure(await executor.perform(process_bodies.end_by_itself, how=how))
        assert (failed.error, failed.timed_out) == (error, False)
        assert failed.human_readable_error
        assert not other.ended.done()
        other.stop(JobCancelled("bob"))
        assert is_cancelled_by_bob(await other.performed())

    async def test_a_death_after_a_cancel_is_a_cancel(self, executor: ExecutorUnderTest) -> None:
        started = executor.start(process_bodies.tell_pid_and_sleep)
        pid = int(await started.first_label())
        started.stop(JobCancelled("bob"))
        os.kill(pid, signal.SIGKILL)
        assert is_cancelled_by_bob(await started.performed())

    async def test_a_child_that_dies_while_idle_loses_no_job(
        self, own_executor: ExecutorUnderTest
    ) -> None:
        pid = await pid_of(own_executor)
        os.kill(pid, signal.SIGKILL)
        assert await pid_of(own_executor) != pid

    async def test_a_body_that_closes_the_pipe_fails(self, executor: ExecutorUnderTest) -> None:
        failed = failure(await executor.perform(process_bodies.close_everything))
        assert failed.error == "the process of the job lost its connection to the node"

    @pytest.mark.parametrize("how", ["seen", "unseen"])
    async def test_a_death_is_noticed_though_a_fork_survives(
        self, executor: ExecutorUnderTest, tmp_path: Path, how: str
    ) -> None:
        note = tmp_path / "pid"
        failed = failure(
            await executor.perform(process_bodies.fork_and_die, path=str(note), how=how)
        )
        os.kill(int(note.read_text()), signal.SIGKILL)
        assert failed.error == "the process of the job ended with exit code 4 before the job did"

    async def test_a_fork_that_returns_from_the_body_sends_nothing(
        self, executor: ExecutorUnderTest
    ) -> None:
        started = executor.start(process_bodies.fork_and_come_back)
        assert result(await started.performed()) == "body"
        assert started.reports == [(10, "from the body")]

    async def test_a_body_may_start_processes_of_its_own(self, executor: ExecutorUnderTest) -> None:
        assert result(await executor.perform(process_bodies.use_a_process_pool)) == 55

    async def test_reports_of_a_thread_of_an_earlier_body_are_ignored(
        self, own_executor: ExecutorUnderTest
    ) -> None:
        await own_executor.perform(process_bodies.leave_a_thread)
        later = own_executor.start(process_bodies.outlast_left_behind_thread)
        await later.performed()
        assert later.reports == [(1, "own")]

    async def test_a_task_that_a_coroutine_left_behind_ends_with_it(
        self, executor: ExecutorUnderTest, tmp_path: Path
    ) -> None:
        note = tmp_path / "note"
        await executor.perform(process_bodies.leave_a_task, path=str(note))
        assert note.read_text() == "ended"


class TestChildren:
    async def test_a_child_is_used_again_and_only_by_one_body_at_a_time(
        self, own_executor: ExecutorUnderTest
    ) -> None:
        first = await pid_of(own_executor)
        busy = own_executor.start(process_bodies.tell_pid_and_sleep)
        assert int(await busy.first_label()) == first
        assert await pid_of(own_executor) != first

    @pytest.mark.parametrize("limit", [resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE])
    async def test_a_child_in_which_no_body_can_begin_any_more_is_replaced(
        self, own_executor: ExecutorUnderTest, tmp_path: Path, limit: int
    ) -> None:
        own_executor.environment.journal.open(tmp_path / "node.begun")
        spoilt = result(await own_executor.perform(process_bodies.give_up_resource, limit=limit))
        unlucky = await own_executor.perform(process_bodies.add, left=1, right=2)
        assert (unlucky.settlement, unlucky.unbegun) == (None, True)
        assert await pid_of(own_executor) != spoilt
        own_executor.environment.journal.close(keep=False)

    @pytest.mark.parametrize(
        "limits", [{"most_idle": 0}, {"idle_for": 0.01}], ids=["too many", "too long"]
    )
    async def test_idle_children_end(self, limits: dict[str, Any]) -> None:
        async with executor_with(**limits) as executor:
            await is_gone(await pid_of(executor))

    async def test_idle_children_end_when_the_executor_closes(
        self, own_executor: ExecutorUnderTest
    ) -> None:
        pid = await pid_of(own_executor)
        own_executor.executor.close()
        await is_gone(pid)

    async def test_a_busy_child_ends_after_its_body_once_the_executor_is_closed(
        self, own_executor: ExecutorUnderTest
    ) -> None:
        started = own_executor.start(process_bodies.go_on_with_progress)
        pid = int(await started.first_label())
        own_executor.executor.close()
        started.stop(JobCancelled("bob"))
        assert is_cancelled_by_bob(await started.performed())
        await is_gone(pid)

    async def test_the_end_of_the_loop_ends_busy_children(self) -> None:
        async def start_and_leave() -> int:
            executor = ExecutorUnderTest(Database("sqlite:////nowhere/horae.db"))
            pid = int(await executor.start(process_bodies.tell_pid_and_sleep).first_label())
            executor.executor.close()
            return pid

        await is_gone(await asyncio.to_thread(asyncio.run, start_and_leave()))

    async def test_no_thread_serves_a_child(self, own_executor: ExecutorUnderTest) -> None:
        before = set(threading.enumerate())
        await pid_of(own_executor)
        assert set(threading.enumerate()) <= before

    async def test_signal_handlers_are_reset_for_each_body(
        self, own_executor: ExecutorUnderTest
    ) -> None:
        expected = [str(signal.SIG_IGN), str(signal.SIG_DFL)]
        assert result(await own_executor.perform(process_bodies.take_over_signals)) == expected
        assert result(await own_executor.perform(process_bodies.take_over_signals)) == expected

    async def test_a_child_that_cannot_be_started_costs_no_attempt(
        self,
        own_executor: ExecutorUnderTest,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError(errno.EMFILE, "too many open files")

        with monkeypatch.context() as refused:
            refused.setattr(process, "start_child", refuse)
            performed = await own_executor.perform(process_bodies.add, left=1, right=2)
        assert (performed.settlement, performed.unbegun) == (None, True)
        assert "job 7 (add) cannot begin yet: [Errno 24] too many open files" in caplog.text
        await pid_of(own_executor)

    async def test_a_node_whose_folder_is_gone_says_so(
        self,
        own_executor: ExecutorUnderTest,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        tmp_path: Path,
    ) -> None:
        """As one that goes on after its release was deleted."""
        folder = tmp_path / "release"
        folder.mkdir()
        monkeypatch.chdir(folder)
        folder.rmdir()
        performed = await own_executor.perform(process_bodies.add, left=1, right=2)
        assert (performed.settlement, performed.unbegun) == (None, True)
        assert "cannot begin yet: the working directory of the node was deleted" in caplog.text


class TestAddresses:
    @pytest.mark.parametrize(
        "declared",
        [
            process_bodies.make_local(),
            process_bodies.hidden,
            JobFunction(process_bodies.add.function, name="shadow", isolation="process"),
            type("Dynamic", (process_bodies.Multiply,), {})(),
        ],
        ids=["local", "lambda", "shadowed", "dynamic"],
    )
    async def test_a_type_that_no_child_can_import_fails_with_advice(
        self, executor: ExecutorUnderTest, declared: Declared
    ) -> None:
        failed = failure(await executor.perform(declared))
        assert failed.error.startswith("InvalidJobType: ")
        assert "declare it at the top level of a module" in failed.error

    @pytest.mark.parametrize(
        ("spec", "file", "reason"),
        [
            (None, None, "an interactive session"),
            (None, "<stdin>", "a program read from stdin, has no file"),
            (ModuleSpec("app.__main__", None), __file__, "__main__.py must not be imported"),
        ],
    )
    async def test_a_main_module_that_cannot_be_imported_is_refused(
        self,
        monkeypatch: pytest.MonkeyPatch,
        spec: ModuleSpec | None,
        file: str | None,
        reason: str,
    ) -> None:
        main = ModuleType("__main__")
        main.__spec__, main.__file__ = spec, file
        monkeypatch.setitem(sys.modules, "__main__", main)
        job_type = type("InMain", (process_bodies.Multiply,), {"__module__": "__main__"})()
        with pytest.raises(InvalidJobType, match=reason):
            address_of(job_type)

    async def test_orders_to_a_refused_job_change_nothing(
        self, executor: ExecutorUnderTest
    ) -> None:
        started = executor.start(process_bodies.hidden)
        started.run.kill()
        started.stop(JobCancelled())
        assert "InvalidJobType" in failure(await started.performed()).error

    async def test_an_import_that_fails_in_the_child_is_a_failure(
        self, executor: ExecutorUnderTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "only_here.py").write_text("")
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        only_here: Any = importlib.import_module("only_here")
        (tmp_path / "only_here.py").unlink()
        body = process_bodies.in_process()(only_here_body)
        only_here_body.__module__, only_here_body.__qualname__, only_here.body = (
            "only_here",
            "body",
            body,
        )
        failed = failure(await executor.perform(body))
        assert "cannot be loaded in a child process as only_here.body" in failed.error
        assert (
            failed.human_readable_error
            == "Something went wrong while this job (only_here_body) was running."
        )

    @pytest.mark.parametrize(
        "how",
        [["-m", process_main.__name__], [str(Path(process_main.__file__))]],
        ids=["-m", "file"],
    )
    async def test_a_main_module_may_declare_job_types(self, how: list[str]) -> None:
        assert await output_of(await program(*how)) == "42\n"

    async def test_the_death_of_a_starting_child_is_reported(self) -> None:
        output = await output_of(await program("-m", process_main.__name__, "broken"))
        assert "ended with exit code 7 before the job did, while it was starting" in output

    @pytest.mark.parametrize("how", ["alone", "survived by a fork that holds the pipe"])
    async def test_no_child_outlives_a_parent_that_was_killed(self, how: str) -> None:
        parent = await program("-m", process_main.__name__, "orphan")
        assert parent.stdout is not None
        pid, holder = int(await parent.stdout.readline()), None
        if how != "alone":
            parent.send_signal(signal.SIGUSR1)
            holder = int(await parent.stdout.readline())
        parent.kill()
        await is_gone(pid)
        if holder is not None:
            os.kill(holder, signal.SIGKILL)
        await parent.communicate()


async def program(*arguments: str) -> asyncio.subprocess.Process:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    return await asyncio.create_subprocess_exec(
        sys.executable, *arguments, cwd=ROOT, env=environment, stdout=asyncio.subprocess.PIPE
    )


async def output_of(process: asyncio.subprocess.Process) -> str:
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    return output.decode()


def only_here_body() -> None: ...


@pytest.mark.tables("CREATE TABLE effects (name TEXT)")
class TestTransactions:
    @pytest_asyncio.fixture(loop_scope="module")
    async def executor(self, database: Database) -> AsyncIterator[ExecutorUnderTest]:
        executor = ExecutorUnderTest(database)
        yield executor
        await executor.close()

    @pytest.mark.parametrize("body", [process_bodies.insert_row, process_bodies.insert_row_async])
    async def test_the_effects_of_a_job_commit_with_its_end(
        self, executor: ExecutorUnderTest, body: JobFunction[..., Any]
    ) -> None:
        claim = claimed(executor, body)
        performed = await executor.start_claim(body.job_type, claim).performed()
        assert performed == FinishedRun(claim, None, already=True)
        assert (effects(executor), state(executor, claim)) == (1, JobState.FINISHED)

    async def test_coroutines_of_one_child_share_its_connections(
        self, executor: ExecutorUnderTest
    ) -> None:
        for _ in range(3):
            claim = claimed(executor, process_bodies.insert_row_async)
            performed = await executor.start_claim(
                process_bodies.insert_row_async.job_type, claim
            ).performed()
            assert performed.already
        pid = await pid_of(executor)
        executor.executor.close()
        await is_gone(pid)
        assert effects(executor) == 3

    async def test_a_failure_rolls_back(self, executor: ExecutorUnderTest) -> None:
        claim = claimed(executor, process_bodies.insert_row, error="after the insert")
        performed = await executor.start_claim(
            process_bodies.insert_row.job_type, claim
        ).performed()
        assert failure(performed).error == "ValueError: after the insert"
        assert (effects(executor), state(executor, claim)) == (0, JobState.STARTED)

    async def test_a_body_that_missed_the_loss_of_its_lease_rolls_back(
        self, executor: ExecutorUnderTest
    ) -> None:
        claim = claimed(executor, process_bodies.insert_row)
        executor.environment.database.transact(execute, "UPDATE horae_jobs SET lease = lease + 1")
        performed = await executor.start_claim(
            process_bodies.insert_row.job_type, claim
        ).performed()
        assert not performed.already
        assert performed.settlement is not None
        # So it ends nothing: the job has another lease by now.
        assert performed.settlement.lease == claim.lease
        assert (effects(executor), state(executor, claim)) == (0, JobState.STARTED)


def execute(connection: Connection, statement: str) -> None:
    connection.execute(text(statement))


def claimed(executor: ExecutorUnderTest, body: JobFunction[..., Any], **params: Any) -> Claim:
    name = body.job_type.type
    new = JobRow(type=name, queue="default", priority=0, params=json.dumps(params))
    executor.environment.database.transact(creation.add, new)
    [claim] = executor.environment.database.transact(
        claims.claim, ClaimScope(node=NODE, types=(name,)), 1
    )
    return claim


def effects(executor: ExecutorUnderTest) -> int:
    def count(connection: Connection) -> int:
        return int(connection.execute(text("SELECT count(*) FROM effects")).scalar_one())

    return executor.environment.database.transact(count)


def state(executor: ExecutorUnderTest, claim: Claim) -> JobState:
    job = executor.environment.database.transact(reading.get, claim.id)
    assert job is not None
    return job.state


def attempt_of_a_body() -> Attempt:
    def ignore(_percentage: int, _label: str | None) -> None: ...

    return Attempt(claim_of(process_bodies.add.job_type, {}), None, ignore)


class TestBodyInterrupt:
    @pytest.fixture
    def interrupt(self) -> Iterator[BodyInterrupt]:
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
        before = [signal.getsignal(number) for number in numbers]
        interrupt = BodyInterrupt()
        interrupt.install()
        yield interrupt
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)

    async def test_it_interrupts_only_while_a_body_runs_and_once(
        self, interrupt: BodyInterrupt
    ) -> None:
        attempt = attempt_of_a_body()
        interrupt.send()
        with interrupt.arm(attempt):
            interrupt.send()  # no order was given
            attempt.take_order(SoftTimeLimitExceeded())
            with pytest.raises(SoftTimeLimitExceeded):
                interrupt.send()
            interrupt.send()
        interrupt.send()

    async def test_an_order_given_before_the_body_begins_is_not_lost(
        self, interrupt: BodyInterrupt
    ) -> None:
        attempt = attempt_of_a_body()
        attempt.take_order(SoftTimeLimitExceeded())
        with pytest.raises(SoftTimeLimitExceeded), interrupt.arm(attempt):
            pytest.fail("the body began")


async def test_a_claim_arrives_in_a_child_as_it_is_elsewhere() -> None:
    moment = datetime(2026, 3, 2, 10, tzinfo=UTC)
    kind = JobFunction(lambda: None).job_type
    claim = claim_of(kind, {})._replace(schedule_id=1, nominal_time=moment)
    message = messages.decode(messages.encode("job", claim=claim))
    arrived = messages.claim_from_json(message["claim"])
    assert arrived == claim
    assert arrived.nominal_time is not None
    assert arrived.nominal_time.tzinfo is UTC
