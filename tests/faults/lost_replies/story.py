"""One day of an application, in a few seconds: its callers and one node run every statement at least once."""

import asyncio
import time
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import pytest
from sqlalchemy.exc import DBAPIError

from horae import (
    Conflict,
    DatabaseUnavailable,
    Horae,
    JobNotCancellable,
    JobState,
    Limit,
    NotFound,
    StartOptions,
    Unique,
)
from horae.client.changes import ChangeRequest
from horae.client.jobs import waiting
from horae.client.operations import ChangeLog, Queues, depths
from horae.client.operations.change_log import recorded_names
from horae.client.schedules import first_shares, page_of, ring_of
from horae.domain.jobs import JobId, NodeId
from horae.live import LiveReport
from horae.runtime.node import look
from horae.storage.jobs import ClaimScope, claims
from horae.storage.schedules import ScheduleFilter
from horae.types.hooks import Hooks, hooks
from tests.faults.lost_replies.application import FREQUENT, LIMITS, Base, Ran, declare
from tests.faults.lost_replies.caller import TRIES, again
from tests.faults.lost_replies.waiting_bodies import WaitingBodies
from tests.harness.applications import execute, rows
from tests.harness.checked import findings
from tests.harness.fault_application import SCHEMA
from tests.harness.node_processes import wait_until

QUEUES: Final = ("default", "limited")
FAR: Final = "0 0 1 1 *"
"""Times that do not come during the test, except on 1 January."""
NEW_YEAR: Final = datetime(2026, 1, 1, tzinfo=UTC)
ACTIVE: Final = (
    "SELECT id, type, state FROM horae_jobs WHERE finished_at IS NULL OR node_id IS NOT NULL"
)
CRASHED: Final = """
INSERT INTO horae_job_attempts (job_id, lease, attempt, node_id, started_at, finished_at, outcome)
SELECT id, :number, :number, 'former', created_at, created_at, 'crashed' FROM horae_jobs WHERE id = :id
"""


class Story:
    """An application on a migrated database, one node, and what users do."""

    def __init__(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            hooks, "TAKEN_AGAIN", 0.5
        )  # seconds until a hook is called that was taken and not called
        monkeypatch.setattr(
            waiting, "HINDERED_AFTER", 0.1
        )  # seconds of a wait until its hindrance is looked for
        self.ran = Ran()
        self.horae = Horae(url)
        declare(self.horae, self.ran)
        self.waiting_bodies = WaitingBodies(self.horae)
        self.waiting_bodies.declare()
        self.url = url
        self.queues = Queues(self.horae.components.database, self.horae.components.wakeup)

    def run(self) -> None:
        """Let everything happen, and wait until all jobs have ended."""
        with closing(self.horae):
            Base.metadata.create_all(self.horae.components.database.engine)
            execute(self.horae, SCHEMA)
            self._before_the_node()
            with self._started_node():
                self._jobs()
                self._ends()
                self._schedules()
                self._operations()
                self._teams()
                self.waiting_bodies.run()
                self._until_over()
                self._deletions()
                self._last_run()
        self.problems = self._problems()

    @contextmanager
    def _started_node(self) -> Generator[None]:
        """Start a node, and start it again if it ends with an error of the database, as a supervisor would."""
        for _ in range(TRIES):
            node = self.horae.node(
                concurrency=16,
                queues=QUEUES,
                liveness=LIMITS,
                timing=FREQUENT,
                grace=timedelta(seconds=0.3),
            )
            with ExitStack() as stack:
                try:
                    stack.enter_context(node.running())
                except (DBAPIError, DatabaseUnavailable, ExceptionGroup):
                    continue
                yield
                return
        raise AssertionError("the node did not start")

    def _before_the_node(self) -> None:
        """Run jobs without a node, and leave what a dead node would: a job that it ran, and two that crashed nodes."""
        jobs, database = self.horae.jobs, self.horae.components.database
        again(lambda: jobs.start("threaded", sync=True))
        again(lambda: jobs.start("repeated", sync=True))
        again(lambda: jobs.start("repeated"))
        with database.engine.begin() as connection:
            claims.claim(
                connection, ClaimScope(node=NodeId("dead"), types=("repeated",), queues=QUEUES), 100
            )
        for job_id in again(lambda: jobs.start_many("suspect", [{}] * 2)):
            for number in (1, 2):
                execute(self.horae, CRASHED, id=job_id, number=number)
            execute(
                self.horae, "UPDATE horae_jobs SET attempt = 2, lease = 2 WHERE id = :id", id=job_id
            )

    async def _start_at_once(self) -> None:
        await asyncio.gather(*[self.horae.aio.jobs.start("looped") for _ in range(4)])

    def _jobs(self) -> None:
        jobs = self.horae.jobs
        again(lambda: self.queues.limit("limited", 2))
        for name in ("looped", "threaded", "bound", "repeated"):
            again(partial(jobs.start, name))
        again(lambda: jobs.start_many("bound", [{}] * 3))
        again(lambda: jobs.start_many("limited", [{}] * 5))
        again(lambda: jobs.start("logging"))
        again(lambda: asyncio.run(self._start_at_once()))
        again(lambda: jobs.start("looped", unique_key="only", on_duplicate="return"))
        again(lambda: jobs.start("looped", unique=Unique(by=()), on_duplicate="replace"), Conflict)
        for _ in range(2):
            again(lambda: jobs.start("looped", debounce="100ms", unique_key="soon"))
        again(lambda: jobs.start("unkept", sync=True))
        moved = again(lambda: jobs.start("looped", delay="1h"))
        again(lambda: jobs.reschedule(moved.id, delay="0s"), Conflict)
        again(lambda: jobs.start("never", expires="100ms"))
        again(lambda: jobs.start("never", owner="alice"))
        done = again(lambda: jobs.start("looped"))
        again(lambda: jobs.wait(done.id, timeout="20s"))
        again(lambda: asyncio.run(self._wait(done.id)))
        for read in (
            lambda: jobs.get(done.id),
            jobs.list,
            lambda: jobs.attempts(done.id),
            jobs.count,
            jobs.left_over,
        ):
            again(read)
        for letter in ("hello", "precious"):
            again(partial(jobs.start, "writing", text=letter))
        ended = LiveReport(JobId(done.id), 1, 50)  # as a node leaves it that is killed
        again(lambda: self.horae.components.live.publish([ended]))

    async def _wait(self, job_id: int) -> Any:
        try:
            return await self.horae.aio.jobs.wait(job_id, timeout="20s")
        finally:
            await self.horae.components.database.close_async()

    def _ends(self) -> None:
        """Let jobs fail, be cancelled, and run for too long."""
        jobs = self.horae.jobs
        failing = again(lambda: jobs.start("writing", text="unsendable"))
        self._until_ended(failing.id)
        again(lambda: jobs.retry(failing.id), Conflict)
        again(lambda: jobs.cancel(failing.id), JobNotCancellable)
        deaf = again(lambda: jobs.start("deaf"))
        endless = again(lambda: jobs.start("endless"))
        wait_until(lambda: self.ran.begun["endless", endless.id])
        again(lambda: jobs.cancel(endless.id))
        for job_id in again(lambda: jobs.start_many("threaded", [{}], options=None)):
            again(partial(jobs.cancel, job_id), JobNotCancellable)
        for (job_id,) in rows(self.horae, "SELECT id FROM horae_jobs WHERE type = 'endless'"):
            again(partial(jobs.cancel, job_id), JobNotCancellable)
        self._until_ended(deaf.id)
        self.ran.was_failed.set()

    def _schedules(self) -> None:
        schedules, database = self.horae.schedules, self.horae.components.database
        for name in ("one", "two"):
            again(partial(schedules.add, "threaded", name=name, cron="* * * * * *"), Conflict)
        again(lambda: schedules.add("late", cron="* * * * * *", overlap="cancel_other"), Conflict)
        again(lambda: schedules.add("threaded", name="far", cron=FAR), Conflict)
        again(lambda: schedules.run_now("far"), Conflict)
        again(lambda: schedules.alter("far", cron="0 1 1 1 *"))
        to_come = again(lambda: schedules.get("far")).next_start
        again(lambda: schedules.pause("far"))
        again(lambda: schedules.why("far", to_come))
        again(lambda: schedules.resume("far"))
        again(lambda: schedules.why("far", to_come))
        again(
            lambda: (
                schedules.list(),
                schedules.ticks("far"),
                schedules.errors(),
                schedules.get("far"),
            )
        )
        again(
            lambda: (page_of(database, ScheduleFilter()), ring_of(database), first_shares(database))
        )
        wait_until(lambda: again(lambda: schedules.statistics("one")).total_runs >= 1)
        one = again(lambda: schedules.get("one"))
        again(lambda: schedules.preview(cron="0 3 * * *"))
        again(lambda: (schedules.lanes([one.id]), schedules.lanes([])))
        (newest, *_) = again(lambda: schedules.ticks("one"))
        again(lambda: (schedules.why("far"), schedules.why("one", newest.nominal_time)))
        wait_until(
            lambda: rows(
                self.horae, "SELECT 1 FROM horae_jobs WHERE type = 'late' AND state = 'cancelled'"
            )
        )
        for name in ("one", "two", "late"):
            again(partial(schedules.pause, name))
        self.ran.gate.set()
        again(lambda: schedules.delete("far"), NotFound)

    def _operations(self) -> None:
        deployments, database = self.horae.deployments, self.horae.components.database
        again(lambda: self.queues.pause("other"))
        again(self.queues.list)
        again(lambda: self.queues.resume("other"))
        again(lambda: self.queues.pause_everything(note="an incident"))
        again(self.queues.everything_paused)
        again(self.queues.resume_everything)
        again(self.horae.deploy)
        current = again(lambda: deployments.current(self.horae.module))
        assert current is not None
        again(lambda: (deployments.list(), deployments.get(current.key)))
        again(lambda: deployments.scale(current.key, 0))
        again(lambda: deployments.end(current.key))
        audit = ChangeLog(database)
        again(lambda: audit.settle(ChangeRequest("alice", "job.cancel", "1"), "refused"))
        again(audit.page)
        again(lambda: recorded_names(database, "schedule", "one"))
        again(lambda: look(database))
        again(lambda: depths(database, []))
        letters = again(lambda: self.horae.jobs.list(types=["writing"])).jobs
        again(lambda: Hooks(database, self.horae.registry).with_parameters_of_all(letters))
        self.horae.job(max_count=None)(later)

    def _teams(self) -> None:
        """Use groups, limits by key, log lines, changes of many jobs, and changes of schedules at run time."""
        jobs, schedules, limits = self.horae.jobs, self.horae.schedules, self.horae.limits
        group = again(lambda: jobs.start_group([("looped", {}), ("logging", {})], then="summary"))
        again(lambda: jobs.wait_for_group(group.id, timeout="20s"))
        chained = again(lambda: jobs.chain([("looped", {}), ("logging", {})]))
        again(lambda: jobs.wait(chained[-1].id, timeout="20s"))
        stopped = again(lambda: jobs.start_group([("looped", {}, StartOptions(delay="1h"))] * 2))
        again(lambda: jobs.add_to_group(stopped.id, [("looped", {}, StartOptions(delay="1h"))]))
        again(lambda: jobs.cancel_group(stopped.id))
        again(lambda: (limits.set("lines", concurrency=4), limits.reset("lines"), limits.list()))
        again(lambda: self.queues.limit_by_key("limited", Limit(concurrency=2, key="{owner}")))
        again(lambda: self.queues.fair("limited", "owner"))
        taking_turns = again(lambda: jobs.start_many("limited", [{}] * 3, owner="bob"))
        again(lambda: (jobs.waiting_reason(taking_turns[-1]), jobs.weight(taking_turns[-1])))
        again(lambda: jobs.list(query="owner:bob"))
        again(lambda: jobs.list(by_end=True))
        again(lambda: jobs.count_matching("schedule:one"))
        again(lambda: jobs.logs(1, limit=1), NotFound)
        later = [again(lambda: jobs.start("looped", delay="1h")).id for _ in range(2)]
        again(lambda: jobs.why(later[0]))
        again(lambda: jobs.cancel_many(query=f"id:{later[0]}", preview=True))
        for change, state in (
            (partial(jobs.reschedule_many, delay="2h"), "pending"),
            (jobs.cancel_many, "pending"),
            (jobs.retry_many, "cancelled"),
            (jobs.delete_many, "cancelled"),
        ):
            many: Any = again(partial(change, query=f"type:looped state:{state}"))
            again(partial(jobs.wait, many.id, timeout="20s"))
        again(lambda: schedules.put("put", "looped", cron=FAR))
        again(lambda: schedules.skip_next("put"))
        again(lambda: schedules.undo_skip("put"))
        again(lambda: schedules.backfill("put", NEW_YEAR, NEW_YEAR + timedelta(days=1)))
        again(
            lambda: schedules.backfill("put", NEW_YEAR, NEW_YEAR + timedelta(days=1), dry_run=True)
        )
        again(lambda: schedules.undo_backfill("put"))
        again(lambda: schedules.delete("put"), NotFound)

    def _until_over(self) -> None:
        try:
            wait_until(lambda: not rows(self.horae, ACTIVE), within=30)
        except TimeoutError:
            raise AssertionError(f"still active: {rows(self.horae, ACTIVE)}") from None
        wait_until(
            lambda: not again(lambda: self.horae.components.live.reported(JobId(0), 1))
        )  # the node cleans up
        last = again(lambda: self.horae.jobs.start("looped"))
        again(lambda: self.horae.jobs.wait(last.id, timeout="20s"))

    def _deletions(self) -> None:
        jobs = self.horae.jobs
        for job in again(lambda: jobs.list(types=["writing"])).jobs:
            again(partial(jobs.delete, job.id), NotFound, Conflict, PermissionError)
        gone = again(lambda: jobs.list(types=["looped"])).jobs[:2]
        for job in gone:
            execute(self.horae, "UPDATE horae_jobs SET type = 'gone' WHERE id = :id", id=job.id)
        again(lambda: jobs.delete(gone[0].id), NotFound)
        again(lambda: jobs.clean_up("0s", unknown=["gone"]))

    def _last_run(self) -> None:
        """Let the node stop while a run of a schedule is under way."""
        schedules = self.horae.schedules
        self.ran.gate.clear()
        again(lambda: schedules.add("late", name="last", cron=FAR), Conflict)
        again(lambda: schedules.run_now("last"), Conflict)
        wait_until(
            lambda: rows(
                self.horae, "SELECT 1 FROM horae_jobs WHERE type = 'late' AND state = 'started'"
            )
        )
        time.sleep(0.05)

    def _until_ended(self, job_id: int) -> None:
        ended = (JobState.FAILED, JobState.FINISHED, JobState.CANCELLED)
        wait_until(lambda: again(lambda: self.horae.jobs.get(job_id)).state in ended)

    def _problems(self) -> list[str]:
        """Return the rules that are broken, from the tables and from what the bodies have noted."""
        found = [
            f"{name} {job_id} began {times} times"
            for (name, job_id), times in self.ran.begun.items()
            if times > 1
        ]
        with closing(Horae(self.url)) as reader:
            for rule, query in RULES.items():
                found += [f"{rule}: {row}" for row in rows(reader, query)]
            return [*found, *findings(reader.components.database, kept=False)]


RULES: Final = {
    "a job is active after its node has ended": ACTIVE,
    "a node is listed after it has ended": "SELECT id FROM horae_nodes",
    "the effects of a job do not match its end": (
        "SELECT id, state, (SELECT count(*) FROM effects WHERE job = id) FROM horae_jobs WHERE type = 'bound' "
        "AND (SELECT count(*) FROM effects WHERE job = id) <> CASE state WHEN 'finished' THEN 1 ELSE 0 END"
    ),
    "a schedule is executing after everything has ended": (
        "SELECT name, state FROM horae_schedules WHERE state NOT IN ('idle', 'disabled')"
    ),
}


def later() -> None:
    """A job type that is declared while the node runs."""
