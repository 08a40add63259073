"""Runs of schedules obey the limits of their job type and of their queue, and have the tags of the type."""

import json
from typing import Any, Final

import pytest

from horae import Horae, InvalidRequest, Limit
from horae.domain.jobs.job import Claim, WaitsFor
from horae.domain.schedules.schedule import Overlap
from horae.storage.engine.database import Database
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits import filing, lane_claims
from horae.storage.schedules import bulk_firing
from tests.harness.applications import application, rows
from tests.schedules.driver import HERE, Driver

EVERY_MINUTE: Final = "* * * * *"


@pytest.fixture
def limited(driver: Driver) -> Driver:
    """A driver whose application has a type with a limit by account, and tags."""

    @driver.horae.job(
        limits=[Limit(concurrency=1, key="{account}", name="account")], tags=["billing", "größe"]
    )
    def bill(account: str) -> None: ...

    return driver


def add(driver: Driver, name: str, account: str, **options: Any) -> None:
    driver.horae.schedules.add(
        "bill", name=name, config={"account": account}, cron=EVERY_MINUTE, **options
    )


def claim(driver: Driver) -> list[Claim]:
    """File new jobs, and claim from lanes as a node does."""
    while driver.database.transact(filing.file):
        pass
    scope = ClaimScope(node=HERE, types=tuple(driver.horae.registry.by_name), queues=None)
    return driver.database.transact(lane_claims.claim, scope, 100, 100).claims


def fire_in_bulk(driver: Driver, *names: str) -> None:
    """Fire these schedules, which are due next, by plans that were made before."""
    ids = [driver.get(name).id for name in names]
    planned = driver.database.autocommit(bulk_firing.plan_ahead, ids)
    driver.until_due(names[0])
    found = [each for each in planned.values() if each is not None]
    assert len(driver.database.transact(bulk_firing.fire, found, HERE).applied) == len(names)


@pytest.mark.parametrize("in_bulk", [False, True])
def test_runs_wait_under_the_key_of_the_schedule(limited: Driver, *, in_bulk: bool) -> None:
    for name, account in (("one", "a"), ("two", "a"), ("three", "b")):
        add(limited, name, account)
    if in_bulk:
        fire_in_bulk(limited, "one", "two", "three")
    else:
        limited.until_due("one")
        limited.fire_due()
    assert limited.claim() == [], "a run was claimed past its limit"
    first = claim(limited)
    assert [json.loads(each.params or "") for each in first] == [{"account": "a"}, {"account": "b"}]
    assert claim(limited) == []
    limited.clock.advance(seconds=1)
    for each in first:
        limited.end(each)
    (last,) = claim(limited)
    limited.end(last)
    assert [limited.ledger(name) for name in ("one", "two", "three")] == [
        [("fired", 1, "on_time")]
    ] * 3
    assert limited.get("two").statistics.total_successes == 1


def test_ledger_and_schedule_name_what_holds_a_run_back(limited: Driver) -> None:
    add(limited, "one", "a")
    add(limited, "two", "a")
    limited.until_due("one")
    limited.fire_due()
    (started,) = claim(limited)
    assert claim(limited) == []
    held = "Limit 'account' (1 at a time) holds it back for key 'a', until a running job ends."
    assert limited.get("two").waiting_reason == limited.entries("two")[-1].waiting_reason == held
    assert limited.get("one").waiting_reason is limited.entries("one")[-1].waiting_reason is None
    assert limited.get("one").job_id == started.id
    (view,) = limited.horae.limits.list()
    assert (view.held_back, view.keys) == (1, 1)


@pytest.mark.parametrize("overlap", [Overlap.SKIP, Overlap.BUFFER_ONE])
def test_a_run_that_a_limit_holds_back_executes_for_its_schedule(
    limited: Driver, overlap: Overlap
) -> None:
    add(limited, "one", "a")
    add(limited, "two", "a", overlap=overlap)
    limited.until_due("one")
    limited.fire_due()
    (first,) = claim(limited)
    for _ in range(2):
        limited.clock.advance(minutes=1)
        assert limited.fire_due() == [], "a run was started beside the one that waits"
    assert claim(limited) == []
    limited.end(first)
    second, *more = claim(limited)
    assert [more, second.schedule_id] == [[], limited.get("two").id]
    limited.end(second)
    fired = [tick.decision for tick in limited.entries("two")]
    assert fired == (["fired", "skipped"] if overlap is Overlap.SKIP else ["fired", "coalesced"])
    limited.fire_due()
    assert len(limited.jobs("two")) == (1 if overlap is Overlap.SKIP else 2)


def test_cancel_other_cancels_the_run_that_waits(limited: Driver) -> None:
    add(limited, "one", "a")
    add(limited, "two", "a", overlap=Overlap.CANCEL_OTHER)
    limited.until_due("one")
    limited.fire_due()
    claim(limited)
    limited.clock.advance(minutes=1)
    ((due, stop),) = [
        (each.schedule.name, each.stop) for each in limited.fire(limited.get("two").id)
    ]
    assert due == "two"
    assert stop is not None


def test_all_runs_of_allow_all_wait_in_one_lane(limited: Driver) -> None:
    add(limited, "one", "a", overlap=Overlap.ALLOW_ALL)
    for _ in range(3):
        limited.clock.advance(minutes=1)
        limited.fire_due()
    claims = 0
    while started := claim(limited):
        assert len(started) == 1
        limited.clock.advance(seconds=1)
        limited.end(started[0])
        claims += 1
    assert claims == 3
    assert limited.get("one").statistics.total_successes == 3


def test_run_now_obeys_the_limit(limited: Driver) -> None:
    add(limited, "one", "a")
    add(limited, "two", "a")
    limited.horae.schedules.run_now("one")
    job_id = limited.horae.schedules.run_now("two")
    assert len(claim(limited)) == 1
    assert claim(limited) == []
    assert limited.horae.jobs.get(job_id).waits_for is WaitsFor.LIMIT


def test_runs_obey_the_limits_and_the_turns_of_their_queue(driver: Driver) -> None:
    driver.horae.queues.limit_by_key("default", Limit(concurrency=1, name="all of it"))
    driver.horae.queues.fair("default", "owner")
    for name in ("one", "two"):
        driver.horae.schedules.add("work", name=name, cron=EVERY_MINUTE)
    driver.until_due("one")
    assert len(driver.fire_due()) == 2
    assert driver.claim() == []
    assert len(claim(driver)) == 1
    assert claim(driver) == []


@pytest.mark.parametrize("in_bulk", [False, True])
def test_runs_have_the_tags_of_their_type(limited: Driver, *, in_bulk: bool) -> None:
    add(limited, "one", "a")
    limited.horae.schedules.add("work", name="plain", cron=EVERY_MINUTE)
    if in_bulk:
        fire_in_bulk(limited, "one", "plain")
    else:
        limited.until_due("one")
        limited.fire_due()
    (found,) = limited.horae.jobs.list(query="tag:größe").jobs
    assert (found.type, found.tags) == ("bill", ("billing", "größe"))


def test_a_change_of_the_parameters_changes_the_key(limited: Driver) -> None:
    add(limited, "one", "a")
    limited.horae.schedules.alter("one", config={"account": "b"})
    assert keys(limited.horae, "one") == ["b"]


def stored_limits(horae: Horae, name: str) -> Any:
    (found,) = rows(horae, "SELECT limits FROM horae_schedules WHERE name = :name", name=name)
    return json.loads(found.limits) if isinstance(found.limits, str) else found.limits


def keys(horae: Horae, name: str) -> list[str]:
    return [key for _, key, _ in stored_limits(horae, name)["limits"]]


def test_new_code_changes_the_limits_of_its_schedules(database: Database) -> None:
    """Those that its module declares, and those that were added at run time; a process without the type changes none."""
    for most, added in ((1, True), (2, False)):
        with application(database, module="shop") as horae:

            @horae.cron(
                "0 3 * * *",
                params={"account": "a"},
                limits=[Limit(concurrency=most, key="{account}")],
            )
            def declared(account: str) -> None: ...

            @horae.job(limits=[Limit(concurrency=most, key="{account}", name="account")])
            def bill(account: str) -> None: ...

            if added:
                horae.schedules.add(bill, name="added", config={"account": "b"}, cron=EVERY_MINUTE)
            horae.deploy()
            for name, key in (("declared", "a"), ("added", "b")):
                (entry,) = stored_limits(horae, name)["limits"]
                assert entry[1:] == [key, {"concurrency": most}]
    with application(database, module="other") as horae:
        horae.deploy()
        assert stored_limits(horae, "added") is not None
    with application(database, module="shop") as horae:

        @horae.job
        def bill(account: str) -> None: ...

        horae.deploy()
        assert stored_limits(horae, "added") is None


def test_reset_computes_the_key_of_the_declared_parameters(database: Database) -> None:
    with application(database, module="shop") as horae:

        @horae.cron(
            "0 3 * * *",
            params={"account": "a"},
            limits=[Limit(concurrency=1, key="{account}")],
            tags=["x"],
        )
        def declared(account: str) -> None: ...

        horae.deploy()
        horae.schedules.alter("declared", config={"account": "b"})
        assert keys(horae, "declared") == ["b"]
        horae.schedules.reset("declared")
        assert keys(horae, "declared") == ["a"]


def test_a_key_function_that_raises_refuses_the_schedule(driver: Driver) -> None:
    def key_of(params: Any) -> str:
        raise InvalidRequest(f"no account {params.account}")

    @driver.horae.job(limits=[Limit(concurrency=1, key=key_of)])
    def bill(account: str) -> None: ...

    with pytest.raises(InvalidRequest, match="no account a"):
        add(driver, "one", "a")
