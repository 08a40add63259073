"""What callers do with schedules, on a clock of the test."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from horae import Horae, JobContext, JobType
from horae.client.schedules.schedules import Schedules
from horae.domain.schedules.schedule import Overlap
from horae.errors import (
    CronSyntaxError,
    HoraeError,
    InvalidInterval,
    InvalidParameters,
    InvalidRequest,
    ScheduleAlreadyExists,
    ScheduleDoesNotExist,
    ScheduleIsRunning,
    UnknownJobType,
)
from tests.harness.applications import application, execute
from tests.schedules.clock import MONDAY
from tests.schedules.driver import ENDED_BADLY, Driver
from tests.storage.arrange import at_once

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


class TestAdd:
    def test_a_cron_schedule_waits_for_its_next_fire(self, driver: Driver) -> None:
        added = driver.horae.schedules.add(
            "work", name="nightly", cron="0 3 * * *", timezone="Europe/Berlin"
        )
        assert (added.state, added.enabled, added.disabled_reason) == ("idle", True, None)
        assert added.next_start == datetime(2026, 3, 3, 2, tzinfo=UTC)
        assert (added.name, added.module, added.job_type, added.config) == (
            "nightly",
            "",
            "work",
            None,
        )
        assert driver.get("nightly") == added

    def test_an_interval_begins_at_once_or_at_its_initial_start(self, driver: Driver) -> None:
        assert driver.horae.schedules.add("work", name="now", every="10m").next_start == MONDAY
        later = driver.horae.schedules.add(
            "work", name="later", every="10m", initial_start=MONDAY + HOUR
        )
        assert later.next_start == MONDAY + HOUR
        fixed = driver.horae.schedules.add("work", name="fixed", every="2h", fixed=True)
        assert fixed.next_start == MONDAY + 2 * HOUR

    def test_it_is_known_by_its_type_unless_it_is_named(self, driver: Driver) -> None:
        assert driver.horae.schedules.add("work", every="10m").name == "work"

    def test_a_name_is_given_once(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m")
        with pytest.raises(ScheduleAlreadyExists, match="'work' already exists"):
            driver.horae.schedules.add("work", cron="0 3 * * *")
        assert len(driver.horae.schedules.list()) == 1

    def test_one_of_two_concurrent_adds_is_refused(self, driver: Driver) -> None:
        answers = at_once([lambda: driver.horae.schedules.add("work", every="10m")] * 4)
        refused = [answer for answer in answers if isinstance(answer, Exception)]
        assert [type(answer) for answer in refused] == [ScheduleAlreadyExists] * 3

    def test_it_can_be_added_to_be_enabled_later(self, driver: Driver) -> None:
        added = driver.horae.schedules.add("work", every="10m", enabled=False)
        assert (added.state, added.enabled, added.disabled_reason, added.next_start) == (
            "disabled",
            False,
            "paused",
            None,
        )
        driver.clock.advance(hours=1)
        assert driver.fire_due() == []
        assert driver.horae.schedules.resume("work").next_start == driver.clock.now

    def test_its_jobs_queue_as_their_type_says_or_as_it_says(self, driver: Driver) -> None:
        @driver.horae.job(queue="slow", priority=3)
        def other() -> None: ...

        plain = driver.horae.schedules.add(other, every="10m")
        own = driver.horae.schedules.add(other, name="own", every="10m", queue="fast", priority=-7)
        assert ((plain.queue, plain.priority), (own.queue, own.priority)) == (
            ("slow", 3),
            ("fast", -7),
        )
        assert len(driver.fire_due()) == 2
        assert [claim.queue for claim in driver.claim()] == ["slow", "fast"]

    def test_every_rule_is_kept(self, driver: Driver) -> None:
        added = driver.horae.schedules.add(
            "work",
            cron="0 3 * * *",
            timezone="Europe/Berlin",
            dst_gap="skip",
            dst_fold="both",
            overlap="buffer_all",
            catch_up="all",
            catch_up_limit=7,
            catch_up_window="1 day",
            jitter="90s",
            max_runtime=timedelta(minutes=5),
            max_retries=2,
            retry_period="30s",
            backoff="linear",
        )
        rules = driver.get("work").rules
        assert rules == added.rules
        assert (rules.overlap, rules.catch_up, rules.catch_up_limit) == ("buffer_all", "all", 7)
        assert (rules.catch_up_window, rules.jitter, rules.max_runtime) == (
            24 * HOUR,
            1.5 * MINUTE,
            5 * MINUTE,
        )
        assert (rules.max_retries, str(rules.retry_period), rules.backoff) == (2, "30s", "linear")
        assert rules.trigger.text == "0 3 * * *; dst_gap=skip; dst_fold=both"


class TestNextStart:
    """The first start of an interval that counts from the finish, given by hand."""

    def test_it_is_given_when_the_schedule_is_added(self, driver: Driver) -> None:
        first = driver.clock.now + 3 * HOUR
        added = driver.horae.schedules.add("work", every="10m", next_start=first)
        assert (added.next_start, driver.get("work").next_start) == (first, first)
        assert driver.fire_due() == []
        driver.clock.advance(hours=3)
        assert len(driver.run(seconds=60)) == 1
        assert driver.get("work").next_start == first + MINUTE + 10 * MINUTE

    def test_it_is_set_later_and_a_past_one_means_at_once(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="1 day")
        driver.run()
        later = driver.clock.now + 5 * HOUR
        assert driver.horae.schedules.alter("work", next_start=later).next_start == later
        assert (
            driver.horae.schedules.alter("work", every="2 days", next_start=later).next_start
            == later
        )
        altered = driver.horae.schedules.alter("work", next_start=driver.clock.now - HOUR)
        assert altered.next_start == driver.clock.now
        assert len(driver.fire_due()) == 1

    def test_not_while_a_run_goes_on_whose_end_sets_it(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m")
        driver.fire_due()
        before = driver.get("work")
        with pytest.raises(ScheduleIsRunning, match="work"):
            driver.horae.schedules.alter("work", priority=4, next_start=driver.clock.now)
        assert driver.get("work") == before

    def test_not_for_a_schedule_that_is_disabled(self, driver: Driver) -> None:
        with pytest.raises(InvalidRequest, match="paused"):
            driver.horae.schedules.add(
                "work", every="10m", enabled=False, next_start=driver.clock.now
            )
        assert driver.horae.schedules.list() == []


class TestYearsThatAreOver:
    def test_an_expression_without_a_further_time_is_not_added(self, driver: Driver) -> None:
        with pytest.raises(CronSyntaxError, match="it can never fire again"):
            driver.horae.schedules.add("work", cron="* * * * * * 2020")
        with pytest.raises(CronSyntaxError, match="2020"):
            driver.horae.schedules.add("work", cron="* * * * * * 2020", enabled=False)
        assert driver.horae.schedules.list() == []

    @pytest.mark.one_database
    def test_a_schedule_cannot_be_altered_to_one_either(self, driver: Driver) -> None:
        before = driver.horae.schedules.add("work", every="1 day")
        with pytest.raises(CronSyntaxError, match="2020"):
            driver.horae.schedules.alter("work", cron="* * * * * * 2020")
        assert driver.get("work") == before

    def test_an_exhausted_schedule_can_be_altered(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="0 0 12 31 12 * 2026")
        driver.until_due("work")
        driver.run()
        assert driver.horae.schedules.alter("work", priority=3).priority == 3


class TestConfig:
    def test_it_is_checked_by_the_model_of_the_type_and_goes_to_every_job(
        self, driver: Driver
    ) -> None:
        @driver.horae.job
        def mail(to: str, copies: int = 1) -> None: ...

        with pytest.raises(InvalidParameters, match="copies"):
            driver.horae.schedules.add(mail, every="10m", config={"to": "ada", "copies": "many"})
        with pytest.raises(InvalidParameters, match="to"):
            driver.horae.schedules.add(mail, every="10m")
        assert driver.horae.schedules.list() == []
        added = driver.horae.schedules.add(mail, every="10m", config={"to": "ada", "copies": "2"})
        assert added.config == {"to": "ada", "copies": "2"}
        (job_id,) = driver.fire_due()
        assert driver.horae.jobs.get(job_id).params == {"to": "ada", "copies": "2"}

    @pytest.mark.one_database
    def test_a_type_may_refuse_parameters_that_its_model_accepts(self, driver: Driver) -> None:
        @driver.horae.register
        class Prune(JobType[Any]):
            type = "prune"

            @override
            def run(self, job: JobContext[Any]) -> None: ...

            @override
            def check_schedule(self, values: Mapping[str, Any]) -> None:
                raise InvalidRequest(f"not with {dict(values)}")

        with pytest.raises(InvalidRequest, match=r"not with \{\}"):
            driver.horae.schedules.add("prune", every="10m")
        assert driver.horae.schedules.list() == []

    def test_alter_checks_it_too_and_keeps_it_to_the_letter_if_it_is_not_named(
        self, driver: Driver
    ) -> None:
        @driver.horae.job
        def send(payload: bytes, count: int = 1) -> None: ...

        before = driver.horae.schedules.add(send, every="10m", config={"payload": b"\x00\xff"})
        assert driver.horae.schedules.alter("send", priority=4).config == before.config
        with pytest.raises(InvalidParameters, match="count"):
            driver.horae.schedules.alter("send", config={"payload": b"", "count": "x"})
        assert driver.get("send").config == before.config
        assert (
            driver.horae.schedules.alter("send", config={"payload": b"a", "count": 2}).config[
                "count"
            ]
            == 2
        )

    @pytest.mark.one_database
    def test_a_value_that_cannot_be_stored_is_refused(self, driver: Driver) -> None:
        @driver.horae.job
        def text(word: str) -> None: ...

        with pytest.raises(InvalidParameters, match="NUL"):
            driver.horae.schedules.add(text, every="10m", config={"word": "a\x00b"})


class TestAlter:
    def test_only_what_is_named_changes(self, driver: Driver) -> None:
        before = driver.horae.schedules.add(
            "work",
            cron="0 3 * * *",
            timezone="Europe/Berlin",
            dst_gap="skip",
            queue="slow",
            priority=2,
            overlap="buffer_one",
            max_retries=3,
            retry_period="1m",
            jitter="5m",
        )
        after = driver.horae.schedules.alter("work", priority=9)
        assert (after.rules, after.queue, after.priority) == (before.rules, "slow", 9)
        assert (after.next_start, after.last_tick, after.id) == (
            before.next_start,
            before.last_tick,
            before.id,
        )
        after = driver.horae.schedules.alter("work", cron="0 4 * * *")
        assert (after.rules.overlap, after.rules.max_retries, after.priority) == (
            Overlap.BUFFER_ONE,
            3,
            9,
        )
        assert after.rules.trigger.text == "0 4 * * *; dst_gap=skip"
        assert after.rules.trigger.timezone == "Europe/Berlin"

    def test_an_alteration_without_effect_keeps_the_next_start(self, driver: Driver) -> None:
        before = driver.horae.schedules.add("work", every="10m")
        driver.run()
        before = driver.get("work")
        driver.clock.advance(minutes=3)
        assert driver.horae.schedules.alter("work").next_start == before.next_start
        assert (
            driver.horae.schedules.alter("work", every="10m", overlap="skip").next_start
            == before.next_start
        )
        assert driver.horae.schedules.alter("work", max_retries=7).next_start == before.next_start

    def test_a_new_interval_before_the_first_run_keeps_the_planned_start(
        self, driver: Driver
    ) -> None:
        planned = MONDAY + HOUR
        driver.horae.schedules.add("work", every="10m", initial_start=planned)
        driver.clock.advance(minutes=3)
        assert driver.horae.schedules.alter("work", every="30m").next_start == planned

    def test_a_new_interval_counts_from_the_last_finish(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m")
        driver.run(seconds=5)
        finish = driver.clock.now
        driver.clock.advance(minutes=3)
        assert driver.horae.schedules.alter("work", every="30m").next_start == finish + 30 * MINUTE
        assert driver.horae.schedules.alter("work", every="1m").next_start == driver.clock.now

    def test_another_kind_of_trigger_takes_over_the_zone(self, driver: Driver) -> None:
        driver.horae.schedules.add(
            "work", cron="0 3 * * *", timezone="Europe/Berlin", dst_gap="skip"
        )
        after = driver.horae.schedules.alter("work", every="1 day", fixed=True)
        assert (after.rules.trigger.kind, after.rules.trigger.timezone) == (
            "interval",
            "Europe/Berlin",
        )
        assert after.next_start == datetime(2026, 3, 2, 23, tzinfo=UTC)

    def test_two_changes_at_once_both_hold(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m")
        for number in range(1, 11):
            answers = at_once(
                [
                    lambda: driver.horae.schedules.alter("work", priority=number),  # noqa: B023 - called in this round
                    lambda: driver.horae.schedules.alter("work", max_retries=number),  # noqa: B023
                    lambda: driver.horae.schedules.alter("work", queue=f"queue-{number}"),  # noqa: B023
                ]
            )
            assert [answer for answer in answers if isinstance(answer, Exception)] == []
            after = driver.get("work")
            assert (after.priority, after.rules.max_retries, after.queue) == (
                number,
                number,
                f"queue-{number}",
            )

    def test_a_change_during_a_run_counts_for_the_next_start(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m")
        driver.fire_due()
        (claim,) = driver.claim()
        assert driver.horae.schedules.alter("work", every="1h").state == "executing"
        driver.clock.advance(seconds=1)
        driver.end(claim)
        assert driver.get("work").next_start == driver.clock.now + HOUR

    def test_past_times_are_not_decided_by_the_new_rules(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        driver.clock.advance(minutes=5, seconds=1)
        after = driver.horae.schedules.alter("work", cron="0 * * * *")
        assert after.next_start == MONDAY + HOUR
        assert driver.ledger("work") == [("skipped", 5, "altered")]


class TestPauseAndResume:
    def test_a_paused_schedule_starts_nothing_and_records_the_reason(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        paused = driver.horae.schedules.pause("work", "the printer is out")
        assert (paused.state, paused.enabled, paused.next_start) == ("disabled", False, None)
        assert (paused.disabled_reason, paused.pause_note) == ("paused", "the printer is out")
        driver.clock.advance(hours=1)
        assert driver.fire_due() == []
        assert driver.fire(paused.id)[0].fired is None

    def test_to_pause_is_not_to_cancel(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        driver.until_due("work")
        (job_id,) = driver.fire_due()
        (claim,) = driver.claim()
        paused = driver.horae.schedules.pause("work")
        assert (paused.state, paused.job_id, paused.enabled) == ("executing", job_id, False)
        driver.clock.advance(seconds=1)
        driver.end(claim)
        after = driver.get("work")
        assert (after.state, after.enabled, after.next_start) == ("disabled", False, None)
        assert after.statistics.total_successes == 1

    def test_a_resume_starts_afresh_and_runs_no_missed_times(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *", catch_up="all", max_retries=1)
        driver.until_due("work")
        driver.run(ENDED_BADLY)
        driver.horae.schedules.pause("work", "for a while")
        driver.clock.advance(minutes=10)
        resumed = driver.horae.schedules.resume("work")
        assert (resumed.state, resumed.enabled, resumed.pause_note) == ("idle", True, None)
        assert resumed.next_start is not None
        assert timedelta(0) < resumed.next_start - driver.clock.now <= MINUTE
        assert (resumed.statistics.consecutive_failures, resumed.statistics.total_failures) == (
            0,
            1,
        )
        assert driver.fire_due() == []
        assert driver.ledger("work") == [("fired", 1, "on_time"), ("skipped", 10, "paused")]

    def test_a_resume_restores_the_retries(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m", max_retries=0)
        driver.run(ENDED_BADLY)
        assert driver.get("work").disabled_reason == "retries used up"
        resumed = driver.horae.schedules.resume("work")
        assert (resumed.enabled, resumed.statistics.streak()) == (True, 0)

    def test_resume_while_the_last_run_goes_on(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m")
        driver.fire_due()
        (claim,) = driver.claim()
        driver.horae.schedules.pause("work")
        assert driver.horae.schedules.resume("work").state == "executing"
        driver.clock.advance(seconds=1)
        driver.end(claim)
        after = driver.get("work")
        assert (after.state, after.next_start) == ("idle", driver.clock.now + 10 * MINUTE)


class TestRunNow:
    def test_it_is_a_run_like_any_other(self, driver: Driver) -> None:
        before = driver.horae.schedules.add("work", cron="0 * * * *")
        job_id = driver.horae.schedules.run_now("work")
        running = driver.get("work")
        assert (running.state, running.job_id) == ("executing", job_id)
        assert (
            running.statistics.total_runs,
            running.statistics.total_crashes,
            running.open_runs,
        ) == (0, 0, 1)
        (claim,) = driver.claim()
        assert claim.id == job_id
        driver.clock.advance(seconds=3)
        driver.end(claim)
        after = driver.get("work")
        assert (after.next_start, after.last_tick) == (before.next_start, before.last_tick)
        assert (after.statistics.total_successes, after.statistics.total_duration) == (
            1,
            timedelta(seconds=3),
        )
        (entry,) = driver.entries("work")
        assert (entry.decision, entry.reason, entry.job_id) == ("fired", "manual", job_id)

    def test_it_is_refused_while_another_run_goes_on(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="0 * * * *")
        job_id = driver.horae.schedules.run_now("work")
        with pytest.raises(ScheduleIsRunning, match=f"running as job {job_id}"):
            driver.horae.schedules.run_now("work")
        assert driver.get("work").open_runs == 1

    def test_runs_may_go_on_beside_each_other_where_the_policy_says_so(
        self, driver: Driver
    ) -> None:
        driver.horae.schedules.add("work", cron="0 * * * *", overlap="allow_all")
        first = driver.horae.schedules.run_now("work")
        driver.clock.advance(seconds=1)
        assert driver.horae.schedules.run_now("work") != first
        assert driver.ledger("work") == [("fired", 1, "manual")] * 2

    def test_a_paused_schedule_can_be_run_and_stays_paused(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m", enabled=False)
        driver.horae.schedules.run_now("work")
        (claim,) = driver.claim()
        driver.clock.advance(seconds=1)
        driver.end(claim)
        after = driver.get("work")
        assert (after.state, after.disabled_reason, after.next_start) == (
            "disabled",
            "paused",
            None,
        )

    def test_a_run_by_hand_does_not_replace_a_nominal_time(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *", overlap="allow_all")
        driver.until_due("work")
        driver.horae.schedules.run_now("work")
        assert len(driver.fire_due()) == 1
        assert sorted(entry.reason for entry in driver.entries("work")) == ["manual", "on_time"]


class TestDelete:
    def test_it_goes_with_its_ledger(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        driver.until_due("work")
        driver.run()
        driver.horae.schedules.delete("work")
        assert driver.horae.schedules.list() == []
        with pytest.raises(ScheduleDoesNotExist, match="'work'"):
            driver.horae.schedules.ticks("work")
        added = driver.horae.schedules.add("work", cron="* * * * *")
        assert added.statistics.total_runs == 0

    def test_its_running_job_goes_on_to_its_end(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", every="10m")
        (job_id,) = driver.fire_due()
        (claim,) = driver.claim()
        driver.horae.schedules.delete("work")
        driver.end(claim)
        assert driver.horae.jobs.get(job_id).state == "finished"

    def test_ids_are_never_used_again(self, driver: Driver) -> None:
        first = driver.horae.schedules.add("work", every="10m").id
        driver.horae.schedules.delete(first)
        assert driver.horae.schedules.add("work", every="10m").id > first


class TestReading:
    def test_by_id_or_by_name(self, driver: Driver) -> None:
        added = driver.horae.schedules.add("work", every="10m")
        assert driver.horae.schedules.get(added.id) == driver.horae.schedules.get("work") == added

    def test_the_list_is_in_order_of_names(self, driver: Driver) -> None:
        for name in ("b", "a", "c"):
            driver.horae.schedules.add("work", name=name, every="10m")
        assert [item.name for item in driver.horae.schedules.list()] == ["a", "b", "c"]
        assert driver.horae.schedules.list(module="nowhere") == []

    def test_an_unreadable_schedule_hides_no_other(self, driver: Driver) -> None:
        for name in ("a", "b"):
            driver.horae.schedules.add("work", name=name, every="10m")
        execute(
            driver.horae,
            'UPDATE horae_schedules SET rules = \'{"key": "a", "overlap": "someday"}\''
            " WHERE name = 'a'",
        )
        assert [item.name for item in driver.horae.schedules.list()] == ["b"]
        with pytest.raises(InvalidRequest, match=r"'a' cannot be read here.*someday"):
            driver.horae.schedules.get("a")
        driver.horae.schedules.delete("a")
        assert driver.horae.schedules.add("work", name="a", every="10m").enabled

    def test_ticks_are_read_page_by_page_the_newest_first(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        for _ in range(5):
            driver.until_due("work")
            driver.run()
        times = [MONDAY + number * MINUTE for number in range(5, 0, -1)]
        first = driver.horae.schedules.ticks("work", limit=3)
        assert [entry.nominal_time for entry in first] == times[:3]
        rest = driver.horae.schedules.ticks("work", limit=3, before=first[-1].nominal_time)
        assert [entry.nominal_time for entry in rest] == times[3:]

    def test_errors_are_listed_the_newest_first(self, driver: Driver) -> None:
        driver.horae.schedules.add("work", cron="* * * * *")
        driver.horae.schedules.add("work", name="other", cron="* * * * *")
        for outcome in (ENDED_BADLY, None, ENDED_BADLY):
            driver.until_due("work")
            driver.run(outcome)
        found = driver.horae.schedules.errors("work")
        assert [error.nominal_time for error in found] == [MONDAY + 3 * MINUTE, MONDAY + MINUTE]
        assert (found[0].error, found[0].outcome) == ("ValueError: no", "failed")
        assert len(driver.horae.schedules.errors()) == 4
        assert len(driver.horae.schedules.errors(limit=1)) == 1


def naive() -> datetime:
    return datetime(2026, 3, 2)  # noqa: DTZ001 - what is refused


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({}, InvalidRequest, 'needs either cron="0 3 \\* \\* \\*" or every="10m"'),
        ({"cron": "* * * * *", "every": "1m"}, InvalidRequest, "either cron"),
        ({"cron": "61 * * * *"}, CronSyntaxError, "61"),
        ({"cron": "0 0 30 2 *"}, CronSyntaxError, "never"),
        ({"cron": None}, InvalidRequest, "cron None"),
        ({"cron": 5}, InvalidRequest, "cron 5"),
        ({"cron": "* * * * *", "timezone": "Mars/Olympus"}, InvalidRequest, "Mars/Olympus"),
        ({"cron": "* * * * *", "timezone": None}, InvalidRequest, "timezone None"),
        ({"cron": "* * * * *", "dst_gap": "jump"}, InvalidRequest, "jump"),
        (
            {"cron": "* * * * *", "fixed": True},
            InvalidRequest,
            "fixed= cannot be combined with cron=",
        ),
        (
            {"every": "10m", "dst_fold": "both"},
            InvalidRequest,
            "dst_fold= cannot be combined with every=",
        ),
        ({"every": "0s"}, InvalidInterval, "0s"),
        ({"every": "-5m"}, InvalidInterval, "-5m"),
        ({"every": "1 month 2 days"}, InvalidInterval, "mixed"),
        ({"every": 5}, InvalidInterval, "5"),
        ({"every": "10m", "initial_start": "tomorrow"}, InvalidRequest, "initial_start 'tomorrow'"),
        ({"every": "10m", "initial_start": naive()}, InvalidRequest, "initial_start"),
        (
            {"every": "10m", "initial_start": datetime(1, 1, 1, tzinfo=UTC)},
            InvalidRequest,
            "a year from 1970 to 2099",
        ),
        ({"every": "10m", "fixed": "yes"}, InvalidRequest, "fixed 'yes'"),
        ({"every": "10m", "next_start": "soon"}, InvalidRequest, "next_start 'soon'"),
        ({"every": "10m", "next_start": naive()}, InvalidRequest, "next_start"),
        (
            {"every": "10m", "next_start": datetime(9999, 1, 1, tzinfo=UTC)},
            InvalidRequest,
            "a year from 1970 to 2099",
        ),
        ({"cron": "* * * * *" + " " * 1_000}, CronSyntaxError, "1009 characters"),
        ({"every": "1" * 5_000 + "s"}, InvalidInterval, "too long"),
        ({"every": "10m", "overlapp": "skip"}, InvalidRequest, "no option 'overlapp'"),
        ({"every": "10m", "params": {}}, InvalidRequest, "of its jobs are `config`"),
        ({"every": "10m", "overlap": "skip it"}, InvalidRequest, "skip it"),
        ({"every": "10m", "overlap": "buffer_one"}, InvalidRequest, "buffer_one"),
        ({"cron": "* * * * *", "catch_up": 1}, InvalidRequest, "catch_up is 1"),
        ({"cron": "* * * * *", "catch_up_limit": 0}, InvalidRequest, "catch_up_limit is 0"),
        ({"cron": "* * * * *", "catch_up_limit": "ten"}, InvalidRequest, "catch_up_limit 'ten'"),
        ({"cron": "* * * * *", "catch_up_window": "soon"}, InvalidRequest, "soon"),
        ({"every": "10m", "jitter": "-1s"}, InvalidRequest, "-1s"),
        ({"every": "10m", "jitter": timedelta(seconds=-1)}, InvalidRequest, "jitter"),
        ({"every": "10m", "max_runtime": "0s"}, InvalidRequest, "0s"),
        ({"every": "10m", "max_retries": -1}, InvalidRequest, "max_retries -1"),
        (
            {"every": "10m", "max_retries": 10**30},
            InvalidRequest,
            "max_retries is 1000000000000000000000000000000",
        ),
        (
            {"cron": "* * * * *", "catch_up_window": "101 years"},
            InvalidRequest,
            "longer than 100 years",
        ),
        ({"every": "10m", "max_retries": "3"}, InvalidRequest, "max_retries '3'"),
        ({"every": "10m", "max_retries": True}, InvalidRequest, "max_retries True"),
        ({"every": "10m", "retry_period": "never"}, InvalidInterval, "never"),
        ({"every": "10m", "backoff": "wild"}, InvalidRequest, "wild"),
        ({"every": "10m", "queue": ""}, InvalidRequest, "queue"),
        ({"every": "10m", "queue": 3}, InvalidRequest, "queue 3"),
        ({"every": "10m", "queue": "a\x00"}, InvalidRequest, "queue"),
        ({"every": "10m", "priority": 2**31}, InvalidRequest, "priority"),
        ({"every": "10m", "priority": "high"}, InvalidRequest, "priority 'high'"),
        ({"every": "10m", "config": [1]}, InvalidRequest, "config"),
        ({"every": "10m", "config": {"colour": "red"}}, InvalidParameters, "colour"),
        ({"every": "10m", "name": ""}, InvalidRequest, "name ''"),
        ({"every": "10m", "name": "x" * 201}, InvalidRequest, "name"),
        ({"every": "10m", "name": "a\nb"}, InvalidRequest, "name"),
        ({"every": "10m", "name": 7}, InvalidRequest, "name 7"),
    ],
)
def test_invalid_options_are_refused_by_name(
    schedules: Schedules, given: dict[str, Any], error: type[HoraeError], said: str
) -> None:
    with pytest.raises(error, match=said):
        schedules.add("work", **given)
    assert schedules.list() == []
    when = {name: given[name] for name in ("cron", "every") if name in given}
    if "name" in given or when == given:
        return
    added = schedules.add("work", **when)
    try:
        with pytest.raises(error, match=said):
            schedules.alter("work", **given)
        assert schedules.get("work") == added
    finally:
        schedules.delete("work")


@pytest.fixture(scope="module")
def schedules(
    migrated_sqlite: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Schedules]:
    """Schedules of an application that all may use: what is refused never reaches the database."""
    file = shutil.copy(migrated_sqlite, tmp_path_factory.mktemp("schedules") / "horae.db")
    with closing(Horae(f"sqlite:///{file}")) as horae:

        @horae.job
        def work() -> None: ...

        yield horae.schedules


@pytest.mark.one_database
def test_an_unknown_schedule_or_type_is_refused(driver: Driver) -> None:
    schedules = driver.horae.schedules
    with pytest.raises(UnknownJobType, match="'nothing'"):
        schedules.add("nothing", every="10m")
    for ask in (
        schedules.get,
        schedules.alter,
        schedules.pause,
        schedules.resume,
        schedules.run_now,
        schedules.delete,
        schedules.statistics,
        schedules.ticks,
        schedules.errors,
    ):
        with pytest.raises(ScheduleDoesNotExist, match="'nothing'"):
            ask("nothing")
        for reference in (77, 2**70, "a\x00b"):
            with pytest.raises(ScheduleDoesNotExist):
                ask(reference)


@pytest.mark.one_database
def test_a_note_that_cannot_be_stored_is_refused(driver: Driver) -> None:
    driver.horae.schedules.add("work", every="10m")
    with pytest.raises(InvalidRequest, match="note"):
        driver.horae.schedules.pause("work", "a\x00b")
    assert driver.horae.schedules.get("work").enabled


async def test_coroutines_have_the_same_verbs(driver: Driver) -> None:
    aio = driver.horae.aio.schedules
    added = await aio.add("work", name="nightly", cron="0 * * * *", priority=3)
    assert await aio.get("nightly") == added
    assert (await aio.alter("nightly", priority=4)).priority == 4
    assert (await aio.pause("nightly", "why not")).pause_note == "why not"
    assert (await aio.resume("nightly")).enabled
    job_id = await aio.run_now("nightly")
    assert [entry.job_id for entry in await aio.ticks("nightly")] == [job_id]
    assert (await aio.get("nightly")).open_runs == 1
    assert (await aio.statistics("nightly")).total_runs == 0
    assert await aio.errors("nightly") == []
    assert [item.name for item in await aio.list()] == ["nightly"]
    with pytest.raises(ScheduleIsRunning):
        await aio.run_now("nightly")
    await aio.delete("nightly")
    assert await aio.list() == []


def test_a_schedule_added_by_one_process_is_found_by_another(driver: Driver) -> None:
    with application(driver.database) as other:

        @other.job
        def work() -> None: ...

        driver.horae.schedules.add("work", every="10m")
        assert isinstance(other, Horae)
        assert other.schedules.pause("work").pause_note is None
        assert not driver.get("work").enabled
