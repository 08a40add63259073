"""Deploying a module: what stays, what changes, what ends; and that two versions never both fire."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final

import pytest

from horae import Horae
from horae.errors import (
    DeploymentDoesNotExist,
    InvalidRequest,
    ScheduleAlreadyExists,
    ScheduleDoesNotExist,
    ScheduleIsDeclared,
)
from tests.harness.applications import execute, rows
from tests.schedules.clock import MONDAY
from tests.schedules.conftest import Version
from tests.schedules.driver import ENDED_BADLY, Driver, check_ledger, fires
from tests.storage.arrange import at_once

MINUTE: Final = timedelta(minutes=1)


def names(horae: Horae, *, enabled: bool = True) -> list[str]:
    return [item.name for item in horae.schedules.list(module="shop") if item.enabled is enabled]


def finish(driver: Driver, seconds: float = 1) -> list[int]:
    """Fire what is due of any version, and run it."""
    fired = driver.fire_due()
    claimed = driver.claim(types=("purge", "bill", "mail", "work"))
    driver.clock.advance(seconds=seconds)
    for claim in claimed:
        driver.end(claim)
    return fired


def test_parameters_reach_the_job_and_a_changed_one_is_another_version(
    driver: Driver, version: Version
) -> None:
    regions: list[str] = []
    for region in ("eu", "us"):
        shop = version()

        def report(region: str, days: int = 7) -> None: ...

        shop.cron("* * * * *", params={"region": region})(report)
        assert shop.deploy().changed
        assert not shop.deploy().changed
        driver.until_due("report")
        (job_id,) = driver.fire_due()
        regions.append(shop.jobs.get(job_id).params["region"])
        for claim in driver.claim(types=("report",)):
            driver.end(claim)
    assert regions == ["eu", "us"]


class TestDeploy:
    def test_it_brings_what_is_declared(self, driver: Driver, version: Version) -> None:
        shop = version(purge="0 3 * * *", bill={"every": "10m", "priority": 4, "max_retries": 2})
        result = shop.deploy()
        assert (result.changed, result.deployment.module, result.deployment.min_replicas) == (
            True,
            "shop",
            1,
        )
        assert result.deployment.key.startswith("dpl-shop-")
        assert (result.deployment.schema, result.deployment.ended_at) == (shop.schema, None)
        purge, bill = driver.get("purge"), driver.get("bill")
        assert sorted(result.schedules) == sorted((purge.id, bill.id))
        assert (purge.module, purge.deployment_id) == ("shop", result.deployment.id)
        assert (purge.next_start, bill.next_start) == (MONDAY + timedelta(hours=17), MONDAY)
        assert (bill.priority, bill.rules.max_retries, bill.job_type) == (4, 2, "bill")
        fired = driver.fire_due()
        assert [driver.horae.jobs.get(job_id).deployment_id for job_id in fired] == [
            result.deployment.id
        ]

    def test_the_same_schema_changes_nothing(self, driver: Driver, version: Version) -> None:
        first = version(purge="* * * * *", bill="0 3 * * *").deploy()
        driver.clock.advance(minutes=1)
        driver.fire_due()
        before = [driver.get("purge"), driver.get("bill")]
        for restore in (True, False):
            again = version(bill="0 3 * * *", purge="* * * * *").deploy(restore=restore)
            assert (again.changed, again.deployment) == (False, first.deployment)
        assert [driver.get("purge"), driver.get("bill")] == before
        assert len(driver.horae.deployments.list()) == 1

    def test_an_unchanged_schedule_keeps_everything(self, driver: Driver, version: Version) -> None:
        version(purge="* * * * *", bill={"every": "10m"}).deploy()
        finish(driver)
        driver.until_due("purge")
        (job_id,) = driver.fire_due()
        (claim,) = driver.claim(types=("purge",))
        before = {name: driver.get(name) for name in ("purge", "bill")}
        driver.clock.advance(seconds=7)
        second = version(purge="* * * * *", bill={"every": "10m"}, mail="0 3 * * *").deploy()
        for name, was in before.items():
            now = driver.get(name)
            assert (now.id, now.next_start, now.last_tick) == (
                was.id,
                was.next_start,
                was.last_tick,
            )
            assert (now.state, now.job_id, now.statistics) == (
                was.state,
                was.job_id,
                was.statistics,
            )
            assert now.deployment_id == second.deployment.id
        assert driver.get("purge").job_id == job_id
        driver.end(claim)
        assert driver.get("purge").statistics.total_successes == 1
        check_ledger(driver.entries("purge"), fires("* * * * *", MONDAY, MONDAY + MINUTE))

    def test_the_old_one_is_replaced(self, driver: Driver, version: Version) -> None:
        old = version(purge="* * * * *").deploy().deployment
        driver.clock.advance(seconds=5)
        new = version(purge="0 * * * *").deploy().deployment
        assert [item.key for item in driver.horae.deployments.list()] == [new.key, old.key]
        ended = driver.horae.deployments.get(old.key)
        assert (ended.ended_at, ended.replaced_by) == (driver.clock.now, new.id)

    def test_a_changed_schedule_keeps_itself_but_not_its_times(
        self, driver: Driver, version: Version
    ) -> None:
        version(purge="* * * * *").deploy()
        driver.until_due("purge")
        finish(driver)
        before = driver.get("purge")
        version(purge={"cron": "0 * * * *", "priority": 7, "overlap": "buffer_one"}).deploy()
        after = driver.get("purge")
        assert (after.id, after.statistics) == (before.id, before.statistics)
        assert (after.next_start, after.priority) == (MONDAY + 60 * MINUTE, 7)
        assert after.rules.overlap == "buffer_one"

    def test_a_deployment_at_a_tick_fires_it_once_or_records_why_not(
        self, driver: Driver, version: Version
    ) -> None:
        version(purge="* * * * *").deploy()
        driver.until_due("purge")
        version(purge="* * * * *", bill="0 3 * * *").deploy()
        assert len(finish(driver)) == 1
        driver.until_due("purge")
        version(purge="*/2 * * * *").deploy()
        assert finish(driver) == []
        assert driver.ledger("purge") == [("fired", 1, "on_time"), ("skipped", 1, "altered")]


class TestRemoved:
    def test_they_end_with_the_jobs_that_have_not_started_and_only_those(
        self, driver: Driver, version: Version
    ) -> None:
        @driver.horae.job
        def purge() -> None: ...

        version(purge="* * * * *", bill="* * * * *", mail="* * * * *").deploy()
        by_hand = driver.horae.jobs.start(purge)
        driver.clock.advance(minutes=1)
        driver.fire_due()
        (running,) = driver.claim(types=("bill",))
        version(mail="* * * * *").deploy()
        states = {
            row.type: row.state
            for row in rows(driver.horae, "SELECT * FROM horae_jobs WHERE schedule_id IS NOT NULL")
        }
        assert states == {"purge": "cancelled", "bill": "started", "mail": "pending"}
        assert driver.horae.jobs.get(by_hand.id).state == "pending"
        assert names(driver.horae) == ["mail"]
        for name in ("purge", "bill"):
            gone = driver.get(name)
            assert (gone.enabled, gone.disabled_reason, gone.next_start) == (
                False,
                "deployment gone",
                None,
            )
        assert (driver.get("purge").state, driver.get("bill").state) == ("disabled", "executing")
        driver.end(running)
        assert (driver.get("bill").state, driver.get("bill").statistics.total_successes) == (
            "disabled",
            1,
        )
        driver.clock.advance(hours=1)
        assert len(driver.fire_due()) == 0  # the one of `mail` is still pending
        assert driver.get("purge").statistics.total_runs == 0  # its body never began

    def test_every_job_that_waits_beside_others_is_cancelled(
        self, driver: Driver, version: Version
    ) -> None:
        version(purge={"cron": "* * * * *", "overlap": "allow_all"}).deploy()
        for _ in range(3):
            driver.clock.advance(minutes=1)
            driver.fire_due()
        version().deploy()
        assert [state for _, state in driver.jobs("purge")] == ["cancelled"] * 3
        assert driver.get("purge").statistics.total_crashes == 0

    def test_a_restored_schedule_is_the_same_and_runs_no_missed_times(
        self, driver: Driver, version: Version
    ) -> None:
        version(purge="* * * * *").deploy()
        driver.until_due("purge")
        finish(driver)
        before = driver.get("purge")
        version(bill="0 3 * * *").deploy()
        driver.clock.advance(minutes=10)
        version(purge="* * * * *").deploy()
        after = driver.get("purge")
        assert (after.id, after.enabled, after.statistics) == (before.id, True, before.statistics)
        assert after.next_start == MONDAY + 12 * MINUTE
        assert driver.ledger("purge") == [
            ("fired", 1, "on_time"),
            ("skipped", 10, "deployment_gone"),
        ]

    def test_a_removed_one_can_be_deleted_a_declared_one_cannot(
        self, driver: Driver, version: Version
    ) -> None:
        version(purge="* * * * *").deploy()
        with pytest.raises(ScheduleIsDeclared, match="'purge' is declared by module 'shop'"):
            driver.horae.schedules.delete("purge")
        driver.horae.schedules.pause("purge")
        with pytest.raises(ScheduleIsDeclared):
            driver.horae.schedules.delete("purge")
        version().deploy()
        driver.horae.schedules.delete("purge")
        with pytest.raises(ScheduleDoesNotExist):
            driver.horae.schedules.get("purge")

    def test_a_job_fired_while_the_module_is_deployed_does_not_escape(
        self, driver: Driver, version: Version
    ) -> None:
        for _ in range(5):
            version(purge="* * * * *").deploy()
            schedule_id = driver.get("purge").id
            driver.clock.advance(minutes=2)
            other = version(bill="0 3 * * *")
            calls: list[Callable[[], object]] = [other.deploy, partial(driver.fire, schedule_id)]
            answers = at_once(calls)
            assert [answer for answer in answers if isinstance(answer, Exception)] == []
            assert "pending" not in [state for _, state in driver.jobs("purge")]
            assert driver.get("purge").state == "disabled"
            driver.clock.advance(minutes=1)


class TestPausedByHand:
    def test_a_disabled_schedule_stays_so_after_any_deployment(
        self, driver: Driver, version: Version
    ) -> None:
        version(purge="* * * * *").deploy()
        driver.horae.schedules.pause("purge", "not this week")
        version(purge="*/5 * * * *").deploy()
        after = driver.get("purge")
        assert (after.enabled, after.disabled_reason, after.pause_note) == (
            False,
            "paused",
            "not this week",
        )
        assert driver.horae.schedules.resume("purge").next_start == MONDAY + 5 * MINUTE

    def test_scaling_does_not_enable_a_disabled_schedule(
        self, driver: Driver, version: Version
    ) -> None:
        key = version(purge="* * * * *", bill="* * * * *").deploy().deployment.key
        driver.horae.schedules.pause("purge", "not this week")
        for replicas in (2, 0, 1):
            driver.horae.deployments.scale(key, replicas)
            assert driver.get("purge").pause_note == "not this week"
        assert names(driver.horae) == ["bill"]
        version(purge="* * * * *").deploy(min_replicas=0)
        assert driver.get("purge").disabled_reason == "paused"

    def test_a_schedule_without_retries_left_stays_disabled(
        self, driver: Driver, version: Version
    ) -> None:
        version(purge={"every": "1m", "max_retries": 0}).deploy()
        driver.fire_due()
        (claim,) = driver.claim(types=("purge",))
        driver.end(claim, ENDED_BADLY)
        version(purge={"every": "2m", "max_retries": 0}).deploy()
        assert driver.get("purge").disabled_reason == "retries used up"

    def test_an_exhausted_one_begins_again_when_it_gets_other_times(
        self, driver: Driver, version: Version
    ) -> None:
        version(purge="0 0 12 2 3 * 2026").deploy()
        driver.until_due("purge")
        finish(driver)
        assert driver.get("purge").disabled_reason == "exhausted"
        version(purge="0 0 12 2 3 * 2026", bill="0 3 * * *").deploy()
        assert driver.get("purge").disabled_reason == "exhausted"
        version(purge="0 0 12 2 3 * 2027").deploy()
        assert driver.get("purge").enabled

    def test_an_exhausted_schedule_is_deployed_disabled_and_logged(
        self, driver: Driver, version: Version, caplog: pytest.LogCaptureFixture
    ) -> None:
        """A program whose code names a year goes on when the year is over."""
        version(purge="0 0 12 2 3 * 2020", bill="0 3 * * *").deploy()
        assert (driver.get("purge").disabled_reason, driver.get("bill").enabled) == (
            "exhausted",
            True,
        )
        assert "schedule purge can never fire again" in caplog.text


class TestScale:
    def test_to_none_and_back(self, driver: Driver, version: Version) -> None:
        key = version(purge="* * * * *", bill={"every": "1h"}).deploy().deployment.key
        driver.clock.advance(minutes=1)
        driver.fire_due()
        claimed = driver.claim(types=("purge", "bill"))
        assert driver.horae.deployments.scale(key, 0).min_replicas == 0
        assert names(driver.horae) == []
        for claim in claimed:
            driver.end(claim)
        driver.clock.advance(minutes=10, seconds=30)
        assert driver.fire_due() == []
        assert driver.horae.deployments.scale(key, 3).min_replicas == 3
        assert driver.get("purge").next_start == MONDAY + 12 * MINUTE
        assert driver.ledger("purge") == [
            ("fired", 1, "on_time"),
            ("skipped", 10, "deployment_gone"),
        ]
        assert driver.fire_due() == []  # nothing is made up for
        driver.until_due("purge")
        assert len(driver.fire_due()) == 1

    def test_from_one_to_two_changes_no_schedule(self, driver: Driver, version: Version) -> None:
        key = version(purge="* * * * *", bill={"every": "10m"}).deploy().deployment.key
        finish(driver)
        driver.clock.advance(minutes=3)
        before = [driver.get(name) for name in ("purge", "bill")]
        driver.horae.deployments.scale(key, 2)
        assert [driver.get(name) for name in ("purge", "bill")] == before
        assert len(finish(driver)) == 1

    def test_a_deployment_may_begin_with_none(self, driver: Driver, version: Version) -> None:
        deployed = version(purge="* * * * *").deploy(min_replicas=0)
        assert (deployed.deployment.min_replicas, names(driver.horae)) == (0, [])
        driver.clock.advance(minutes=10)
        assert driver.fire_due() == []
        driver.horae.deployments.scale(deployed.deployment.key, 1)
        assert driver.get("purge").next_start == MONDAY + 11 * MINUTE

    def test_an_invalid_scaling_is_refused(self, driver: Driver, version: Version) -> None:
        old = version(purge="* * * * *").deploy().deployment.key
        version(purge="0 * * * *").deploy()
        with pytest.raises(InvalidRequest, match="has ended"):
            driver.horae.deployments.scale(old, 1)
        with pytest.raises(InvalidRequest, match="min_replicas is -1"):
            driver.horae.deployments.scale(old, -1)
        with pytest.raises(InvalidRequest, match="min_replicas is -1"):
            version().deploy(min_replicas=-1)
        for ask in (driver.horae.deployments.get, driver.horae.deployments.end):
            with pytest.raises(DeploymentDoesNotExist, match="dpl-nothing"):
                ask("dpl-nothing")


class TestEnd:
    def test_it_ends_with_its_schedules(self, driver: Driver, version: Version) -> None:
        shop = version(purge="* * * * *")
        key = shop.deploy().deployment.key
        assert shop.deployments.end(key).ended_at == driver.clock.now
        assert names(driver.horae) == []
        assert shop.deployments.current("shop") is None

    def test_a_node_that_starts_does_not_bring_it_back_a_hand_does(
        self, driver: Driver, version: Version
    ) -> None:
        shop = version(purge="* * * * *")
        first = shop.deploy().deployment
        shop.deployments.end(first.key)
        assert not shop.deploy(restore=False).changed
        assert names(driver.horae) == []
        again = shop.deploy()
        assert (again.changed, again.deployment.key != first.key, names(driver.horae)) == (
            True,
            True,
            ["purge"],
        )


class TestTwoVersions:
    def test_an_old_process_that_starts_again_does_not_bring_its_version_back(
        self, driver: Driver, version: Version
    ) -> None:
        old, new = version(purge="* * * * *"), version(purge="0 * * * *", bill="0 3 * * *")
        old.deploy(restore=False)
        current = new.deploy(restore=False).deployment
        before = driver.get("purge")
        assert not old.deploy(restore=False).changed
        assert driver.get("purge") == before
        assert driver.horae.deployments.current("shop") == current
        back = old.deploy()
        assert back.changed
        assert driver.get("purge").next_start == MONDAY + MINUTE
        assert names(driver.horae) == ["purge"]

    def test_they_never_both_fire(self, driver: Driver, version: Version) -> None:
        """Both versions' nodes fire whatever the database says is due: what that is, is one version's only."""
        old, new = version(purge="* * * * *"), version(purge="* * * * *", bill="*/2 * * * *")
        for number in range(6):
            answers = at_once([old.deploy, new.deploy] if number % 2 else [new.deploy, old.deploy])
            assert [answer for answer in answers if isinstance(answer, Exception)] == []
            assert (
                rows(
                    driver.horae,
                    "SELECT count(*) AS n FROM horae_deployments WHERE ended_at IS NULL",
                )[0].n
                == 1
            )
            current = driver.horae.deployments.current("shop")
            assert current is not None
            living = [item for item in driver.horae.schedules.list(module="shop") if item.enabled]
            assert {item.deployment_id for item in living} == {current.id}
            driver.clock.advance(minutes=1)
            finish(driver)
        entries = driver.entries("purge")
        assert len({entry.nominal_time for entry in entries}) == len(entries)
        check_ledger(entries, fires("* * * * *", MONDAY, entries[-1].until))

    def test_modules_on_one_database_are_apart(self, driver: Driver, version: Version) -> None:
        shop, bank = (
            version(purge="* * * * *"),
            version("bank", purge="0 * * * *", bill="* * * * *"),
        )
        shop.deploy()
        bank.deploy()
        assert {(item.module, item.name) for item in driver.horae.schedules.list()} == {
            ("shop", "purge"),
            ("bank", "purge"),
            ("bank", "bill"),
        }
        version("bank").deploy()
        assert [item.module for item in driver.horae.schedules.list() if item.enabled] == ["shop"]
        driver.clock.advance(minutes=1)
        assert len(driver.fire_due()) == 1

    def test_one_added_at_run_time_belongs_to_no_module(
        self, driver: Driver, version: Version
    ) -> None:
        driver.horae.schedules.add("work", name="purge", every="10m")
        version(purge="* * * * *").deploy()
        version().deploy()
        assert driver.horae.schedules.get("purge").enabled
        with pytest.raises(ScheduleAlreadyExists):
            driver.horae.schedules.add("work", name="purge", every="10m")

    def test_an_unreadable_schedule_is_declared_again(
        self, driver: Driver, version: Version
    ) -> None:
        version(purge="* * * * *", bill="* * * * *").deploy()
        execute(driver.horae, "UPDATE horae_schedules SET rules = '{}' WHERE name = 'purge'")
        version(purge="0 * * * *", bill="0 * * * *").deploy()
        assert [item.next_start for item in driver.horae.schedules.list(module="shop")] == [
            MONDAY + 60 * MINUTE
        ] * 2
