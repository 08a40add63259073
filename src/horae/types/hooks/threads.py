"""Threads that call hooks, separate for each type: a hook that hangs delays only hooks of its own
type.

They are daemon threads, so that none keeps the process from ending. A hook that was not called, or
not to its end, is still noted in the row of its job, and another process calls it.
"""

import threading
import time
from typing import Final

from horae.guarded_log import guarded_log
from horae.resource_shortage import try_start
from horae.storage.jobs import OwedHook
from horae.types.hooks.hooks import TIME_LIMIT, Hooks

OF_TYPE: Final = 4
"""Maximum number of hook threads per job type."""

log = guarded_log("horae.hooks")


class HookThreads:
    """The threads of one process, by type; they end when nothing of their type is owed."""

    def __init__(self, hooks: Hooks, *, time_limit: float = TIME_LIMIT) -> None:
        self._hooks, self._time_limit = hooks, time_limit
        self._threads: dict[str, list[_HookThread]] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def call_due(self, type_name: str, count: int = 1) -> None:
        """Start threads for `count` hooks of the type, at most `OF_TYPE` at a time.

        Does not block.
        """
        with self._lock:
            if self._closed.is_set():
                return
            known = self._threads.get(type_name, ())
            threads = [each for each in known if each.look_again()]
            stuck = [thread for thread in threads if thread.has_passed(self._time_limit)]
            room = OF_TYPE + min(len(stuck), 8) - len(threads)
            for _ in range(min(room, count)):
                thread = _HookThread(self._hooks, type_name, self._closed)
                # If it cannot start, the rows still note the hooks, and the next search finds them.
                if not try_start(thread.thread):
                    break
                threads.append(thread)
            self._threads[type_name] = threads

    def look(self) -> None:
        """Give up hooks that have exceeded the time limit: they count as called."""
        with self._lock:
            for threads in self._threads.values():
                for thread in threads:
                    if thread.has_passed(self._time_limit):
                        thread.leave_behind(self._time_limit)

    def close(self, patience: float) -> bool:
        """Start no more hooks; return whether the running ones ended within `patience` seconds."""
        self._closed.set()
        deadline = time.monotonic() + patience
        with self._lock:
            threads = [thread for threads in self._threads.values() for thread in threads]
        for thread in threads:
            thread.thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.thread.is_alive() for thread in threads)


class _HookThread:
    """A thread that calls one hook of its type after another."""

    def __init__(self, hooks: Hooks, type_name: str, closed: threading.Event) -> None:
        self.thread = threading.Thread(
            target=self._run, name=f"horae-hooks-{type_name}", daemon=True
        )
        self._hooks, self._type, self._closed = hooks, type_name, closed
        self._owed: OwedHook | None = None
        self._began = 0.0
        self._left_behind = False
        self._looks_again, self._has_ended = True, False
        self._lock = threading.Lock()

    def look_again(self) -> bool:
        """Let the thread look for hooks once more; return False if it is ending already."""
        with self._lock:
            self._looks_again = True
            return not self._has_ended

    def _goes_on(self) -> bool:
        with self._lock:
            stopped = self._closed.is_set() or self._left_behind
            self._has_ended = stopped or not self._looks_again
            self._looks_again = False
            return not self._has_ended

    def _run(self) -> None:
        with log.guard("hooks of type %s are called later: %s", self._type):
            while self._goes_on():
                owed = self._hooks.take(self._type)
                if owed is not None:
                    self._began, self._owed, self._looks_again = time.monotonic(), owed, True
                    self._hooks.call(owed)
                    self._owed = None
        self._owed, self._has_ended = None, True

    def has_passed(self, seconds: float) -> bool:
        return self._owed is not None and time.monotonic() - self._began > seconds

    def leave_behind(self, seconds: float) -> None:
        owed, told = self._owed, self._left_behind
        self._left_behind = True
        if owed is None or told:
            return
        log.error(
            "a hook of job %d (%s) has run for more than %g s; it counts as called, and other hooks"
            " go on",
            owed.job.id,
            self._type,
            seconds,
        )
        # If this fails, the hook is called again later.
        with log.guard("cannot record that a hook of job %d was called: %s", owed.job.id):
            self._hooks.done(owed)
