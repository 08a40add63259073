"""Starts the helper process that sends a node's heartbeats, and reads its messages."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from horae.domain.cluster import LivenessLimits
from horae.storage.engine import Database
from horae.storage.engine.connections import raw_bounds
from horae.storage.nodes import HelperConfig, NodeRecord, heartbeat_process, nodes
from horae.wakeup import CHANNEL, LARGEST_PAYLOAD, Hint, HintKind, encode

PROGRAM: Final = Path(heartbeat_process.__file__)
INTERPRETERS: Final = ("python", "pypy")
"""Names of executables that can run a Python file; a server that embeds Python cannot."""

ENDED: Final = "ended"
"""The message that stands for the end of the helper."""


class Helper:
    """One helper process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        if process.stdin is None or process.stdout is None:
            raise TypeError("the helper process needs pipes for its input and output")
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._unread = b""

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def descriptors(self) -> tuple[int, int]:
        """The node's ends of the pipes."""
        return self._stdin.fileno(), self._stdout.fileno()

    def messages(self, seconds: float) -> Iterator[tuple[str, str]]:
        """Return its messages, split after the first word; `ended` once the process is gone."""
        poll = select.poll()
        try:
            poll.register(self._stdout.fileno(), select.POLLIN)
            if not poll.poll(seconds * 1000):
                return
            received = os.read(self._stdout.fileno(), 65_536)
        except (OSError, ValueError):  # `dismiss` may have closed the pipe
            received = b""
        if not received:
            yield ENDED, "its helper process has ended"
        *lines, self._unread = (self._unread + received).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            yield word, rest

    def dismiss(self) -> None:
        """Kill the process, which has nothing to clean up."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._stdin, self._stdout):
            with suppress(OSError):
                pipe.close()


def start_helper(database: Database, record: NodeRecord, limits: LivenessLimits) -> Helper | None:
    """Start the process; return None if there is no Python interpreter; may raise OSError."""
    if not Path(sys.executable or "").name.startswith(INTERPRETERS) or not PROGRAM.is_file():
        return None
    config = json.dumps(helper_config(database, record, limits)).encode() + b"\n"
    process = subprocess.Popen(  # noqa: S603 - this interpreter and our own file
        # The helper receives the import path of the node, so it does not have to search for site
        # packages.
        [sys.executable, "-S", "-P", str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # signals of the terminal are for the node alone
    )
    helper = Helper(process)
    try:
        os.write(helper.descriptors[0], config)
    except OSError:
        helper.dismiss()
        raise
    return helper


def helper_config(database: Database, record: NodeRecord, limits: LivenessLimits) -> HelperConfig:
    """Return the settings of the helper."""
    # The sender in this hint belongs to no node, because a node ignores hints of its own.
    news = (CHANNEL, encode("ended", Hint(HintKind.NODES), LARGEST_PAYLOAD))
    questions = nodes.helper_statements(record, *news)
    arguments = database.driver_arguments()
    return HelperConfig(
        path=[entry or str(Path.cwd()) for entry in sys.path],
        node=os.getpid(),
        connect={**arguments, "application_name": "horae heartbeat"},
        bounds=None if questions.lock is None else raw_bounds(arguments),
        lock=questions.lock,
        beat=questions.heartbeat,
        ended=questions.ended,
        every=limits.beat,
        timeout=limits.silence,
    )
