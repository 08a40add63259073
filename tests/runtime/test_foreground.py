"""Nodes of programs that have no event loop, and types that such a program declares while its node runs."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from horae import Horae, JobState
from horae.runtime.node.node_status import look
from tests.harness.nodes import running_node, until
from tests.harness.waiting import PATIENCE

pytestmark = pytest.mark.one_database

GRACE = timedelta(seconds=5)


def test_a_node_runs_beside_a_program_while_a_block_lasts(horae: Horae) -> None:
    @horae.job
    def double(number: int) -> int:
        return number * 2

    with horae.node(grace=GRACE).running() as node:
        assert [seen.view.id for seen in look(horae.components.database)] == [node.id]
        assert horae.jobs.wait(horae.jobs.start(double, number=21).id, timeout="20s") == 42
    assert look(horae.components.database) == []


def test_an_error_in_the_block_ends_the_node(horae: Horae) -> None:
    with pytest.raises(LookupError, match="mine"), horae.node(grace=GRACE).running():
        raise LookupError("mine")
    assert look(horae.components.database) == []


def test_a_node_that_cannot_start_raises_at_once(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise LookupError("no deployment")

    monkeypatch.setattr(horae, "_deploy_at_start", refuse)
    with pytest.raises(ExceptionGroup) as refused, horae.node(grace=GRACE).running():
        raise AssertionError("the block must not begin")
    assert refused.group_contains(LookupError, match="no deployment")


def test_a_node_runs_in_a_thread_of_the_programs_own_until_it_is_stopped(horae: Horae) -> None:
    ran = threading.Event()

    @horae.job
    def work() -> None:
        ran.set()

    node = horae.node(grace=GRACE)
    thread = threading.Thread(target=node.run_sync)
    thread.start()
    horae.jobs.start(work)
    assert ran.wait(20)
    node.stop()
    thread.join(20)
    assert not thread.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order_in_the_main_thread(
    tmp_path: Path, number: signal.Signals
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent(
            f"""
            import threading
            from horae import Horae

            horae = Horae("sqlite:///{tmp_path}/horae.db")
            gate = threading.Event()

            @horae.job
            def work() -> None:
                print("begun", flush=True)
                gate.wait(0.3)

            horae.jobs.start(work)
            horae.node().run_sync()
            print(horae.jobs.get(1).state.value, flush=True)
            """
        )
    )
    with subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        os.kill(process.pid, number)
        assert process.stdout.readline() == "finished\n"
        assert process.wait(20) == 0


def test_a_program_that_does_not_stop_its_node_ends(tmp_path: Path) -> None:
    program = f"""
from contextlib import ExitStack
from horae import Horae

stack = ExitStack()
stack.enter_context(Horae("sqlite:///{tmp_path}/horae.db").node().running())
print("runs")
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, timeout=PATIENCE
    )
    assert ended.stdout == b"runs\n"


async def test_a_type_that_is_registered_while_a_node_runs_is_run_by_it(horae: Horae) -> None:
    @horae.job
    def early() -> None: ...

    async with running_node(horae) as node:
        before = await horae.aio.jobs.start(early)
        await horae.aio.jobs.wait(before.id, timeout="20s")

        @horae.job
        def late() -> str:
            return "served"

        job = await horae.aio.jobs.start(late)
        assert await horae.aio.jobs.wait(job.id, timeout="20s") == "served"

        def listed() -> bool:
            [seen] = [
                each.view for each in look(horae.components.database) if each.view.id == node.id
            ]
            return seen.types == ["early", "late"]

        await until(listed)


async def test_a_type_that_is_forgotten_while_a_node_runs_is_left_to_others(horae: Horae) -> None:
    @horae.job
    def early() -> None: ...

    async with running_node(horae) as node:
        job = await horae.aio.jobs.start(early)
        await horae.aio.jobs.wait(job.id, timeout="20s")
        kind = horae.registry.get("early")
        left = await horae.aio.jobs.start(early, delay=timedelta(milliseconds=200))
        horae.registry.remove("early")

        def listed() -> bool:
            [seen] = [
                each.view for each in look(horae.components.database) if each.view.id == node.id
            ]
            return seen.types == []

        await until(listed)
        assert (await horae.aio.jobs.get(left.id)).state is JobState.PENDING
        horae.registry.add(kind)
        await horae.aio.jobs.wait(left.id, timeout="20s")
