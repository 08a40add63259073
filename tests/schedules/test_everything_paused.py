"""While everything is paused no schedule fires, also if its start was planned; afterwards they go on."""

from tests.schedules.driver import Driver
from tests.schedules.test_bulk import fire, planned


def test_no_schedule_fires_while_everything_is_paused(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="* * * * *")
    driver.horae.schedules.add("work", name="held", cron="* * * * *")
    driver.horae.schedules.pause("held", "by itself")
    schedule = driver.get("work").id
    driver.until_due("work")
    driver.horae.queues.pause_everything("the disk is full")
    assert driver.fire_due() == []
    assert driver.fire(schedule) == [], "it was found before the pause"
    assert driver.entries("work") == []
    assert driver.horae.queues.resume_everything()
    assert len(driver.fire_due()) == 1
    held = driver.get("held")
    assert (held.enabled, held.pause_note) == (False, "by itself")


def test_a_start_that_was_planned_before_the_pause_does_not_fire(driver: Driver) -> None:
    driver.horae.schedules.add("work", cron="* * * * *")
    plans = planned(driver, driver.get("work").id)
    assert plans
    driver.until_due("work")
    driver.horae.queues.pause_everything()
    assert fire(driver, plans).applied == ()
    driver.horae.queues.resume_everything()
    assert len(fire(driver, plans).applied) == 1
