"""The processes that a node starts, forked from one that has all imports, where a test is not about their start.

A child for bodies that is spawned imports Horae anew, and the helper of the heartbeat imports psycopg: a second and a fifth of
a second of processor time. A run of the suite starts hundreds of the ones and thousands of the others.
"""

import atexit
import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context, process
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final

import pytest

from horae.domain.cluster import LivenessLimits
from horae.runtime.executors import child_process
from horae.runtime.liveness import heartbeat
from horae.runtime.liveness.heartbeat_helper import Helper, helper_config
from horae.storage.engine import Database
from horae.storage.nodes import NodeRecord, heartbeat_process
from tests.harness.environment import replace_environment
from tests.harness.forked import ForkedProcess

IMPORTED: Final = (
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite.aiosqlite",
    "sqlalchemy.ext.asyncio",
    "horae.app",
    "horae.runtime.executors.child",
)
"""What a child for bodies imports."""
_server: Final = get_context("forkserver")
_spawn: Final = vars(child_process)["_spawn"]
_start_helper: Final = vars(heartbeat)["start_helper"]


class ForkedChildren:
    """Takes the place of the context of `multiprocessing` with which nodes start their children."""

    def Process(  # noqa: N802 - the name that a context has
        self, *, target: Callable[..., object], args: Sequence[Any], daemon: bool
    ) -> BaseProcess:
        """Return a process that sees the variables of the environment that this one has now."""
        return _server.Process(target=_run, args=(dict(os.environ), target, args), daemon=daemon)


def _run(
    environment: Mapping[str, str], target: Callable[..., object], args: Sequence[Any]
) -> None:
    replace_environment(environment)
    # The parent is the fork server, which outlives the node: a child ends when its pipe is closed.
    setattr(process, "_parent_process", None)  # noqa: B010 - private
    try:
        target(*args)
    finally:
        atexit._run_exitfuncs()  # noqa: SLF001 - a process of the fork server ends without them


def start_forked_helper(database: Database, record: NodeRecord, limits: LivenessLimits) -> Helper:
    """Start the helper of a heartbeat as `start_helper` does."""
    forked: Any = ForkedProcess(
        heartbeat_process.__name__,
        [],
        environment=os.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    helper = Helper(forked)
    # It ends with its parent, which is the fork server, and that one with the process of the node.
    config = {**helper_config(database, record, limits), "node": _parent_of(forked.pid)}
    os.write(helper.descriptors[0], json.dumps(config).encode() + b"\n")
    return helper


def _parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def fork_children() -> None:
    """Let the nodes of this process fork what they start, from now on."""
    _server.set_forkserver_preload([*IMPORTED])
    setattr(child_process, "_spawn", ForkedChildren())  # noqa: B010 - private
    setattr(heartbeat, "start_helper", start_forked_helper)  # noqa: B010 - a module


def spawn_children(patch: pytest.MonkeyPatch) -> None:
    """Let them start it as they do elsewhere, until what the test has replaced is restored.

    The test may replace the same: all of it is restored in the opposite order.
    """
    patch.setattr(child_process, "_spawn", _spawn)
    patch.setattr(heartbeat, "start_helper", _start_helper)
