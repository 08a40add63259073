"""Days in the life of an application, under a clock that a test owns: all kinds of schedules and ends, no faults."""

from contextlib import suppress
from datetime import timedelta
from itertools import zip_longest
from random import Random
from typing import Final

from horae import Horae, Limit
from horae.domain.jobs import Claim, Failed, Outcome, Snoozed, StoppedEarly
from horae.errors import InvalidRequest, JobNotRetryable, ScheduleIsRunning
from horae.storage.jobs import ClaimScope, claims
from horae.storage.jobs.limits import filing, lane_claims
from horae.storage.nodes import NodeView
from horae.storage.schedules import JITTER
from tests.schedules.clock import MONDAY
from tests.schedules.driver import CRASHED, ENDED_BADLY, HERE, Driver

OUTCOMES: Final[list[Outcome | None]] = [
    *(None,) * 6,
    ENDED_BADLY,
    Failed("late", timed_out=True),
    CRASHED,
    Snoozed(90.0, "later"),
    StoppedEarly("the node stopped", again=True),
    StoppedEarly("the node stopped", again=False),
]
NAMES: Final = ("quarter", "late", "all", "buffered", "every", "grid", "cancels", "free", "nightly")


def declare(horae: Horae) -> None:
    """Add schedules with each policy."""

    @horae.job(max_count=None, max_attempts=3)
    def wide() -> None: ...

    add = horae.schedules.add
    add("work", name="quarter", cron="*/15 * * * *")
    add("work", name="late", cron="5 * * * *", catch_up="none", max_retries=50)
    add("work", name="all", cron="*/20 * * * *", catch_up="all", catch_up_limit=5)
    add("work", name="buffered", cron="*/10 * * * *", overlap="buffer_one", retry_period="7m")
    add("work", name="every", every="25m", retry_period="2m")
    add("work", name="grid", every="30m", fixed=True, overlap="buffer_all", jitter="3m")
    add("work", name="cancels", cron="*/30 * * * *", overlap="cancel_other")
    add("wide", name="free", cron="*/12 * * * *", overlap="allow_all")
    add("wide", name="nightly", cron="30 2 * * *", timezone="Europe/Berlin")


def live(driver: Driver, seed: int, steps: int = 150, *, alters: bool = True) -> None:
    """Let things happen at random for some steps: fires, ends of all kinds, retries, pauses, changes, outages.

    With `alters` the rules of schedules are changed now and then, and the audit does not know earlier ones.
    """
    random = Random(seed)
    JITTER.seed(seed)  # so that delays before retries are the same in each run
    running: list[Claim] = []
    for _ in range(steps):
        driver.clock.advance(seconds=random.choice([7, 61, 300, 601, 601, 1800]) + random.random())
        if random.random() < 0.03:
            driver.clock.advance(hours=random.choice([3, 20]))
        for claim in running[:]:
            if random.random() < 0.7:
                running.remove(claim)
                driver.end(claim, random.choice(OUTCOMES), age=timedelta(hours=1))
        driver.fire_due()
        driver.clock.advance(seconds=random.random())
        _claim(driver, running, random)
        if random.random() < 0.15:
            _change(driver, random, alters=alters)
    while running:
        driver.clock.advance(seconds=3)
        driver.end(running.pop())


def _claim(driver: Driver, running: list[Claim], random: Random) -> None:
    claimed = driver.claim()
    handed_back = [claim for claim in claimed if random.random() < 0.05]
    driver.database.transact(claims.hand_back, HERE, handed_back)
    running += [claim for claim in claimed if claim not in handed_back]


def _change(driver: Driver, random: Random, *, alters: bool) -> None:
    name = random.choice(NAMES)
    change = random.choice(
        [
            _pause,
            _resume_all,
            _resume_all,
            _run_now,
            _alter if alters else _pause,
            _cancel_pending,
            _retry,
            _retry,
            _make_up,
        ]
    )
    change(driver, random, name)


def _pause(driver: Driver, _random: Random, name: str) -> None:
    driver.horae.schedules.pause(name, "a rest")


def _resume_all(driver: Driver, _random: Random, _name: str) -> None:
    for name in NAMES:
        driver.horae.schedules.resume(name)


def _run_now(driver: Driver, _random: Random, name: str) -> None:
    with suppress(ScheduleIsRunning):
        driver.horae.schedules.run_now(name)


def _retry(driver: Driver, random: Random, _name: str) -> None:
    ended = driver.horae.jobs.list(states=["failed", "cancelled"], limit=20).jobs
    with suppress(ScheduleIsRunning, JobNotRetryable):
        driver.horae.jobs.retry(random.choice(ended).id)


def _make_up(driver: Driver, _random: Random, _name: str) -> None:
    now = driver.clock.now
    with suppress(InvalidRequest):  # it is paused
        driver.horae.schedules.backfill("late", now - timedelta(hours=6), now, failed=True)


def _alter(driver: Driver, random: Random, _name: str) -> None:
    schedules = driver.horae.schedules
    if random.random() < 0.5:
        schedules.alter("late", catch_up=random.choice(["none", "last"]))
    else:
        schedules.alter(
            "quarter", cron=random.choice(["*/15 * * * *", "*/5 * * * *", "3,33 * * * *"])
        )


def _cancel_pending(driver: Driver, _random: Random, _name: str) -> None:
    for job in driver.horae.jobs.list(states=["pending"], limit=3).jobs:
        driver.horae.jobs.cancel(job.id)


def work(driver: Driver) -> None:
    """Run jobs without schedules: retried ones, groups, jobs after others, under limits, with tags; some stay open."""
    horae = driver.horae

    @horae.job(max_attempts=3)
    def task() -> None: ...

    @horae.job
    def last() -> None: ...

    @horae.job(limits=[Limit(rate="60/m", burst=5, key="{account}", name="partner")])
    def call(account: str) -> None: ...

    _attempts(driver)
    _groups(driver)
    for account in ("a", "a", "b"):
        horae.jobs.start("call", account=account)
    driver.clock.advance(seconds=1)
    _run_limited(driver)
    horae.jobs.start("call", account="a")
    driver.database.transact(filing.file)
    horae.jobs.start("task", tags=["north"])
    _run(driver, ENDED_BADLY)
    horae.jobs.start("task")
    _claim_tasks(driver)


def _attempts(driver: Driver) -> None:
    """Let jobs end after attempts of all kinds; retry one, hand one back, and cancel others before and between them."""
    start, cancel = driver.horae.jobs.start, driver.horae.jobs.cancel
    histories: list[list[Outcome | None]] = [
        [ENDED_BADLY, CRASHED, None],
        [ENDED_BADLY] * 3,
        [Snoozed(1.0, "later"), None],
        [None],
        [None],
    ]
    for outcomes in histories:
        start("task", tags=["north", "south"])
        for outcome in outcomes:
            _run(driver, outcome)
    [failed] = driver.horae.jobs.list(states=["failed"], types=["task"]).jobs
    driver.horae.jobs.retry(failed.id)
    _run(driver)
    start("task")
    driver.database.transact(claims.hand_back, HERE, _claim_tasks(driver))
    _run(driver)
    cancel(start("task").id)
    again = start("task")
    _run(driver, ENDED_BADLY)
    driver.clock.advance(hours=1)
    cancel(again.id)


def _groups(driver: Driver) -> None:
    """Let one group end and one be cancelled; leave another one open, and jobs that wait for a job."""
    horae, bad = driver.horae, Failed("ValueError: no", final=True)
    horae.jobs.start_group(["task"] * 4, then="last")
    _run(driver, None, bad, None, None)
    _run(driver)
    horae.jobs.start_group(["task"] * 2, then="last", on_failure="cancel")
    _run(driver, bad, bad)
    for _ in range(2):
        horae.jobs.start("task", after=[horae.jobs.start("task").id])
        _run(driver)
        _run(driver)
    horae.jobs.start_group(["task"] * 3, then="last")
    _run(driver, None, most=1)
    for member in horae.jobs.list(states=["pending"], types=["task"]).jobs:
        if member.waits_for is None:
            horae.jobs.reschedule(member.id, delay="90d")
    waited = horae.jobs.start("task", delay="90d")
    horae.jobs.start("task", after=[waited.id])


def _claim_tasks(driver: Driver, most: int = 100) -> list[Claim]:
    return driver.database.autocommit(
        claims.claim, ClaimScope(node=HERE, types=["task", "last"]), most
    )


def _run(driver: Driver, *outcomes: Outcome | None, most: int = 100) -> None:
    """Claim the due jobs of the types `task` and `last`, and end them after a while."""
    driver.clock.advance(hours=1)
    claimed = _claim_tasks(driver, most)
    driver.clock.advance(seconds=2)
    for claim, outcome in zip_longest(claimed, outcomes or [None] * len(claimed)):
        driver.end(claim, outcome)


def _run_limited(driver: Driver) -> None:
    driver.database.transact(filing.file)
    found = driver.database.transact(
        lane_claims.claim, ClaimScope(node=HERE, types=["call"]), 100, 100
    )
    driver.clock.advance(seconds=2)
    for claim in found.claims:
        driver.end(claim)


def node() -> NodeView:
    """The node that runs jobs here; it has no free slots, so that nothing waits in vain."""
    return NodeView(
        id=HERE,
        name="here",
        host="here",
        pid=1,
        version="1",
        concurrency=0,
        lock_key=None,
        started_at=MONDAY,
        heartbeat_at=MONDAY,
        process_ended=False,
        silence=0.0,
        lock_free=None,
        running=0,
        roles=["worker"],
        queues=None,
        types=[],
    )
