"""Bodies that wait for other jobs, two of them in a circle."""

import threading
from functools import partial

from horae import Horae, InvalidRequest, JobContext, WaitTimeout
from horae.client.jobs import BodyWaits
from tests.faults.lost_replies.caller import again
from tests.harness.node_processes import wait_until


class WaitingBodies:
    """Declares jobs that wait for others, and lets them wait."""

    def __init__(self, horae: Horae) -> None:
        self._horae = horae
        self._awaited: dict[int, int] = {}
        self._known = threading.Event()
        """Set once all jobs know what they wait for."""

    def declare(self) -> None:
        @self._horae.job(max_count=None)
        def awaiting(job: JobContext) -> None:
            """Wait for another job, unless both would wait for ever or an answer is lost that names the circle."""
            self._known.wait()
            wait = partial(self._horae.jobs.wait, self._awaited[job.id], timeout="5s")
            again(wait, InvalidRequest, WaitTimeout)

    def run(self) -> None:
        """Let two bodies wait for each other, and one for a job that comes later; read what hinders them."""
        jobs, live = self._horae.jobs, self._horae.components.live
        later = again(lambda: jobs.start("looped", delay="1h"))
        one, other, third = (again(partial(jobs.start, "awaiting")).id for _ in range(3))
        self._awaited.update({one: other, other: one, third: later.id})
        self._known.set()
        wait_until(lambda: third in {each.job_id for each in again(live.waits)})
        again(lambda: [*BodyWaits(self._horae.components.database, live).hindrances()])
        again(lambda: jobs.wait(later.id, timeout="0.5s"), WaitTimeout)
        again(lambda: jobs.reschedule(later.id, delay="0s"))
        for job_id in (one, other, third):
            again(partial(jobs.wait, job_id, timeout="20s"))
