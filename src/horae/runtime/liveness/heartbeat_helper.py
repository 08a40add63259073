"""The helper process that beats for a node, as the node sees it."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from horae.domain.cluster.liveness import Limits
from horae.storage.engine.database import Database
from horae.storage.operations import heartbeat_process, nodes
from horae.storage.operations.heartbeat_process import HelperConfig
from horae.storage.operations.nodes import NodeRecord
from horae.wakeup.channel import Hint, HintKind
from horae.wakeup.payload import CHANNEL, LARGEST_PAYLOAD, encode

PROGRAM: Final = Path(heartbeat_process.__file__)
INTERPRETERS: Final = ("python", "pypy")
"""How a program is called that can run another one; a server that embeds Python cannot."""

ENDED: Final = "ended"
LARGEST: Final = 65_536


class Helper:
    """One helper process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        if process.stdin is None or process.stdout is None:
            raise TypeError("a helper is spoken to and heard through pipes")
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._heard = b""

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def descriptors(self) -> tuple[int, int]:
        """The ends of its pipes."""
        return self._stdin.fileno(), self._stdout.fileno()

    def words(self, seconds: float) -> Iterator[tuple[str, str]]:
        """What it has said meanwhile: a word and the rest of the line. `ended` once it is gone."""
        try:
            heard = os.read(self._stdout.fileno(), LARGEST) if _is_ready(self._stdout.fileno(), seconds) else None
        except (OSError, ValueError):  # it was dismissed meanwhile
            heard = b""
        if heard == b"":
            yield ENDED, "its helper process has ended"
        *lines, self._heard = (self._heard + (heard or b"")).split(b"\n")
        for line in lines:
            word, _, rest = line.decode(errors="replace").partition(" ")
            yield word, rest

    def dismiss(self) -> None:
        """End it: it has nothing to tidy up."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._stdin, self._stdout):
            with suppress(OSError):
                pipe.close()


def start_helper(database: Database, record: NodeRecord, limits: Limits) -> Helper | None:
    """Start the process; None where this program has no Python to run it, OSError where that failed."""
    if not Path(sys.executable or "").name.startswith(INTERPRETERS) or not PROGRAM.is_file():
        return None
    process = subprocess.Popen(  # noqa: S603 - this interpreter and our own file
        # What the node imports can be imported there, too: it is told the path, so no site packages are looked for.
        [sys.executable, "-S", "-P", str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # what a terminal tells the node is not for its helper
    )
    helper = Helper(process)
    try:
        os.write(helper.descriptors[0], json.dumps(told(database, record, limits)).encode() + b"\n")
    except BaseException:
        helper.dismiss()
        raise
    return helper


def told(database: Database, record: NodeRecord, limits: Limits) -> HelperConfig:
    """What the helper must know."""
    # A hint as if from nobody, for whoever sent one would not hear it.
    news = (CHANNEL, encode("ended", Hint(HintKind.NODES), LARGEST_PAYLOAD))
    questions = nodes.helper_statements(record, *news)
    return HelperConfig(
        path=[entry or str(Path.cwd()) for entry in sys.path],
        node=os.getpid(),
        connect={**database.driver_arguments(), "application_name": "horae heartbeat"},
        lock=questions.lock,
        beat=questions.heartbeat,
        ended=questions.ended,
        every=limits.beat,
        timeout=limits.silence,
    )


def _is_ready(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
