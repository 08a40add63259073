"""What is written is read again, and no time zone of a session or a process shifts an instant."""

import json
import math
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import make_url, select

from horae.client.jobs.creating import creation as handler
from horae.client.jobs.creating.new_job import new_job
from horae.domain.jobs.job import ENDED, JobState
from horae.domain.jobs.retention import KeptFor
from horae.domain.storable import is_storable_json
from horae.domain.times import EPOCH
from horae.errors import InvalidParameters
from horae.runtime.bodies.values import result_text
from horae.storage.engine.database import Database
from horae.storage.engine.dialect import database_now, seconds_from_now, seconds_since
from horae.storage.jobs import claims, creation, owed_hooks
from horae.storage.jobs.tables import jobs
from horae.storage.nodes import nodes
from horae.storage.outcomes import cancelling
from horae.types.function import JobFunction
from horae.types.options.start_options import StartOptions
from tests.harness.environment import changed_environment
from tests.storage import arrange
from tests.storage.arrange import (
    PLAIN,
    again,
    attempts,
    claimed,
    job,
    registered,
    running,
    settled,
    started,
    success,
    wall_clock,
)

BOTH = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
FLOATS = st.floats(-1e15, 1e15)  # beyond, jsonb says 10000000000000000 and not 1e16
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | FLOATS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
ZONES = ["America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati"]
DEEP = json.loads("[" * 99 + "]" * 99)


@pytest.fixture(params=ZONES)
def zoned(request: pytest.FixtureRequest, database: Database) -> Iterator[Database]:
    """Process and session are in the zone."""
    with changed_environment({"TZ": request.param}):
        yield from _in_zone(database, request.param)


def _in_zone(database: Database, zone: str) -> Iterator[Database]:
    if database.dialect == "sqlite":
        yield database
        return
    url = make_url(database.url).update_query_dict({"options": f"-c timezone={zone}"})
    with closing(Database(url)) as other:
        with other.engine.begin() as connection:
            assert connection.exec_driver_sql("SHOW timezone").scalar_one() == zone
        yield other


@JobFunction
def keep(value: Any) -> None:
    del value


def kept(database: Database, value: object) -> Any:
    wanted = new_job(keep.job_type, StartOptions(meta={"value": value}), {"value": value})
    created, _ = database.transact(handler.create, wanted)
    found = job(database, created.id)
    assert found.meta == {"value": value}
    assert found.params == created.params
    return found.params["value"]


@BOTH
@given(value=VALUES)
def test_any_json_value_is_read_as_it_was_written(database: Database, value: object) -> None:
    assert kept(database, value) == value
    claim = running(database, params=json.dumps({"value": value}))
    assert json.loads(claim.params or "") == {"value": value}
    settled(database, success(claim, result=json.dumps(value)))
    assert job(database, claim.id).result == value


@BOTH
@given(values=st.lists(VALUES, min_size=1, max_size=5))
def test_any_batch_is_read_as_it_was_written(database: Database, values: list[object]) -> None:
    params = [{"value": value} for value in values]
    ids = database.transact(creation.add_many, PLAIN, [json.dumps(each) for each in params])
    assert [job(database, job_id).params for job_id in ids] == params


@pytest.mark.parametrize(
    "value", [DEEP, "é" * 100_000, 2**63, -(2**200), 5e-324, 0.1, "\u2028\U0001f550", {"": ""}]
)
def test_values_at_the_edge(database: Database, value: object) -> None:
    assert kept(database, value) == value


def test_a_big_number_survives_the_way_to_the_body(database: Database) -> None:
    claim = running(database, params=json.dumps({"value": 2**80 + 1}))
    read: Any = keep.job_type.parameters.load(claim.params)
    assert read.value == 2**80 + 1


@pytest.mark.parametrize("value", [1e16, 1e22, -1.5e300, 1.7976931348623157e308, 1e-7])
def test_a_large_float_stays_a_float_where_nothing_is_declared(
    database: Database, value: float
) -> None:
    """Of 1e22 PostgreSQL makes a whole number."""
    found = kept(database, [value, {"inner": value}, "1e22"])
    assert repr(found) == repr([value, {"inner": value}, "1e22"])
    claim = running(database)
    settled(database, success(claim, result=result_text({"loss": value}, 1000)))
    assert repr(job(database, claim.id).result) == repr({"loss": value})


def test_zero_has_no_sign_on_any_database(database: Database) -> None:
    """PostgreSQL has no negative zero."""
    given = [-0.0, {"inner": -0.0}, "-0.0", -0.05, -0.0e-5]
    read = [0.0, {"inner": 0.0}, "-0.0", -0.05, 0.0]
    assert repr(kept(database, given)) == repr(read)
    claim = running(database)
    settled(database, success(claim, result=result_text(given, 1000)))
    assert repr(job(database, claim.id).result) == repr(read)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_default_beyond_json_reaches_the_body(database: Database, value: float) -> None:
    @JobFunction
    def measure(value: float = value, others: list[float] = [value]) -> None:  # noqa: B006 - nobody changes it
        del value, others

    wanted = new_job(measure.job_type, StartOptions(), {})
    created, _ = database.transact(handler.create, wanted)
    claim = database.autocommit(claims.claim_one, created.id, registered(database))
    assert claim is not None
    read: Any = measure.job_type.parameters.load(claim.params)
    assert (repr(read.value), repr(read.others)) == (repr(value), repr([value]))


@pytest.mark.parametrize("value", [1e16, 1.7976931348623157e308, 9.792046307846355e16, -0.0])
def test_a_float_is_a_float_again_where_it_is_declared(database: Database, value: float) -> None:
    @JobFunction
    def measure(value: float) -> None:
        del value

    wanted = new_job(measure.job_type, StartOptions(), {"value": value})
    created, _ = database.transact(handler.create, wanted)
    claim = database.autocommit(claims.claim_one, created.id, registered(database))
    assert claim is not None
    read: Any = measure.job_type.parameters.load(claim.params)
    assert (type(read.value), read.value) == (float, value)


def test_half_a_surrogate_pair_is_refused_at_the_caller() -> None:
    with pytest.raises(InvalidParameters):
        new_job(keep.job_type, StartOptions(), {"value": "\ud800"})


INSTANTS = st.datetimes(
    EPOCH.replace(tzinfo=None),
    EPOCH.replace(tzinfo=None, year=9999),
    timezones=st.sampled_from([UTC, *map(ZoneInfo, ZONES)]),
)


@BOTH
@given(when=INSTANTS)
def test_any_instant_is_read_in_utc_to_the_microsecond(database: Database, when: datetime) -> None:
    found = job(database, started(database, run_at=when)).run_at
    assert found == when.astimezone(UTC)  # in a gap of its own zone an instant equals nothing
    assert found.tzinfo is UTC
    assert found.microsecond == when.microsecond


def test_an_offset_is_no_zone_and_no_matter(database: Database) -> None:
    when = datetime(2026, 3, 29, 2, 30, 0, 1, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    assert job(database, started(database, run_at=when)).run_at == when


def test_seconds_from_now_and_since_agree(database: Database) -> None:
    with database.engine.begin() as connection:
        earlier = seconds_from_now(-90.25)
        since, now = connection.execute(select(seconds_since(earlier), database_now())).one()
    assert since == pytest.approx(90.25, abs=0.01)
    assert abs(now - wall_clock()) < timedelta(seconds=60)


@pytest.mark.direct
def test_no_zone_shifts_what_the_database_says(zoned: Database) -> None:
    slack = timedelta(seconds=60)
    found = job(zoned, started(zoned, delay=3600.0))
    assert abs(found.created_at - wall_clock()) < slack
    assert abs(found.run_at - wall_clock() - timedelta(hours=1)) < slack


@pytest.mark.direct
def test_no_zone_shifts_what_is_due(zoned: Database) -> None:
    for zone in (*ZONES, "UTC"):
        local = wall_clock().astimezone(ZoneInfo(zone))
        assert claimed(zoned) == []
        late, due = (
            started(zoned, run_at=local + timedelta(minutes=minutes)) for minutes in (1, -1)
        )
        assert [claim.id for claim in claimed(zoned, limit=10)] == [due]
        assert abs(job(zoned, late).run_at - local) == timedelta(minutes=1)
        zoned.transact(cancelling.cancel, late, None)


@pytest.mark.direct
def test_the_zone_of_the_session_shifts_no_times_of_a_job(zoned: Database) -> None:
    claim = running(zoned, owner="alice", max_attempts=2)
    assert arrange.expired(zoned, {"import": 60.0}) == []
    settled(zoned, again(claim, 60.0))
    assert claimed(zoned) == []
    assert arrange.expired_pending(zoned, {"import": 60.0}) == []
    found = zoned.transact(cancelling.cancel, claim.id, None, owed=False)
    assert found is not None
    assert (
        zoned.autocommit(
            owed_hooks.past_keeping,
            KeptFor(60.0, tuple(ENDED), ("import",)),
            limit=10,
        )
        == []
    )
    [ended] = zoned.autocommit(
        owed_hooks.past_keeping, KeptFor(-1.0, tuple(ENDED), ("import",)), limit=10
    )
    assert ended == (found.job.finished_at, claim.id)
    [attempt] = attempts(zoned, claim.id)
    for moment in (
        found.job.started_at,
        found.job.finished_at,
        attempt.started_at,
        attempt.finished_at,
    ):
        assert moment is not None
        assert abs(moment - wall_clock()) < timedelta(seconds=60)
        assert moment.tzinfo is UTC


@pytest.mark.direct
def test_no_zone_silences_a_node(zoned: Database) -> None:
    node = registered(zoned)
    assert zoned.autocommit(nodes.heartbeat, node) == 0
    [view] = zoned.transact(nodes.view)
    assert 0 <= view.silence < 60
    assert abs(view.heartbeat_at - wall_clock()) < timedelta(seconds=60)


@pytest.mark.direct
def test_a_job_written_in_one_zone_is_read_in_another(database: Database) -> None:
    when = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    job_id = started(database, run_at=when)
    for zone in ZONES:
        for other in _in_zone(database, zone):
            assert job(other, job_id).run_at == when
            with other.engine.begin() as connection:
                [same] = connection.execute(
                    select(jobs.c.id).where(jobs.c.run_at == when.astimezone(ZoneInfo(zone)))
                )
            assert same.id == job_id
            assert job(other, job_id).state is JobState.PENDING


def test_a_result_that_is_too_long_is_refused_before_its_text_is_checked() -> None:
    with pytest.raises(TypeError, match="more than 10 bytes of JSON"):
        result_text("\x00" * 100, 10)


def test_a_result_with_a_tuple_as_a_key_is_refused() -> None:
    """JSON would join it to a text, from which nothing tells its parts apart."""
    with pytest.raises(TypeError, match=r"stored as JSON, at sums: a key is a tuple"):
        result_text({"sums": {(1, 2): 3}}, 1000)
    assert result_text({1: {2: 3}}, 1000) == '{"1":{"2":3}}'


@pytest.mark.parametrize(
    ("text", "is_storable"), [(r'"\u0000"', False), (r'"\\u0000"', True), (r'"\\\u0000"', False)]
)
def test_an_escaped_nul_is_told_from_the_text_that_looks_like_it(
    text: str, is_storable: bool
) -> None:
    assert is_storable_json(text) is is_storable
