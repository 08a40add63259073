"""Queues that code declares: deployed with their module; what is changed at run time survives other deployments."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from horae import Horae, InvalidRequest, Limit, NotFound
from horae.cli.main import app as command_line
from horae.domain.backoff import Backoff
from horae.domain.jobs.job import Succeeded, WaitsFor, decide
from horae.storage.engine.database import Database
from horae.storage.operations import change_log
from horae.storage.outcomes import settling
from horae.storage.queues.queues import QueueView
from tests.harness.applications import ELSEWHERE, application, claim_as_another_node, url_of

Deploy = Callable[..., Horae]


@pytest.fixture
def deploy(database: Database) -> Iterator[Deploy]:
    """Deploy a version of a module that declares these queues."""
    with ExitStack() as stack:

        def version(module: str = "shop", **queues: dict[str, Any]) -> Horae:
            horae = stack.enter_context(application(database, module=module))
            horae.job(name="work")(lambda: None)
            for name, options in queues.items():
                horae.queue(name, **options)
            horae.deploy()
            return horae

        yield version


def run_at_once(horae: Horae, jobs: int) -> None:
    """Claim so many jobs together, and let them finish."""
    claims = claim_as_another_node(horae)
    assert len(claims) == jobs
    ends = [decide(claim, Succeeded(), Backoff(), Random(1)) for claim in claims]
    horae.components.database.transact(settling.settle, ELSEWHERE, ends, None)


def settings(horae: Horae, name: str = "mail") -> tuple[Any, Any, list[str]]:
    """Who takes turns in a queue, how many of its jobs may run, and the names of its limits."""
    found = view(horae, name)
    return (
        (None, None, [])
        if found is None
        else (found.fair_by, found.concurrency_limit, sorted(found.limits or {}))
    )


def view(horae: Horae, name: str = "mail") -> QueueView | None:
    return next((each for each in horae.queues.list() if each.name == name), None)


def test_a_declaration_comes_into_force_with_its_deployment(deploy: Deploy) -> None:
    first = deploy()
    waiting = first.jobs.start("work", queue="mail")
    horae = deploy(
        mail={"fair_by": "owner", "concurrency": 5, "limits": [Limit(rate="10/s", name="partner")]}
    )
    assert settings(horae) == ("owner", 5, ["partner"])
    assert horae.jobs.get(waiting.id).waits_for is WaitsFor.LIMIT, (
        "jobs that wait already are put into lanes"
    )
    found = view(horae)
    assert found is not None
    assert found.declared == {
        "module": "shop",
        "fair_by": "owner",
        "concurrency_limit": 5,
        "limits": {"partner": {"key": None, "numbers": Limit(rate="10/s").numbers.to_json()}},
    }
    assert 'queue mail {"concurrency_limit": 5, "fair_by": "owner"' in horae.schema


def test_changes_at_run_time_survive_deployments_of_other_changes(deploy: Deploy) -> None:
    horae = deploy(mail={"fair_by": "owner", "concurrency": 5})
    horae.queues.limit("mail", 9)
    horae.queues.limit_by_key("mail", Limit(rate="1/s", name="urgent"))
    assert settings(deploy(mail={"fair_by": "customer", "concurrency": 5})) == (
        "customer",
        9,
        ["urgent"],
    )
    assert settings(deploy(mail={"fair_by": "customer", "concurrency": 6})) == (
        "customer",
        6,
        ["urgent"],
    )


def test_reset_takes_changes_back(deploy: Deploy) -> None:
    horae = deploy(mail={"fair_by": "owner"})
    horae.queues.fair("mail", None)
    horae.queues.limit("mail", 9)
    horae.queues.reset("mail")
    assert settings(horae) == ("owner", None, [])
    with pytest.raises(NotFound, match="no deployed module declares the queue 'other'"):
        horae.queues.reset("other")


def test_what_is_no_longer_declared_goes_unless_it_was_changed(deploy: Deploy) -> None:
    horae = deploy(mail={"fair_by": "owner", "concurrency": 5}, bulk={"concurrency": 1})
    horae.queues.limit("mail", 9)
    job = horae.jobs.start("work", queue="mail")
    after = deploy()
    assert (settings(after), settings(after, "bulk")) == ((None, 9, []), (None, None, []))
    assert after.jobs.get(job.id).waits_for is None


def test_a_node_of_a_replaced_version_changes_nothing(deploy: Deploy, database: Database) -> None:
    deploy(mail={"fair_by": "owner"})
    new = deploy(mail={"fair_by": "customer"})
    with application(database, module="shop") as old:
        old.job(name="work")(lambda: None)
        old.queue("mail", fair_by="owner")
        with old.node().running():
            assert settings(new)[0] == "customer"


def test_a_node_deploys_a_module_that_declares_only_queues(database: Database) -> None:
    with application(database, module="shop") as horae:
        horae.queue("mail", fair_by="owner")
        with horae.node().running():
            assert settings(horae)[0] == "owner"


def test_the_last_module_that_declares_a_queue_decides(deploy: Deploy) -> None:
    deploy("one", mail={"concurrency": 1})
    deploy("two", mail={"concurrency": 2})
    assert settings(deploy("one"))[1] == 2, "the queue belongs to the other module by now"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "nothing is declared"),
        ({"concurrency": 0}, "expected 1 to"),
        ({"concurrency": "many"}, "a whole number"),
        ({"fair_by": "a b"}, "expected 'owner', the name of a parameter"),
        ({"limits": [Limit(rate="1/s", key=str)]}, "it must be a format"),
        ({"limits": [Limit(rate="1/s"), Limit(rate="2/s")]}, "two limits have the name"),
        ({"limits": Limit(rate="1/s")}, "expected a list"),
    ],
)
def test_what_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidRequest, match=text):
        Horae("sqlite://").queue("mail", **options)


def test_two_declarations_of_a_queue_must_agree() -> None:
    horae = Horae("sqlite://")
    for _ in range(2):
        horae.queue("mail", concurrency=4, limits=[Limit(rate="1/s")])
    with pytest.raises(
        InvalidRequest, match=r"queue 'mail' is declared twice, with .*: 4, .* and with .*: 5}"
    ):
        horae.queue("mail", concurrency=5)
    assert horae.registry.queues["mail"].concurrency_limit == 4


def test_the_command_line(deploy: Deploy, database: Database) -> None:
    horae = deploy(mail={"fair_by": "owner"})

    def run(*given: str) -> Any:
        result = CliRunner().invoke(
            command_line, ["--database", url_of(database), "queues", *given, "--json"]
        )
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    run("fair", "mail", "--by", "none")
    (listed,) = run("list")["queues"]
    assert (listed["fair_by"], listed["declared"]) == (None, {"module": "shop", "fair_by": "owner"})
    assert run("reset", "mail") == {"name": "mail", "reset": True}
    assert settings(horae)[0] == "owner"


def test_the_audit_knows_since_when_a_declared_limit_holds(deploy: Deploy) -> None:
    first = deploy()
    for _ in range(3):
        first.jobs.start("work", queue="mail")
    run_at_once(first, 3)
    horae = deploy(mail={"concurrency": 2})
    found = horae.components.database.autocommit(
        change_log.page, change_log.EVERY_CHANGE, before=None, limit=100
    )
    entries = {(entry.action, entry.target, entry.actor): entry for entry in found}
    assert entries["queue.limit", "mail", "deployment"].after == {"concurrency_limit": 2}
    assert list(horae.audit().findings) == [], "the jobs ran before the limit"
    horae.queues.limit("mail", None)
    for _ in range(3):
        horae.jobs.start("work", queue="mail")
    run_at_once(horae, 3)
    horae.queues.reset("mail")
    assert list(horae.audit().findings) == []
