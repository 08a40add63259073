"""Connections that end a wait for the reply of a server that has stopped answering.

A server whose processes stand still, as on a frozen virtual machine, keeps its connections: the
kernel acknowledges all that is sent, so no setting of TCP notices it. A statement may also take
long for good reasons, so its duration proves nothing. Therefore a call that waits for long asks
the same server, by another connection, whether it answers and what the first one is doing there.
"""

import time
from contextlib import closing
from typing import Any, Final, TypeVar

import psycopg
from psycopg.abc import PQGen
from typing_extensions import override

from horae.storage.engine.connections.timeouts import CONNECT_TIMEOUT, ask, is_ready

T = TypeVar("T")

SILENCE: Final = 10.0
"""Seconds without a reply after which the server is asked, and again after the same time."""
ANSWER_TIMEOUT: Final = 5.0
"""Seconds that the server has for its answer."""
QUESTIONS: Final = 2
"""How many questions in a row must show that it stands still: a busy server may miss one."""
GRACE: Final = 10.0
"""Seconds that the server has to end a statement which has exceeded its `statement_timeout`."""

STANDS_STILL: Final = """
    SELECT FROM pg_stat_activity
    WHERE pid = $1::int AND state LIKE 'idle%'
    AND clock_timestamp() - state_change > make_interval(secs => $2::float8)
    UNION ALL
    SELECT FROM pg_settings
    WHERE name = 'statement_timeout' AND setting::int > 0
    AND setting::int / 1000.0 + $3::float8 < $2::float8
"""
"""Finds a session that has not begun what its client sent so many seconds ago, or that should have
ended it. A pooler announces sessions that do not exist, so behind it only the latter counts.
"""


class WatchedConnection(psycopg.Connection[Any]):
    """A connection that closes itself, with an error, when the server no longer answers."""

    @override
    def wait(self, gen: PQGen[T], *arguments: Any, **options: Any) -> T:
        return super().wait(self._watched(gen), *arguments, **options)

    def _watched(self, gen: PQGen[T]) -> PQGen[T]:
        """Pass everything on; while nothing arrives, the driver resumes this ten times a second."""
        began = ask_at = 0.0
        try:
            state = next(gen)
            while True:
                ready = yield state
                if ready:
                    ask_at = 0.0
                elif not ask_at:
                    began = time.monotonic()
                    ask_at = began + SILENCE
                elif time.monotonic() >= ask_at:
                    self._check_server(began)
                    ask_at = time.monotonic() + SILENCE
                state = gen.send(ready)
        except StopIteration as end:
            result: T = end.value
            return result

    def _check_server(self, began: float) -> None:
        """Close the connection and raise the driver's error if the server stands still."""
        for _ in range(QUESTIONS):
            if not self.stands_still(time.monotonic() - began) or is_ready(self.fileno()):
                return
        self.pgconn.finish()
        raise psycopg.OperationalError(
            f"no reply for {time.monotonic() - began:.0f} s: the server, or the way to it, stands"
            " still. Whether the call has taken effect, or will, is unknown"
        )

    def stands_still(self, seconds: float) -> bool:
        """Return whether the server does not answer, or is not at work on the statement.

        Only silence counts: a server that refuses the connection may still be at work.
        """
        try:
            with closing(psycopg.connect(**self._same_server())) as other:
                asked = [str(self.info.backend_pid), str(seconds), str(GRACE)]
                return ask(other, STANDS_STILL, asked, ANSWER_TIMEOUT) > 0
        except (TimeoutError, psycopg.errors.ConnectionTimeout):
            return True
        except (OSError, psycopg.Error):
            return False

    def _same_server(self) -> dict[str, Any]:
        """Return the arguments for another connection to this server, of several in the URL."""
        info = self.info
        own = {
            "host": info.host,
            "hostaddr": info.hostaddr,
            "port": info.port,
            "password": info.password,
        }
        return {
            **info.get_parameters(),
            **{name: value or None for name, value in own.items()},
            "connect_timeout": CONNECT_TIMEOUT,
            "target_session_attrs": "any",
        }
