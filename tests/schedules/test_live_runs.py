"""Runs that go on while something else happens: a change of the overlap, a limit that their node does not keep."""

from datetime import timedelta
from random import Random
from typing import Any, Final

import pytest

from horae.domain.schedules.plan import plan
from horae.domain.schedules.planning_state import RunByHand, ScheduleSnapshot
from horae.domain.schedules.schedule import Overlap, Rules
from horae.domain.schedules.trigger import parse_trigger
from horae.errors import ScheduleIsRunning
from horae.storage.outcomes import crashed_nodes, run_ending
from tests.harness.applications import rows
from tests.harness.nodes import running_node
from tests.harness.waiting import until_stored
from tests.schedules.clock import MONDAY
from tests.schedules.driver import Driver, started
from tests.storage import arrange

MINUTE: Final = timedelta(minutes=1)
EVERY_MINUTE: Final = "* * * * *"
ALLOW_ALL: Final = Overlap.ALLOW_ALL
ONE_AT_A_TIME: Final = [each for each in Overlap if each is not ALLOW_ALL]


def fire_at_the_next_minute(driver: Driver) -> list[int]:
    driver.until_due("work")
    return driver.fire_due()


class TestChangeOfOverlap:
    @pytest.mark.parametrize("overlap", ONE_AT_A_TIME)
    def test_the_only_open_run_keeps_others_from_starting(
        self, driver: Driver, overlap: Overlap
    ) -> None:
        driver.horae.schedules.add("work", cron=EVERY_MINUTE, overlap=ALLOW_ALL)
        (job,) = fire_at_the_next_minute(driver)
        (claim,) = driver.claim()
        changed = driver.horae.schedules.alter("work", overlap=overlap)
        assert (changed.state, changed.job_id, changed.started_at) == (
            "executing",
            job,
            MONDAY + MINUTE,
        )
        driver.clock.advance(minutes=1)
        assert started(driver.fire(changed.id)) == []
        driver.clock.advance(seconds=1)
        driver.end(claim)
        after = driver.get("work")
        assert (after.state, after.job_id) == ("idle", None)
        assert (after.statistics.total_successes, after.statistics.total_crashes) == (1, 0)
        assert after.statistics.total_duration == timedelta(seconds=61)

    def test_it_is_refused_while_several_runs_are_open_and_changes_nothing(
        self, driver: Driver
    ) -> None:
        driver.horae.schedules.add("work", cron=EVERY_MINUTE, overlap=ALLOW_ALL)
        fire_at_the_next_minute(driver)
        (second,) = fire_at_the_next_minute(driver)
        claims = driver.claim()
        before = driver.get("work")
        with pytest.raises(ScheduleIsRunning, match=f"job {second}"):
            driver.horae.schedules.alter("work", overlap=Overlap.SKIP, priority=3)
        assert driver.get("work") == before
        driver.horae.schedules.alter("work", priority=3)  # anything else can be changed
        driver.end(claims[0])
        assert driver.horae.schedules.alter("work", overlap=Overlap.SKIP).job_id == claims[1].id
        driver.end(claims[1])
        assert (driver.get("work").state, driver.get("work").statistics.total_successes) == (
            "idle",
            2,
        )

    def test_without_an_open_run_it_starts(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron=EVERY_MINUTE, overlap=ALLOW_ALL)
        driver.until_due("work")
        driver.run()
        assert driver.horae.schedules.alter("work", overlap=Overlap.SKIP).state == "idle"
        assert len(fire_at_the_next_minute(driver)) == 1

    @pytest.mark.parametrize("overlap", ONE_AT_A_TIME)
    def test_the_run_of_before_is_one_among_others(self, driver: Driver, overlap: Overlap) -> None:
        driver.horae.schedules.add("work", cron=EVERY_MINUTE, overlap=overlap)
        fire_at_the_next_minute(driver)
        driver.clock.advance(seconds=30)
        changed = driver.horae.schedules.alter("work", overlap=ALLOW_ALL)
        assert (changed.state, changed.job_id, changed.started_at) == ("idle", None, None)
        fire_at_the_next_minute(driver)
        claims = driver.claim()
        assert len(claims) == 2
        driver.clock.advance(seconds=30)
        for claim in claims:
            driver.end(claim)
        statistics = driver.get("work").statistics
        assert (statistics.total_runs, statistics.total_successes, statistics.total_crashes) == (
            2,
            2,
            0,
        )
        assert statistics.total_duration == timedelta(
            seconds=30 + 30
        )  # from where their bodies began

    def test_one_that_is_paused_meanwhile_stays_so(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron=EVERY_MINUTE)
        fire_at_the_next_minute(driver)
        driver.horae.schedules.pause("work", "for a while")
        changed = driver.horae.schedules.alter("work", overlap=ALLOW_ALL)
        assert (changed.state, changed.enabled, changed.pause_note) == (
            "disabled",
            False,
            "for a while",
        )
        back = driver.horae.schedules.alter("work", overlap=Overlap.SKIP)
        assert (back.state, back.enabled, back.job_id is None) == ("executing", False, False)


class TestByHand:
    @pytest.mark.parametrize("options", [{"cron": EVERY_MINUTE}, {"every": "1m", "fixed": True}])
    @pytest.mark.parametrize("moment", [MONDAY, MONDAY + MINUTE])
    def test_two_within_one_microsecond_have_times_of_their_own(
        self, driver: Driver, options: dict[str, Any], moment: Any
    ) -> None:
        """Also at a nominal time, which is neither's."""
        driver.horae.schedules.add("work", overlap=ALLOW_ALL, **options)
        driver.clock.set(moment)
        made = [driver.horae.schedules.run_now("work") for _ in range(4)]
        assert len(set(made)) == 4
        entries = [entry for entry in driver.entries("work") if entry.reason == "manual"]
        assert [entry.job_id for entry in entries] == made
        assert max(entry.nominal_time for entry in entries) - moment < timedelta(milliseconds=1)

    def test_one_after_the_other_in_a_moment(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1h")
        for _ in range(3):
            driver.horae.schedules.run_now("work")
            for claim in driver.claim():
                driver.end(claim)
        assert len({entry.nominal_time for entry in driver.entries("work")}) == 3

    @pytest.mark.parametrize(
        ("behind", "later"), [(0, 1), (1, 2), (999_999, 1_000_000), (1_000_000, 0), (-1, 0)]
    )
    def test_a_clock_that_stepped_back_far_is_not_followed(self, behind: int, later: int) -> None:
        rules = Rules(key="work", trigger=parse_trigger("cron", EVERY_MINUTE), overlap=ALLOW_ALL)
        now = MONDAY + timedelta(seconds=30)
        by_hand = RunByHand(decided=now + timedelta(microseconds=behind))
        made = plan(ScheduleSnapshot(rules=rules, last_tick=MONDAY), by_hand, now, Random(1))
        assert made.fire == now + timedelta(microseconds=later)


class TestLimitOfTheSchedule:
    def begun(self, driver: Driver, **options: Any) -> Any:
        driver.horae.schedules.add("work", cron="0 * * * *", **options)
        driver.until_due("work")
        driver.fire_due()
        (claim,) = driver.claim()
        return claim

    def test_any_node_fails_a_run_past_it(self, driver: Driver) -> None:
        claim = self.begun(driver, max_runtime="2m")
        driver.clock.advance(minutes=2, seconds=4)
        assert arrange.expired_runs(driver.database, {"work": 5.0, "other": 0.0}) == []
        driver.clock.advance(seconds=2)
        (expired,) = arrange.expired_runs(driver.database, {"work": 5.0})
        assert (expired.id, expired.state) == (claim.id, "failed")
        assert driver.get("work").state == "terminating"  # until the body has stopped
        driver.end(claim)
        assert (driver.get("work").state, driver.get("work").statistics.total_failures) == (
            "idle",
            1,
        )

    def test_it_counts_instead_of_the_limit_of_the_type(self, driver: Driver) -> None:
        self.begun(driver, max_runtime="2h")
        driver.clock.advance(minutes=90)
        assert arrange.expired(driver.database, {"work": 1800.0}) == []

    def test_without_one_the_type_says(self, driver: Driver) -> None:
        self.begun(driver)
        driver.clock.advance(days=1)
        assert arrange.expired_runs(driver.database, {"work": 5.0}) == []
        assert len(arrange.expired(driver.database, {"work": 1800.0})) == 1

    async def test_another_node_ends_what_its_own_cannot(
        self, driver: Driver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Its node lives, but does nothing."""
        self.begun(driver, max_runtime="2m")
        driver.clock.advance(hours=1)
        monkeypatch.setattr(crashed_nodes, "abandoned_jobs", lambda *_: [])
        async with running_node(driver.horae, scheduler=False, worker=False):
            await until_stored(driver.horae, lambda: driver.jobs("work")[0][1] == "failed")
        assert rows(driver.horae, "SELECT error FROM horae_jobs")[0].error.startswith(
            "hard time limit of the schedule"
        )
        assert driver.database.transact(run_ending.end_unreported, 10) == []  # it has not stopped
