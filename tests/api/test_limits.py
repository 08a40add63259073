"""Limits by key and fair queues over HTTP: what they do to the claims of jobs, what they show, and who may change them."""

from typing import Any

import pytest

from horae import Horae, Limit
from horae.storage.engine.database import Database
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits import filing, lane_claims
from tests.api.clients import Client, application_of, client_of, error_of
from tests.harness.applications import ELSEWHERE, claim_as_another_node


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The faces call the client, whose statements tests/client runs on both databases."""
    return sqlite_database


@pytest.fixture
def limited(horae: Horae) -> Horae:
    """The application with a type whose jobs run one at a time for each account."""

    @horae.job(limits=[Limit(concurrency=1, key="{account}", name="account")])
    def call(account: str) -> None: ...

    return horae


def claim(horae: Horae) -> list[int]:
    """Return the jobs that a node may start now, as their limits and turns allow."""
    database = horae.components.database
    while database.transact(filing.file):
        pass
    scope = ClaimScope(node=ELSEWHERE, types=tuple(horae.registry.by_name), queues=None)
    return [each.id for each in database.transact(lane_claims.claim, scope, 1, 1).claims]


async def only(client: Any, path: str, name: str) -> Any:
    (found,) = (await client.get(path)).json()[name]
    return found


async def test_a_limit_says_what_it_holds_back_and_is_changed(
    limited: Horae, client: Client
) -> None:
    root = client("root")
    first, second, third = (limited.jobs.start("call", account="a").id for _ in range(3))
    assert [claim(limited), claim(limited)] == [[first], []]
    held = await only(root, "/api/limits/", "limits")
    assert (held["name"], held["held_back"], held["keys"]) == ("account", 2, 1)
    detail = (await root.get(f"/api/jobs/{second}/")).json()
    assert detail["waiting_reason"] == (
        "Limit 'account' (1 at a time) holds it back for key 'a', until a running job ends."
    )
    changed = await root.post("/api/limits/account/set/", json={"concurrency": 2})
    assert changed.status_code == 200
    assert [claim(limited), claim(limited)] == [[second], []], (
        "the new number holds for jobs that wait already"
    )
    assert (await root.post("/api/limits/account/reset/")).status_code == 200
    limited.jobs.cancel(first)
    assert claim(limited) == [], "one job runs, as many as declared"
    assert (await root.get(f"/api/jobs/{third}/")).json()["state"] == "pending"


async def test_a_start_whose_key_cannot_be_computed_is_refused(horae: Horae) -> None:
    @horae.job(
        public=True,
        limits=[Limit(concurrency=1, key=lambda given: given.codes["eu"], name="region")],
    )
    def ship(codes: dict[str, str]) -> None: ...

    refused = await client_of(application_of(horae), "alice").post(
        "/api/jobs/types/ship/", json={"codes": {}}
    )
    assert error_of(refused) == (400, "ERROR_INVALID_REQUEST")
    assert (
        refused.json()["detail"]
        == "job type 'ship': the key function of limit 'region' raised KeyError for these parameters"
    )


async def test_the_limit_of_a_queue_holds_for_jobs_of_any_type(
    horae: Horae, client: Client
) -> None:
    root = client("root")
    jobs = [horae.jobs.start("rebuild_index", queue="mail").id for _ in range(2)]
    made = await root.post("/api/queues/mail/limit-by-key/", json={"concurrency": 1})
    assert list(made.json()["limits"]) == ["queue mail.concurrency"]
    assert claim_as_another_node(horae) == [], "they are claimed through their lane"
    assert [claim(horae), claim(horae)] == [jobs[:1], []]
    freed = await root.post("/api/queues/mail/limit-by-key/", json={})
    assert freed.json()["limits"] is None
    assert [each.id for each in claim_as_another_node(horae)] == jobs[1:]


async def test_owners_take_turns_in_a_fair_queue(horae: Horae, client: Client) -> None:
    root = client("root")
    many = [horae.jobs.start("rebuild_index", queue="mail", owner="alice").id for _ in range(3)]
    one = horae.jobs.start("rebuild_index", queue="mail", owner="bob").id
    fair = (await root.post("/api/queues/mail/fair/", json={"by": "owner"})).json()
    assert (fair["name"], fair["fair_by"], fair["pending"]) == ("mail", "owner", 4)
    assert claim(horae) + claim(horae) + claim(horae) == [many[0], one, many[1]]
    assert (await root.post("/api/queues/mail/fair/", json={"by": None})).json()["fair_by"] is None
    assert [each.id for each in claim_as_another_node(horae)] == many[2:]


async def test_a_declared_queue_is_reset(horae: Horae, client: Client) -> None:
    root = client("root")
    horae.queue("mail", fair_by="owner")
    horae.deploy()
    await root.post("/api/queues/mail/fair/", json={"by": "customer"})
    listed = await only(root, "/api/queues/", "queues")
    assert (listed["fair_by"], listed["declared"]["fair_by"]) == ("customer", "owner")
    assert (await root.post("/api/queues/mail/reset/")).json()["fair_by"] == "owner"
    assert error_of(await root.post("/api/queues/other/reset/")) == (404, "ERROR_NOT_FOUND")


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("/api/limits/account/set/", {"rate": "1/s"}, (400, "ERROR_INVALID_REQUEST")),
        ("/api/limits/account/set/", {"concurrency": 0}, (400, "ERROR_REQUEST_BODY_VALIDATION")),
        ("/api/limits/unknown/set/", {"concurrency": 1}, (404, "ERROR_NOT_FOUND")),
        ("/api/queues/mail/limit-by-key/", {"rate": "0/s"}, (400, "ERROR_INVALID_REQUEST")),
        (
            "/api/queues/mail/limit-by-key/",
            {"rate": "1/s", "key": "{a b}"},
            (400, "ERROR_INVALID_REQUEST"),
        ),
        ("/api/queues/mail/fair/", {"by": "a b"}, (400, "ERROR_INVALID_REQUEST")),
    ],
)
async def test_bad_changes_are_refused(
    limited: Horae, client: Client, path: str, body: dict[str, Any], expected: tuple[int, str]
) -> None:
    del limited
    assert error_of(await client("root").post(path, json=body)) == expected


async def test_only_staff_may_change_limits_and_turns(limited: Horae, client: Client) -> None:
    paths = {
        "/api/limits/account/set/": {"concurrency": 2},
        "/api/limits/account/reset/": None,
        "/api/queues/mail/limit-by-key/": {"rate": "1/s"},
        "/api/queues/mail/fair/": {"by": "owner"},
        "/api/queues/mail/reset/": None,
    }
    for who in ("alice", "auditor"):
        for path, body in paths.items():
            assert (await client(who).post(path, json=body)).status_code == 403, (who, path)
    assert [view.changed for view in limited.limits.list()] == [None]
    assert limited.queues.list() == []
    assert (await client("auditor").get("/api/limits/")).status_code == 200
