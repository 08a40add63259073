"""An application whose jobs run in child processes, and whose failures are reported to Sentry."""

import os
import signal

from horae import Horae
from horae.contrib.sentry import instrument

horae = Horae("sqlite:////nowhere/horae.db")
instrument(horae)


@horae.job(isolation="process")
def fails() -> None:
    raise LookupError("no entry")


@horae.job(isolation="process")
def is_killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
