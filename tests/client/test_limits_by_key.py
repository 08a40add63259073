"""Limits by key as callers declare, list and change them; fair queues; and what is refused."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any, cast

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from horae import Horae, InvalidJobType, InvalidRequest, Limit, NotFound, Secret, StartOptions
from horae.cli.main import app as command_line
from horae.domain.jobs.job import WaitsFor
from horae.domain.limits.limit import key_of
from horae.domain.limits.numbers import numbers_of
from horae.runtime.components import NodeOptions
from horae.runtime.liveness.node_record import record_of
from horae.storage.engine.database import Database
from horae.storage.jobs.claims import ClaimScope
from horae.storage.jobs.limits import filing, lane_claims
from horae.storage.nodes import nodes
from horae.storage.operations.limits import LimitView
from tests.harness.applications import ELSEWHERE, application, url_of


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with application(database) as made:

        @made.job(
            limits=[
                Limit(rate="10/h", burst=1, key="{account}"),
                Limit(concurrency=2, name="partner"),
            ]
        )
        def call(account: str) -> str:
            return account

        yield made


def claim(horae: Horae) -> list[int]:
    database = horae.components.database
    while database.transact(filing.file):
        pass
    scope = ClaimScope(node=ELSEWHERE, types=tuple(horae.registry.by_name), queues=None)
    return [each.id for each in database.transact(lane_claims.claim, scope, 100, 100).claims]


def named(horae: Horae) -> dict[str, LimitView]:
    return {view.name: view for view in horae.limits.list()}


def test_declared_limits_are_listed_before_their_first_job(horae: Horae) -> None:
    assert {name: view.numbers and view.numbers.text for name, view in named(horae).items()} == {
        "call.rate.account": "10 per hour, burst 1",
        "partner": "2 at a time",
    }


def test_the_list_counts_what_a_limit_holds_back(horae: Horae) -> None:
    first, *rest = [horae.jobs.start("call", account="a") for _ in range(3)]
    assert rest[0].waits_for is WaitsFor.LIMIT
    assert claim(horae) == [first.id]
    assert claim(horae) == []
    rate, partner = named(horae)["call.rate.account"], named(horae)["partner"]
    assert (rate.held_back, rate.keys, partner.held_back) == (2, 1, 0)
    assert rate.held_back_since == rest[0].run_at


def test_a_change_holds_for_jobs_that_wait_and_until_it_is_reset(horae: Horae) -> None:
    ids = [horae.jobs.start("call", account="a").id for _ in range(4)]
    assert claim(horae) == ids[:1]
    horae.limits.set("call.rate.account", rate="1000000/s", burst=100)
    horae.limits.set("partner", concurrency=3)
    while len(claim(horae)) == 0:
        pass
    assert named(horae)["partner"].numbers == numbers_of(concurrency=3)
    horae.jobs.start("call", account="b")  # does not bring the declared numbers back
    assert claim(horae) == []
    assert horae.limits.reset("partner").numbers == numbers_of(concurrency=2)


def test_a_retry_keeps_the_limits_of_the_job(horae: Horae) -> None:
    job = horae.jobs.start("call", account="a")
    horae.jobs.cancel(job.id)
    assert horae.jobs.retry(job.id).waits_for is WaitsFor.LIMIT


def test_batches_and_transactions_of_the_caller(horae: Horae) -> None:
    ids = horae.jobs.start_many("call", [{"account": account} for account in "aab"])
    with horae.components.database.engine.begin() as connection:
        late = horae.jobs.start("call", session=connection, account="c")
    assert claim(horae) == [ids[0], ids[2]]
    assert horae.jobs.get(late.id).waits_for is WaitsFor.LIMIT


def test_a_function_as_key_may_exempt_a_job(database: Database) -> None:
    with application(database) as horae:

        def account_of(params: Any) -> str | None:
            return params.account or None

        @horae.job(limits=[Limit(concurrency=1, key=account_of)])
        def call(account: str) -> None: ...

        assert horae.jobs.start(call, account="a").waits_for is WaitsFor.LIMIT
        assert horae.jobs.start(call, account="").waits_for is None
        assert list(named(horae)) == ["call.concurrency.account_of"]


def test_a_fair_queue_by_the_client(horae: Horae) -> None:
    @horae.job
    def mail() -> None: ...

    horae.queues.fair("default", "owner")
    (view,) = horae.queues.list()
    assert view.fair_by == "owner"
    many = horae.jobs.start_many(mail, [{}] * 3, owner="alice")
    one = horae.jobs.start(mail, owner="bob")
    assert claim(horae) == [many[0], one.id, *many[1:]]
    horae.queues.fair("default", None)
    assert horae.queues.list()[0].fair_by is None


def test_an_inline_job_takes_no_turn_in_a_fair_queue(horae: Horae) -> None:
    @horae.job
    def mail() -> int:
        return 3

    horae.queues.fair("default", "owner")
    assert horae.jobs.start(mail, owner="bob", sync=True).result == 3


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Limit(rate="0/s"), '"10/s", "100/m"'),
        (lambda: Limit(rate="ten"), '"10/s", "100/m"'),
        (
            lambda: Limit(rate="10/fortnight"),
            "whose period 'fortnight' cannot be read; expected \"10/s\"",
        ),
        (lambda: Limit(concurrency=0), "from 1 to"),
        (Limit, "either rate= or concurrency="),
        (lambda: Limit(rate="1/s", concurrency=1), "two limits"),
        (lambda: Limit(rate="1/s", burst=0), "burst is 0"),
        (lambda: Limit(rate="1/s", burst=2, window="sliding"), "has no burst"),
        (lambda: Limit(concurrency=1, burst=2), "belong to a rate"),
        (lambda: Limit(concurrency=1, key="account"), "names no parameter"),
        (lambda: Limit(concurrency=1, key="{a.b}"), "no name of a parameter"),
        (lambda: Limit(concurrency=1, key="{a"), "expected a format"),
        (lambda: Limit(concurrency=1, name=" "), "limit name"),
        (lambda: Limit(concurrency=1, key=asyncio.sleep), "is a coroutine function"),
        (
            lambda: Limit(concurrency=1, key=cast("Any", lambda: 1)),
            "takes one argument, the parameters",
        ),
    ],
)
def test_an_invalid_limit_is_refused_by_name(make: Callable[[], Limit], text: str) -> None:
    with pytest.raises(InvalidRequest, match=r".*") as refused:
        make()
    assert text in str(refused.value)


@pytest.mark.one_database
def test_invalid_declarations_are_refused(horae: Horae) -> None:
    def work(account: str, token: Annotated[str, Secret()] = "") -> None: ...

    wrong: list[tuple[Any, str]] = [
        ([Limit(concurrency=1, key="{customer}")], "there are {account}, {token}, {owner}"),
        ([Limit(concurrency=1, key="{token}")], "is secret"),
        ([Limit(concurrency=1), Limit(concurrency=2)], "a name= of its own"),
        (Limit(concurrency=1), "expected a list"),
        ([3], "expected a list"),
    ]
    for limits, text in wrong:
        with pytest.raises(InvalidJobType) as refused:
            horae.job(limits=limits)(work)
        assert text in str(refused.value)


@pytest.mark.one_database
def test_invalid_calls_are_refused(horae: Horae) -> None:
    with pytest.raises(InvalidRequest, match="expected at most 1"):
        horae.jobs.start("call", account="a", weight=2)
    with pytest.raises(InvalidRequest, match="weight"):
        StartOptions(weight=0)
    with pytest.raises(InvalidRequest, match="sync=True"):
        horae.jobs.start("call", account="a", sync=True)
    with pytest.raises(NotFound, match=r"known: 'call.rate.account', 'partner'"):
        horae.limits.set("other", concurrency=1)
    with pytest.raises(InvalidRequest, match="is a rate, and cannot become a concurrency"):
        horae.limits.set("call.rate.account", concurrency=1)
    with pytest.raises(InvalidRequest, match=r"^by is 'a b', expected 'owner'"):
        horae.queues.fair("default", "a b")
    with pytest.raises(InvalidRequest, match=r"^fair_by is 'a b', expected 'owner'"):
        horae.queue("mail", fair_by="a b")
    with pytest.raises(InvalidRequest, match=r"^concurrency is 0, expected 1 to"):
        horae.queue("mail", concurrency=0)


def test_keys_are_short_and_can_be_shown() -> None:
    long = key_of("{a}", None, {"a": "x" * 300}, None)
    other = key_of("{a}", None, {"a": "x" * 299 + "y"}, None)
    assert long is not None
    assert other is not None
    assert len(long) == len(other) == 200
    assert long != other
    assert key_of("{a}-{owner}", None, {"a": "\n"}, "bob") != key_of(
        "{a}-{owner}", None, {"a": " "}, "bob"
    )
    assert key_of("{a}-{owner}", None, {"a": 3}, None) == "3-"
    assert key_of(lambda value: (value, None), 3, {}, None) == "(3, None)"
    with pytest.raises(InvalidRequest, match="expected a text or a number"):
        key_of(lambda _: object(), None, {}, None)


def test_the_command_line(horae: Horae, database: Database) -> None:
    def run(*given: str) -> Any:
        result = CliRunner().invoke(
            command_line, ["--database", url_of(database), *given, "--json"]
        )
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    for _ in range(2):
        horae.jobs.start("call", account="a")
    claim(horae)
    found = {limit["name"]: limit for limit in run("limits", "list")["limits"]}
    assert found["call.rate.account"]["held_back"] == 1
    plain = CliRunner().invoke(command_line, ["--database", url_of(database), "limits", "list"])
    assert "10 per hour, burst 1" in plain.stdout
    assert run("limits", "set", "partner", "--concurrency", "7")["allows"] == "7 at a time"
    assert run("limits", "reset", "partner")["changed"] is None
    assert run("queues", "fair", "mail", "--by", "owner") == {"name": "mail", "fair_by": "owner"}
    assert run("queues", "fair", "mail", "--by", "none") == {"name": "mail", "fair_by": None}


def test_a_key_function_that_fails_starts_nothing(horae: Horae) -> None:
    horae.job(name="keyed", limits=[Limit(concurrency=4, key=lambda given: given.codes["s3cret"])])(
        keyed
    )
    told = "job type 'keyed': the key function of limit 'keyed.concurrency.lambda' raised KeyError for these parameters"
    for start in (
        lambda: horae.jobs.start("keyed", codes={}),
        lambda: horae.jobs.start_many("keyed", [{"codes": {"s3cret": "1"}}, {"codes": {}}]),
        lambda: horae.jobs.start_group([("keyed", {"codes": {}})]),
    ):
        with pytest.raises(InvalidRequest) as refused:
            start()
        assert str(refused.value) == told
    assert horae.jobs.list(types=["keyed"]).jobs == []


def keyed(codes: dict[str, str]) -> None: ...


def test_a_heavy_job_says_how_much_it_needs_and_what_is_free(
    horae: Horae, database: Database
) -> None:
    horae.job(name="four", limits=[Limit(concurrency=4)])(lambda: None)
    running = [horae.jobs.start("four").id for _ in range(3)]
    heavy = horae.jobs.start("four", weight=2).id
    assert (horae.jobs.weight(running[0]), horae.jobs.weight(heavy)) == (1, 2)
    assert claim(horae) == running
    held = "Limit 'four.concurrency' (4 at a time) holds it back, until running jobs end: it needs 2 of 4, and "
    assert horae.jobs.waiting_reason(heavy) == f"{held}1 is free."
    horae.limits.set("four.concurrency", concurrency=3)
    assert claim(horae) == []
    assert str(horae.jobs.waiting_reason(heavy)).endswith("it needs 2 of 3, and 0 are free.")
    horae.limits.set("four.concurrency", concurrency=1)
    assert claim(horae) == []
    assert str(horae.jobs.waiting_reason(heavy)).endswith(
        "(1 at a time) holds it back, until a running job ends."
    )
    shown = CliRunner().invoke(
        command_line, ["--database", url_of(database), "jobs", "show", f"{heavy}"]
    )
    assert ["weight", "2"] in [line.split() for line in shown.stdout.splitlines()]


def test_why_a_job_waits(horae: Horae) -> None:
    def reason(job_id: int) -> str:
        return horae.jobs.waiting_reason(job_id) or ""

    @horae.job
    def mail() -> None: ...

    first, second = (horae.jobs.start("call", account="a") for _ in range(2))
    assert reason(second.id) == "It cannot start: no node runs jobs."
    database = horae.components.database
    database.transact(nodes.register, record_of(horae.registry, NodeOptions(queues=("default",))))
    assert reason(second.id) == "No node has looked at its limits yet."
    assert claim(horae) == [first.id]
    assert horae.jobs.waiting_reason(first.id) is None
    assert reason(second.id).startswith(
        "Limit 'call.rate.account' (10 per hour, burst 1) holds it back for key 'a', until 20"
    )
    assert reason(horae.jobs.start(mail, delay="1h").id).startswith("It is due at")
    after = horae.jobs.start(mail, after=[second])
    assert reason(after.id) == f"It waits for other jobs to end: {second.id}."
    free = horae.jobs.start(mail)
    assert reason(free.id) == "A node with a free slot takes it next."
    unserved = horae.jobs.start(mail, queue="elsewhere")
    for _ in ("plain", "limited", "fair"):
        assert (
            reason(unserved.id)
            == "It cannot start: no node that runs and knows its type serves its queue."
        )
        horae.queues.limit("elsewhere", 1)
        horae.queues.fair("elsewhere", "owner")
    horae.queues.pause("default")
    assert reason(free.id) == "Queue 'default' is paused."


def test_a_queue_is_limited_by_key_for_all_types(horae: Horae) -> None:
    @horae.job(queue="mail")
    def send(customer: int) -> None: ...

    @horae.job(queue="mail")
    def clean() -> None: ...

    early = horae.jobs.start(send, customer=1)
    name = horae.queues.limit_by_key("mail", Limit(concurrency=1, key="{customer}"))
    assert name == "queue mail.concurrency.customer"
    second, other, without = (
        horae.jobs.start(send, customer=1),
        horae.jobs.start(send, customer=2),
        horae.jobs.start(clean),
    )
    assert claim(horae) == [early.id, other.id, without.id]
    assert named(horae)[name].held_back == 1
    horae.queues.limit_by_key("mail", None)
    assert horae.jobs.get(second.id).waits_for is None
    with pytest.raises(InvalidRequest, match="must be a format"):
        horae.queues.limit_by_key("mail", Limit(concurrency=1, key=str))


def test_a_job_names_the_limit_of_its_whole_queue_that_holds_it_back(horae: Horae) -> None:
    @horae.job(queue="mail")
    def send() -> None: ...

    horae.queues.limit_by_key("mail", Limit(concurrency=1))
    first, second = horae.jobs.start(send), horae.jobs.start(send)
    assert claim(horae) == [first.id]
    assert "Limit 'queue mail.concurrency' (1 at a time) holds it back, until" in (
        horae.jobs.why(second.id).text
    )


def test_the_limit_of_a_queue_is_listed_and_changed_before_its_first_job(horae: Horae) -> None:
    name = "queue mail.concurrency.customer"
    assert horae.queues.limit_by_key("mail", Limit(concurrency=1, key="{customer}")) == name
    assert named(horae)[name].numbers == numbers_of(concurrency=1)
    assert horae.limits.set(name, concurrency=2).numbers == numbers_of(concurrency=2)
    horae.queues.limit_by_key("mail", Limit(rate="10/s"))
    horae.queues.limit_by_key("mail", None)
    assert "queue mail.rate" not in named(horae)


def test_the_command_line_limits_a_queue_by_key(horae: Horae, database: Database) -> None:
    def run(*given: str) -> Any:
        result = CliRunner().invoke(
            command_line, ["--database", url_of(database), "queues", "limit", *given, "--json"]
        )
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    assert run("mail", "--rate", "10/s", "--key", "{customer}") == {
        "name": "mail",
        "limit": "queue mail.rate.customer",
    }
    assert run("mail", "2", "--key", "{customer}")["limit"] == "queue mail.concurrency.customer"
    (view,) = horae.queues.list()
    assert list(view.limits or {}) == [
        "queue mail.rate.customer",
        "queue mail.concurrency.customer",
    ]
    assert run("mail", "--rate", "none")["limit"] is None
    assert run("mail", "3")["concurrency_limit"] == 3


async def test_coroutines_do_the_same(horae: Horae) -> None:
    assert (await horae.aio.limits.set("partner", concurrency=9)).numbers == numbers_of(
        concurrency=9
    )
    assert (await horae.aio.limits.reset("partner")).changed is None
    await horae.aio.queues.fair("mail", "owner")
    assert [view.fair_by for view in await horae.aio.queues.list()] == ["owner"]
    job = await horae.aio.jobs.start("call", account="a")
    assert await horae.aio.jobs.waiting_reason(job.id) == "It cannot start: no node runs jobs."


class Login(BaseModel):
    user: str
    password: Annotated[str, Secret()]


def test_no_key_holds_a_secret(horae: Horae) -> None:
    def log_in(login: Login, pin: Annotated[str, Secret()], user: str = "") -> None: ...

    text = "is secret or contains a secret"
    for name in ("login", "pin"):
        with pytest.raises(InvalidJobType, match=f"'{name}' {text}"):
            horae.job(name="other", limits=[Limit(concurrency=1, key=f"{{{name}}}")])(log_in)
    horae.job(name="log_in", queue="logins")(log_in)
    for name in ("login", "pin"):
        told = f"queue 'logins': parameter '{name}' of job type 'log_in' {text}"
        with pytest.raises(InvalidRequest, match=told):
            horae.queues.limit_by_key("logins", Limit(concurrency=1, key=f"{{user}}-{{{name}}}"))
        with pytest.raises(InvalidRequest, match=told):
            horae.queues.fair("logins", name)
        with pytest.raises(InvalidRequest, match=told):
            horae.queue("logins", fair_by=name)
        with pytest.raises(InvalidRequest, match=told):
            horae.queue("logins", limits=[Limit(concurrency=1, key=f"{{{name}}}")])
    horae.queues.fair("logins", "user")
    horae.queue("late", fair_by="pin")
    with pytest.raises(
        InvalidRequest, match=f"queue 'late': parameter 'pin' of job type 'late' {text}"
    ):
        horae.job(name="late", queue="late")(log_in)


def test_a_key_of_a_function_that_contains_a_secret_is_not_shown(horae: Horae) -> None:
    def log_in(user: str, password: Annotated[str, Secret()]) -> None: ...

    limits = [
        Limit(concurrency=1, key=lambda given: f"{given.user}-{given.password}", name="logins")
    ]
    horae.job(name="log_in", limits=limits)(log_in)
    first, second, other = (
        horae.jobs.start("log_in", user="ann", password=password)
        for password in ("hunter2", "hunter2", "hunter3")
    )
    assert claim(horae) == [first.id, other.id]
    reason = horae.jobs.waiting_reason(second.id)
    assert (
        reason
        == "Limit 'logins' (1 at a time) holds it back for key '••••••', until a running job ends."
    )


def test_of_the_key_of_a_queue_the_format_is_shown(horae: Horae) -> None:
    @horae.job
    def send(customer: str) -> None: ...

    horae.queues.limit_by_key("mail", Limit(concurrency=1, key="{customer}"))
    first, second = (horae.jobs.start(send, customer="hunter2", queue="mail") for _ in range(2))
    assert claim(horae) == [first.id]
    assert "holds it back for key '{customer}', until" in (
        horae.jobs.waiting_reason(second.id) or ""
    )
