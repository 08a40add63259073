"""Records what each body waits for, so that a deadlock of bodies on any nodes is detected."""

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection

from horae.domain.jobs import JobId, Wait, WaitTarget, circle_of, described
from horae.errors import InvalidRequest
from horae.guarded_log import guarded_log
from horae.live import LiveStore
from horae.sentences import Sentence, SentenceCode
from horae.storage.engine import Database
from horae.storage.jobs.groups import groups, is_in_force, prerequisites, why_held_by_waiting
from horae.types import Attempt

log = guarded_log("horae.jobs")


@dataclass(frozen=True, slots=True)
class BodyWaits:
    """The waits of bodies, in the live store."""

    database: Database
    live: LiveStore

    def begin(self, attempt: Attempt | None, awaited: WaitTarget) -> Wait | None:
        """Record that a body waits; return None if no body waits here.

        Raises `InvalidRequest` if the wait closes a circle. The last of the bodies in a circle
        finds it, because each reads the waits after it has written its own.
        """
        if attempt is None:
            return None
        group_id = self.database.autocommit(groups.of_job, attempt.claim.id)
        if group_id is not None and awaited == WaitTarget.group(group_id):
            raise InvalidRequest(
                f"job {attempt.claim.id} belongs to group {group_id} and waits for the end of all"
                " its jobs, which it would never reach; do the rest in the job after them (then)"
            )
        wait = Wait(attempt.claim.id, attempt.claim.lease, group_id, awaited)

        left, is_recorded = list[Wait](), False
        with log.guard("cannot record that job %d waits: %s", wait.job_id):
            self.live.begin_wait(wait)
            left, is_recorded = list(self.live.waits()), True
        if not is_recorded:  # the wait needs only the database
            return None
        with ExitStack() as on_error:
            on_error.callback(self.end, wait)
            before = self.database.autocommit(
                prerequisites, {each.awaited for each in (*left, wait)}
            )
            while (circle := circle_of(wait, left, before)) is not None:
                on_it = [each for each in left if WaitTarget.job(each.job_id) in circle]
                # Waits of ended attempts do not count.
                ended = [each for each in on_it if not self.database.autocommit(is_in_force, each)]
                if not ended:
                    raise InvalidRequest(
                        f"{described(circle)}: a circle, in which no job would ever end"
                    )
                left = [each for each in left if each not in ended]
            on_error.pop_all()
        return wait

    def end(self, wait: Wait | None) -> None:
        """Record that this wait is over."""
        if wait is not None:
            # The wait is over in any case; its record is removed with the job.
            with log.guard("cannot record that job %d waits no more: %s", wait.job_id):
                self.live.end_wait(wait)

    def hindrances(self) -> Iterator[str]:
        """Yield one sentence for each reason why a body's wait cannot end."""
        waits = [each for each in self.live.waits() if self.database.autocommit(is_in_force, each)]
        seen = set[frozenset[WaitTarget] | str]()
        before = self.database.autocommit(prerequisites, {each.awaited for each in waits})
        waiting = {each.job_id for each in waits}
        for wait in waits:
            circle = circle_of(wait, waits, before)
            if circle is not None and (jobs := frozenset(circle)) not in seen:
                seen.add(jobs)
                yield Sentence(
                    f"{described(circle)}: a circle, in which no job will ever end",
                    SentenceCode.WAITS_IN_CIRCLE,
                    circle=[f"{each.kind} {each.id}" for each in circle],
                )
            if (
                why := self.database.autocommit(_why_taken_up, wait.awaited, waiting)
            ) is not None and why not in seen:
                seen.add(why)
                yield why

    def why_taken_up(self, awaited: WaitTarget) -> str | None:
        """Return why an awaited job cannot start, if bodies that wait use up its limits."""
        waits: Sequence[Wait] = ()
        with log.guard("cannot read what bodies wait for: %s"):
            waits = self.live.waits()
        waiting = {each.job_id for each in waits}
        return self.database.autocommit(_why_taken_up, awaited, waiting) if waits else None


def _why_taken_up(
    connection: Connection, awaited: WaitTarget, waiting: Collection[JobId]
) -> str | None:
    if awaited.kind == "job":
        return why_held_by_waiting(connection, JobId(awaited.id), waiting)
    return None


@contextmanager
def record_wait(waits: BodyWaits, attempt: Attempt | None, awaited: WaitTarget) -> Generator[None]:
    """Record a wait within the block."""
    wait = waits.begin(attempt, awaited)
    try:
        yield
    finally:
        waits.end(wait)
