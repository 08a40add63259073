"""Every change that is made from Python leaves an entry: by whom, how, what was before and what is since."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest

from horae import EVERYBODY, Horae, JobContext, ScheduleAlreadyExists, Secret
from horae.client import changes
from horae.client.operations.change_log import ChangeLog
from horae.client.operations.queues import Queues
from horae.storage.operations.change_log import ChangeEntry
from tests.harness.applications import counted_statements, rows
from tests.harness.nodes import running_node


def entries(horae: Horae) -> Sequence[ChangeEntry]:
    """The oldest first, without those of nodes that have stopped."""
    found = ChangeLog(horae.components.database).page().entries[::-1]
    return [entry for entry in found if entry.action != "node.left"]


def last(horae: Horae) -> tuple[str, str, str, Any, Any]:
    entry = entries(horae)[-1]
    assert (entry.channel, entry.outcome) == ("python", "done")
    return entry.actor, entry.action, entry.target, entry.before, entry.after


@pytest.fixture
def shop(horae: Horae) -> Horae:
    @horae.job
    def work(shards: int = 1, token: Annotated[str, Secret()] = "") -> None: ...

    return horae


def in_part(found: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    return {name: found[name] for name in expected} == expected


class TestJobs:
    def test_a_cancel_is_recorded_as_the_owners_or_the_named_users(self, shop: Horae) -> None:
        first, second = shop.jobs.start("work", owner="ada"), shop.jobs.start("work")
        shop.jobs.cancel(first.id, owner="ada")
        states = {"state": "pending"}, {"state": "cancelled"}
        assert last(shop) == ("ada", "job.cancel", str(first.id), *states)
        shop.jobs.cancel(second.id, by="bob")
        assert last(shop) == ("bob", "job.cancel", str(second.id), *states)
        shop.jobs.cancel(second.id, by="bob")  # it was already, so nothing has changed
        assert len(entries(shop)) == 2

    def test_a_retry_names_the_new_job_and_a_delete_what_is_gone(self, shop: Horae) -> None:
        job = shop.jobs.start("work", owner="ada")
        shop.jobs.cancel(job.id, owner=EVERYBODY)
        again = shop.jobs.retry(job.id, owner="ada")
        assert last(shop) == ("ada", "job.retry", str(job.id), None, {"job": again.id})
        shop.jobs.delete(job.id, owner="ada")
        gone = {"type": "work", "state": "cancelled", "owner": "ada"}
        assert last(shop) == ("ada", "job.delete", str(job.id), gone, None)

    def test_a_start_is_not_recorded_as_a_change(self, shop: Horae) -> None:
        shop.jobs.start("work")
        with counted_statements(shop) as statements:
            shop.jobs.start("work")
        assert len([text for text in statements if "horae_" in text]) == 1
        assert entries(shop) == []


class TestQueues:
    def test_each_change_records_the_former_value(self, shop: Horae) -> None:
        queues = Queues(shop.components.database, shop.components.wakeup)
        queues.pause("mail", "a full disk")
        expected = {"paused": False, "note": None}, {"paused": True, "note": "a full disk"}
        assert last(shop)[1:] == ("queue.pause", "mail", *expected)
        queues.limit("mail", 3)
        assert last(shop)[1:] == (
            "queue.limit",
            "mail",
            {"concurrency_limit": None},
            {"concurrency_limit": 3},
        )
        queues.resume("mail")
        assert last(shop)[1:] == ("queue.resume", "mail", *expected[::-1])


class TestSchedules:
    def test_each_change_records_the_former_value(self, shop: Horae) -> None:
        shop.schedules.add("work", name="nightly", cron="0 3 * * *", config={"token": "s3cret"})
        actor, action, target, before, after = last(shop)
        assert (action, target, before) == ("schedule.add", "nightly", None)
        assert actor == f"{Path(sys.argv[0]).name}[{os.getpid()}]@{changes.this_host()}"
        assert in_part(
            after, {"job_type": "work", "trigger": "0 3 * * *", "timezone": "UTC", "enabled": True}
        )
        assert "s3cret" not in str(rows(shop, "SELECT * FROM horae_audit"))
        shop.schedules.alter("nightly", max_retries=2, priority=7)
        expected = {"max_retries": None, "priority": 0}, {"max_retries": 2, "priority": 7}
        assert last(shop)[1:] == ("schedule.alter", "nightly", *expected)
        shop.schedules.pause("nightly", "holidays")
        _, action, _, before, after = last(shop)
        assert action == "schedule.pause"
        assert in_part(before, {"enabled": True, "pause_note": None})
        assert in_part(after, {"enabled": False, "pause_note": "holidays", "next_start": None})
        shop.schedules.resume("nightly")
        assert in_part(last(shop)[4], {"enabled": True})
        job_id = shop.schedules.run_now("nightly")
        assert last(shop)[1:] == ("schedule.run", "nightly", None, {"job": job_id})
        shop.schedules.delete("nightly")
        _, action, _, before, after = last(shop)
        assert (action, before["name"], after) == ("schedule.delete", "nightly", None)

    def test_a_refused_call_changes_nothing(self, shop: Horae) -> None:
        shop.schedules.add("work", every="1h")
        with pytest.raises(ScheduleAlreadyExists):
            shop.schedules.add("work", every="1h")
        assert len(entries(shop)) == 1

    def test_a_change_that_cannot_be_recorded_is_not_made(
        self, shop: Horae, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(changes, "write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            shop.schedules.add("work", every="1h")
        assert shop.schedules.list() == []

    def test_a_long_value_is_cut(self, shop: Horae) -> None:
        @shop.job
        def mail(text: str) -> None: ...

        shop.schedules.add(mail, every="1h", config={"text": "x" * 100_000})
        assert len(last(shop)[4]["params"]) == changes.LONGEST_VALUE + 1


class TestDeployments:
    def test_each_change_records_the_former_value(self, shop: Horae) -> None:
        @shop.every("1h")
        def refresh() -> None: ...

        key = shop.deploy().deployment.key
        _, action, target, before, after = last(shop)
        assert (action, target, before, after["deployment"]) == (
            "deployment.deploy",
            shop.module,
            None,
            key,
        )
        shop.deploy()  # the same once more is no change
        shop.deployments.scale(key, 3)
        assert last(shop)[1:] == ("deployment.scale", key, {"min_replicas": 1}, {"min_replicas": 3})
        shop.deployments.end(key)
        _, action, _, before, after = last(shop)
        assert (action, before, sorted(after)) == (
            "deployment.end",
            {"ended_at": None},
            ["ended_at"],
        )
        assert len(entries(shop)) == 3


class TestActors:
    def test_a_program_names_the_user_it_acts_for(self, shop: Horae) -> None:
        with shop.acting_as("ada"):
            shop.schedules.add("work", every="1h")
        shop.schedules.pause("work")
        first, second = entries(shop)
        assert first.actor == "ada"
        assert second.actor != "ada"

    async def test_coroutines_name_the_user_they_act_for(self, shop: Horae) -> None:
        with shop.acting_as("ada"):
            await shop.aio.schedules.add("work", every="1h")
        assert last(shop)[0] == "ada"

    async def test_a_body_acts_as_its_job(self, shop: Horae) -> None:
        shop.schedules.add("work", every="1h")

        @shop.job
        def hold(job: JobContext) -> None:
            shop.schedules.pause("work")

        async with running_node(shop, scheduler=False):
            job = await shop.aio.jobs.start(hold)
            await shop.aio.jobs.wait(job.id, timeout="20s")
        assert last(shop)[:2] == (f"job {job.id} (hold)", "schedule.pause")
