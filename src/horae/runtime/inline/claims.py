"""Claims jobs for the calling thread, and hands back those that a failed call has claimed.

Nothing else would end such a job: its node, this process, is alive, and no thread of it knows the
job.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from horae.domain.jobs import Claim, JobId
from horae.guarded_log import guarded_log
from horae.resource_shortage import try_start
from horae.runtime.bodies import FinishedRun, RunEnvironment
from horae.runtime.settling import settle_batch
from horae.runtime.throttled_warning import ThrottledWarning
from horae.runtime.timing import WorkerTiming
from horae.storage.engine import is_transient
from horae.storage.jobs import Contended, claims

T = TypeVar("T")

log = guarded_log("horae.runtime")


class InlineClaims:
    """The claims of one process's inline jobs. Thread-safe."""

    def __init__(
        self, environment: RunEnvironment, on_returned: Callable[[], None], timing: WorkerTiming
    ) -> None:
        """`on_returned`: called after jobs were handed back, so that other nodes claim them."""
        self._environment, self._on_returned, self._timing = environment, on_returned, timing
        self._held = set[JobId]()
        """Jobs whose claims are known and whose results are not yet written."""
        self._being_made = set[object]()
        """Claims whose transactions are under way."""
        self._search_until = 0.0
        self._search: threading.Thread | None = None
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._closed = threading.Event()
        self._unavailable = ThrottledWarning()

    def make(self, transaction: Callable[[], T], claim_of: Callable[[T], Claim | None]) -> T:
        """Run a transaction that claims a job, and return its result.

        `claim_of` finds the claim in the result.
        """
        this = object()
        with self._lock:
            self._being_made.add(this)
        try:
            result = transaction()
            claim = claim_of(result)
            if claim is not None:
                self._held.add(claim.id)
        except Contended:  # `Contended` is raised before the commit
            raise
        except BaseException as error:
            # Ctrl-C may come before the answer.
            if not isinstance(error, Exception) or is_transient(error):
                self._search_for_lost()
            raise
        finally:
            with self._lock:
                self._being_made.discard(this)
                self._changed.notify_all()
        return result

    def release(self, job_id: JobId) -> None:
        """Forget a job whose result is written."""
        self._held.discard(job_id)

    def close(self) -> None:
        """Search once more if a claim may have been lost, and end the search."""
        self._closed.set()
        with self._lock:
            search = self._search
        if search is not None:
            search.join()

    def _search_for_lost(self) -> None:
        """Search for a while: the transaction may commit after its connection was lost."""
        with self._lock:
            self._search_until = time.monotonic() + self._timing.lost_reply_window
            if self._search is None and not self._closed.is_set():
                search = threading.Thread(
                    target=self._search_repeatedly, name="horae-inline-claims", daemon=True
                )
                self._search = search if try_start(search) else None

    def _search_repeatedly(self) -> None:
        pause = self._timing.poll_without_hints
        seconds = pause.shortest
        while True:
            closed, late = self._closed.is_set(), time.monotonic() >= self._search_until
            with self._unavailable.guard("cannot read which jobs this process has claimed: %s"):
                self._hand_back_lost()
                self._unavailable.settle()
                with self._lock:
                    if late and time.monotonic() >= self._search_until:
                        self._search = None
                        return
            if closed:
                return
            self._closed.wait(seconds)
            seconds = pause.after(seconds)

    def _hand_back_lost(self) -> None:
        found = self._environment.database.autocommit(
            claims.find_orphaned, self._environment.node, list(self._held)
        )
        if not found:
            return
        # What was found may be the claim of a transaction under way, which is not lost.
        with self._changed:
            waiting = set(self._being_made)
            self._changed.wait_for(lambda: not waiting & self._being_made)
        lost = [claim for claim in found if claim.id not in self._held]
        if lost:
            batch = [FinishedRun(claim, None, unbegun=True) for claim in lost]
            self._environment.database.transact(settle_batch, self._environment, batch)
            log.warning(
                "%d jobs were claimed although the answer was lost; they are handed back", len(lost)
            )
            self._on_returned()
