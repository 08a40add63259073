"""`testing`: an application under test on a temporary database of each kind."""

import logging
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.orm import Session

from horae import (
    Backoff,
    ConfigurationError,
    Horae,
    HoraeError,
    InvalidRequest,
    Job,
    JobContext,
    JobFailed,
    JobState,
    Limit,
    Retry,
    Snooze,
)
from horae.storage.engine.database import Database
from horae.testing import HoraeTesting, databases, job_context, testing
from tests.harness.applications import url_of

pytestmark = pytest.mark.one_database

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Shop:
    """An application whose bodies write down what they do."""

    def __init__(self, horae: Horae) -> None:
        self.horae, self.done = horae, list[str]()
        self.fails = True

        @horae.job
        def say(job: JobContext, word: str, *, again: bool = False) -> str:
            self.done.append(word)
            if again:
                say.start(word=f"{word} again")
            return word.upper()

        @horae.job(max_attempts=3, backoff=Backoff(base="10m", jitter=0))
        async def flaky(word: str) -> None:
            self.done.append(word)
            if self.fails:
                raise ValueError(word)

        @horae.job(on_error=lambda _job, error: self.done.append(f"on_error: {error}"))
        def wrong(job: JobContext) -> None:
            job.progress.set(40)
            raise ValueError("out of stock")

        @horae.job(transaction="read committed")
        def write(job: JobContext, *, fail: bool = False) -> None:
            job.connection.execute(text("CREATE TABLE IF NOT EXISTS written (number INTEGER)"))
            job.connection.execute(text("INSERT INTO written VALUES (1)"))
            if fail:
                raise ValueError("no")

        @horae.job
        def outer() -> str:
            return str(horae.jobs.wait(say.start(word="inner")))

        self.say, self.flaky, self.wrong = say, flaky, wrong
        self.write, self.outer = write, outer


both = pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True
)
"""On each kind of database: what asks it for the time or for due jobs in its own words."""


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Database:
    """Without a pooler, which does not know the temporary databases."""
    kind = getattr(request, "param", "sqlite")
    name = "postgres_database" if kind == "postgresql" else "sqlite_database"
    made: Database = request.getfixturevalue(name)
    return made


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with closing(Horae(url_of(database))) as horae:
        yield horae
        assert horae.jobs.list().jobs == []  # nothing reached the application's own database


@pytest.fixture
def shop(horae: Horae) -> Shop:
    return Shop(horae)


@pytest.fixture
def t(shop: Shop) -> Iterator[HoraeTesting]:
    with testing(shop.horae, now=NOW) as t:
        yield t


def states(jobs: list[Job]) -> list[str]:
    return [job.state.value for job in jobs]


@both
def test_due_jobs_run_until_none_is_left(shop: Shop, t: HoraeTesting) -> None:
    shop.horae.jobs.start(shop.say, word="low")
    shop.say.with_options(priority=1).start(word="high", again=True)
    shop.say.with_options(delay="1h").start(word="later")
    assert shop.done == []
    jobs = t.drain()
    assert shop.done == ["high", "low", "high again"]
    assert [(job.state, job.result) for job in jobs] == [
        (JobState.FINISHED, word.upper()) for word in shop.done
    ]
    assert t.drain() == []


def test_only_the_named_queues_are_drained(shop: Shop, t: HoraeTesting) -> None:
    shop.say.with_options(queue="mail").start(word="mail")
    shop.say.start(word="other")
    t.drain(queues=["mail"])
    assert shop.done == ["mail"]


def test_the_error_of_a_body_is_raised(shop: Shop, t: HoraeTesting) -> None:
    job = shop.wrong.start()
    with pytest.raises(JobFailed) as raised:
        t.drain()
    assert repr(raised.value.__cause__) == "ValueError('out of stock')"
    assert shop.done == ["on_error: out of stock"]
    read = shop.horae.jobs.get(job.id)
    assert (read.state, read.progress_percentage) == (JobState.FAILED, 40)


def test_failures_may_be_expected(shop: Shop, t: HoraeTesting) -> None:
    shop.wrong.start()
    assert states(t.drain(check=False)) == ["failed"]
    assert t.drain() == []  # the failure is not raised later


@both
def test_attempts_follow_in_virtual_time(shop: Shop, t: HoraeTesting) -> None:
    job = shop.flaky.start(word="a")
    assert states(t.drain()) == ["pending"]
    assert states(t.run_due("9m")) == []
    assert states(t.run_due("1m")) == ["pending"]
    shop.fails = False
    assert states(t.run_due(NOW + timedelta(days=1))) == ["finished"]
    assert t.now == NOW + timedelta(days=1)
    read = shop.horae.jobs.get(job.id)
    assert (read.attempt, read.started_at) == (3, NOW + timedelta(minutes=20))


@both
def test_a_month_of_cron(horae: Horae) -> None:
    runs: list[datetime | None] = []

    @horae.cron("30 2 * * *", timezone="Europe/Berlin")
    def nightly(job: JobContext) -> None:
        runs.append(job.nominal_time)
        if len(runs) == 2:
            raise Retry("once more")

    @horae.every("7d")
    async def weekly() -> None: ...

    with testing(horae, now=NOW) as t:
        t.run_due("30d", check=False)
        schedule = horae.schedules.get("nightly")
        assert schedule.statistics.total_runs == 30
        assert schedule.statistics.total_failures == 1
        assert horae.schedules.get("weekly").statistics.total_successes == 5
    # 2:30 does not exist on the 29th of March, and is moved to the end of the gap.
    hours = {moment.hour for moment in runs if moment is not None and moment.day < 29}
    assert hours == {1}
    assert datetime(2026, 3, 29, 1, tzinfo=UTC) in runs


def test_time_does_not_go_back(t: HoraeTesting) -> None:
    with pytest.raises(InvalidRequest, match="is before the clock, which stands at 2026-03-01 12"):
        t.run_due(NOW - timedelta(seconds=1))
    with pytest.raises(InvalidRequest, match="has no time zone"):
        t.run_due(datetime(2027, 1, 1))  # noqa: DTZ001 - refused


@both
def test_a_job_that_expires_in_virtual_time(shop: Shop, t: HoraeTesting) -> None:
    job = shop.say.with_options(expires="5m", delay="1m").start(word="a")
    shop.horae.queues.pause("default")
    t.run_due("1h")
    assert shop.horae.jobs.get(job.id).error_code == "expired"


@both
def test_limits_hold_in_virtual_time(horae: Horae) -> None:
    @horae.job(limits=[Limit(rate="1/1m")])
    def mail() -> None: ...

    with testing(horae, now=NOW) as t:
        for _ in range(3):
            mail.start()
        assert len(t.drain()) == 1
        assert len(t.run_due("10m")) == 2


def test_a_job_that_starts_itself_for_ever(horae: Horae) -> None:
    @horae.job
    def again() -> None:
        raise Snooze("0s")

    with testing(horae) as t:
        again.start()
        with pytest.raises(HoraeError, match="still due after 20 runs; does job 1 start itself"):
            t.drain(most=20)


def test_who_waits_runs_what_is_due(shop: Shop, t: HoraeTesting) -> None:
    assert shop.horae.jobs.wait(shop.outer.start()) == "INNER"
    assert len(t.started(shop.say, word="inner")) == 1


@both
async def test_who_waits_in_a_coroutine(shop: Shop, t: HoraeTesting) -> None:
    job = await shop.say.aio.start(word="a")
    assert await shop.horae.aio.jobs.wait(job) == "A"
    shop.fails = False
    await shop.horae.aio.jobs.wait(await shop.flaky.aio.start(word="b"))
    assert t.drain() == []


def test_eager(shop: Shop) -> None:
    with testing(shop.horae, eager=True):
        job = shop.say.start(word="a", again=True)
        assert shop.done == ["a", "a again"]
        assert shop.horae.jobs.get(job.id).result == "A"


def test_an_eager_body_uses_the_session_whose_commit_has_started_it(shop: Shop) -> None:
    with testing(shop.horae, eager=True) as t, Session(t.engine) as session:

        @shop.horae.job
        def count() -> int:
            with session.begin():
                counted: int = session.scalars(text("SELECT count(*) FROM horae_jobs")).one()
            return counted

        shop.horae.jobs.start(count, session=session)
        session.commit()
        assert [job.result for job in t.started(count)] == [1]


@both
def test_effects_within_the_transaction_of_the_body(shop: Shop, t: HoraeTesting) -> None:
    jobs = [shop.write.start(), shop.write.start(fail=True)]
    assert states(t.drain(check=False)) == ["finished", "failed"]
    database = shop.horae.components.database
    assert (
        database.autocommit(lambda c: c.execute(text("SELECT count(*) FROM written")).scalar()) == 1
    )
    assert [job.id for job in jobs] == [1, 2]


def test_what_was_started(shop: Shop, t: HoraeTesting) -> None:
    first = shop.say.with_options(owner="alice", tags=["new"]).start(word="a")
    shop.say.start(word="b", again=True)
    assert [job.id for job in t.started(shop.say)] == [1, 2]
    assert [job.id for job in t.started("say", word="a", owner="alice", tags=["new"])] == [first.id]
    t.nothing_started(shop.flaky)
    t.nothing_started(shop.say, word="c")
    with pytest.raises(AssertionError) as raised:
        t.started(shop.say, word="c", owner="bob")
    assert str(raised.value) == (
        "say(owner='bob', word='c') was not started; these jobs were:\n"
        "  job 1: say(again=False, word='a') of alice, pending\n"
        "  job 2: say(again=True, word='b') pending"
    )
    with pytest.raises(AssertionError, match="1 job was started:\n  job 2: say"):
        t.nothing_started(shop.say, word="b")
    with pytest.raises(
        InvalidRequest, match=r"'say' has no parameter 'wrod'.*; did you mean 'word'"
    ):
        t.nothing_started(shop.say, wrod="b")


def test_nothing_was_started(shop: Shop, t: HoraeTesting) -> None:
    t.nothing_started()
    with pytest.raises(AssertionError, match=r"^say\(\) was not started; no job was$"):
        t.started(shop.say)


@both
def test_the_node_of_a_job_dies(shop: Shop, t: HoraeTesting) -> None:
    shop.fails = False
    crashed = t.crash(shop.flaky.start(word="a"))
    assert (crashed.state, crashed.attempt, shop.done) == (JobState.PENDING, 1, [])
    assert [attempt.outcome for attempt in shop.horae.jobs.attempts(crashed.id)] == ["crashed"]
    assert states(t.run_due("1h")) == ["finished"]


def test_a_job_without_attempts_fails_by_the_death_of_its_node(shop: Shop, t: HoraeTesting) -> None:
    crashed = t.crash(shop.wrong.start())
    assert crashed.state is JobState.FAILED
    assert len(shop.done) == 1
    assert "on_error: " in shop.done[0]
    with pytest.raises(InvalidRequest, match="job 1 is failed, so no node runs it any more"):
        t.crash(crashed)
    with pytest.raises(InvalidRequest, match=r"job 2 is pending, and due at .*; t\.run_due"):
        t.crash(shop.say.with_options(delay="1h").start(word="later"))


@both
def test_the_application_is_as_before(shop: Shop, database: Database) -> None:
    before = shop.horae.settings
    outside = shop.say.start(word="outside")

    def failing_test() -> None:
        with testing(shop.horae, now=NOW):
            shop.say.start(word="inside")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing_test()
    assert shop.horae.settings is before
    (left,) = shop.horae.jobs.list().jobs
    assert left.id == outside.id
    later = shop.say.start(word="later")
    assert later.created_at >= left.created_at > NOW  # the clock goes on where it was
    for job in (left, later):
        shop.horae.jobs.cancel(job.id)
        shop.horae.jobs.delete(job.id)


def test_the_application_may_close_and_open_in_a_test(shop: Shop, t: HoraeTesting) -> None:
    shop.say.start(word="a")
    shop.horae.close()
    assert states(t.run_due("1h")) == ["finished"]
    assert t.now == NOW + timedelta(hours=1)


@both
def test_tests_within_tests(shop: Shop, t: HoraeTesting) -> None:
    shop.say.start(word="outer")
    with testing(shop.horae, now=NOW + timedelta(days=1)) as inner:
        inner.nothing_started()
        assert inner.now == NOW + timedelta(days=1)
    assert len(t.started(shop.say)) == 1
    assert t.now == NOW


def test_a_clock_without_a_zone_is_refused(horae: Horae) -> None:
    naive = datetime(2027, 1, 1)  # noqa: DTZ001 - refused
    with pytest.raises(InvalidRequest, match="has no time zone"), testing(horae, now=naive):
        pass


@pytest.mark.postgres
def test_a_user_who_may_not_create_databases(
    direct_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = create_engine(direct_url, isolation_level="AUTOCOMMIT")
    with owner.connect() as connection:
        connection.execute(text("CREATE ROLE nobody_much LOGIN"))
    try:
        url = make_url(direct_url).set(username="nobody_much").render_as_string()
        monkeypatch.setattr(databases, "_empty", {})  # as in a new process
        with (
            closing(Horae(url)) as horae,
            pytest.raises(ConfigurationError, match="ALTER ROLE … CREATEDB, or pass connection"),
            testing(horae),
        ):
            pass
    finally:
        with owner.connect() as connection:
            connection.execute(text("DROP ROLE nobody_much"))
        owner.dispose()


def test_a_body_is_called_directly() -> None:
    horae = Horae("sqlite:///never-opened.db")

    @horae.job
    def body(job: JobContext, path: str) -> str:
        job.progress.set(50, label="halfway")
        return f"{path} {job.owner} {job.attempt} {job.meta['tenant']}"

    context = job_context(owner="alice", attempt=2, meta={"tenant": "acme"})
    assert body(context, path="a.csv") == "a.csv alice 2 acme"
    assert (context.progress.percentage, context.progress.label) == (50, "halfway")
    assert not Path("never-opened.db").exists()


def test_a_class_is_called_with_its_parameters() -> None:
    context: JobContext[Any] = job_context(params={"path": "a.csv"}, nominal_time=NOW)
    assert (context.params, context.nominal_time) == ({"path": "a.csv"}, NOW)


def test_the_log_of_bodies_is_seen_by_the_test(
    shop: Shop, t: HoraeTesting, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        shop.wrong.start()
        t.drain(check=False)
    assert (
        "job 1 (wrong) failed in attempt 1 of 1, for good: ValueError: out of stock" in caplog.text
    )
