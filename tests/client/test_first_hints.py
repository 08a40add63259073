"""The first hint in a while rides in the insert, or is a datagram of the caller's own thread."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from horae import Horae
from horae.storage.engine import Database
from horae.wakeup import Hint, HintKind, LocalChannel, local
from horae.wakeup.postgres import PostgresChannel, PostgresTiming
from tests.harness.applications import application
from tests.storage.hint_recorder import HintRecorder

WORK = Hint(HintKind.WORK)


@pytest.fixture
def horae(database: Database) -> Iterator[Horae]:
    with application(database) as horae:

        @horae.job(name="import")
        async def _load(number: int = 0) -> None: ...

        yield horae


@pytest.fixture
def by_outbox(horae: Horae, monkeypatch: pytest.MonkeyPatch) -> list[Hint]:
    """The hints that go to other processes by the thread of the outbox; they are not sent."""
    hints: list[Hint] = []
    monkeypatch.setattr(vars(horae.components.wakeup)["_outbox"], "put", hints.append)
    return hints


@pytest.fixture
def elsewhere(database: Database) -> Iterator[HintRecorder]:
    """What another application on the database hears."""
    with closing(Horae(database.url.render_as_string(hide_password=False))) as other:
        yield HintRecorder.on(other.components.wakeup)


@pytest.mark.direct
@pytest.mark.without_redis
def test_the_first_hint_in_a_while_needs_no_thread(
    horae: Horae, by_outbox: list[Hint], elsewhere: HintRecorder
) -> None:
    horae.jobs.start("import", number=1)
    elsewhere.wait_for(WORK)
    assert by_outbox == []


@pytest.mark.direct
def test_the_sender_itself_hears_it_once(horae: Horae) -> None:
    here = HintRecorder.on(horae.components.wakeup)
    horae.jobs.start("import")
    here.wait_for(WORK)
    horae.components.wakeup.send(Hint(HintKind.NODES))  # behind whatever is still on its way
    here.wait_for(Hint(HintKind.NODES))
    assert here.received == [WORK, Hint(HintKind.NODES)]


def test_a_job_that_starts_later_or_needs_a_guard_has_its_hint_sent(
    horae: Horae, by_outbox: list[Hint], database: Database
) -> None:
    horae.jobs.start("import", delay="1h")
    if not database.is_file:
        assert by_outbox == [WORK]


def test_other_hints_are_merged(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    if database.is_file:
        monkeypatch.setattr(local, "DIRECT_INTERVAL", 60)
        channel: LocalChannel | PostgresChannel = LocalChannel("a database")
        sent: list[list[Hint]] = []
        monkeypatch.setattr(channel, "_transmit", sent.append)
        with closing(channel):
            channel.send(WORK)
            assert sent == [[WORK]]
            put: list[Hint] = []
            monkeypatch.setattr(vars(channel)["_outbox"], "put", put.append)
            channel.send(WORK)
        assert (sent, put) == ([[WORK]], [WORK])
        return
    with closing(
        PostgresChannel(database.url, timing=PostgresTiming(piggyback_interval=60))
    ) as channel:
        first, second = channel.piggyback(WORK), channel.piggyback(WORK)
    assert first is not None
    assert second is None


@pytest.mark.postgres
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_nothing_rides_if_hints_have_a_url_of_their_own(database: Database) -> None:
    with closing(PostgresChannel(database.url, database=database.url)) as channel:
        assert channel.piggyback(WORK) is None
