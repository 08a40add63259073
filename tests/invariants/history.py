"""Days in the life of an application, under a clock that a test owns: all kinds of schedules and ends, no faults."""

from contextlib import suppress
from datetime import timedelta
from random import Random
from typing import Final

from horae import Horae
from horae.domain.jobs.job import Claim, Failed, Outcome, Snoozed, StoppedEarly
from horae.errors import ScheduleIsRunning
from horae.storage.jobs import claims
from horae.storage.schedules.plan_writing import JITTER
from tests.schedules.driver import CRASHED, ENDED_BADLY, Driver

OUTCOMES: Final[list[Outcome | None]] = [
    *(None,) * 6, ENDED_BADLY, Failed("late", timed_out=True), CRASHED, Snoozed(90.0, "later"),
    StoppedEarly("the node stopped", again=True), StoppedEarly("the node stopped", again=False),
]  # fmt: skip
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


def live(driver: Driver, seed: int, steps: int = 150) -> None:
    """Let things happen at random for some steps: fires, ends of all kinds, retries, pauses, changes, outages."""
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
            _change(driver, random)
    while running:
        driver.clock.advance(seconds=3)
        driver.end(running.pop())


def _claim(driver: Driver, running: list[Claim], random: Random) -> None:
    claimed = driver.claim()
    handed_back = [claim for claim in claimed if random.random() < 0.05]
    driver.database.transact(claims.hand_back, handed_back)
    running += [claim for claim in claimed if claim not in handed_back]


def _change(driver: Driver, random: Random) -> None:
    name = random.choice(NAMES)
    random.choice([_pause, _resume_all, _resume_all, _run_now, _alter, _cancel_pending])(driver, random, name)


def _pause(driver: Driver, _random: Random, name: str) -> None:
    driver.horae.schedules.pause(name, "a rest")


def _resume_all(driver: Driver, _random: Random, _name: str) -> None:
    for name in NAMES:
        driver.horae.schedules.resume(name)


def _run_now(driver: Driver, _random: Random, name: str) -> None:
    with suppress(ScheduleIsRunning):
        driver.horae.schedules.run_now(name)


def _alter(driver: Driver, random: Random, _name: str) -> None:
    schedules = driver.horae.schedules
    if random.random() < 0.5:
        schedules.alter("late", catch_up=random.choice(["none", "last"]))
    else:
        schedules.alter("quarter", cron=random.choice(["*/15 * * * *", "*/5 * * * *", "3,33 * * * *"]))


def _cancel_pending(driver: Driver, _random: Random, _name: str) -> None:
    for job in driver.horae.jobs.list(states=["pending"], limit=3).jobs:
        driver.horae.jobs.cancel(job.id)
