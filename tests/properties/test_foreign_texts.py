"""What other programs may write where Horae reads: no text raises, and what is read could have been written by Horae."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from horae import Secret
from horae.domain.backoff import Backoff
from horae.domain.jobs.job import Claim, JobId
from horae.domain.jobs.progress import check_label
from horae.domain.names import LONGEST_NAME
from horae.domain.storable import LARGEST_ID
from horae.live.database import DatabaseLiveStore
from horae.live.redis import read_report, report_text
from horae.live.store import CancelRequest, LiveReport
from horae.runtime.bodies.finished_run import backoff_of
from horae.storage.engine.database import Database
from horae.storage.jobs.limits.own_limits import own_limits
from horae.types.parameters.secret import secret_values
from horae.wakeup.payload import decode

FIRST = JobId(1)
NESTED = "[" * 3_000
numbers = st.one_of(
    st.integers(-(2**70), 2**70), st.sampled_from([1, 50, 999, 2**63]), st.text(max_size=3)
)
values = st.one_of(
    st.text(max_size=200),
    st.sampled_from(
        [
            "null",
            '"label"',
            NESTED,
            '"' + "x" * 2_000_000 + '"',
            '"\\ud800"',
            '"a\\nb"',
            '"pending"',
            "1e999",
        ]
    ),
    st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists).map(
        json.dumps
    ),
)
entries = st.one_of(
    st.binary(max_size=100).map(lambda data: data.decode(errors="replace")),
    st.builds("{} {} {}".format, numbers, numbers, values),
)
hints = st.builds(
    '{} {{"kind": {}, "ids": {}, "count": {}, "seed": {}, "busy": {}}}'.format,
    st.text(max_size=3),
    st.sampled_from(['"work"', '"ended"']) | values,
    st.lists(st.integers(-1, 2**70)).map(json.dumps) | values,
    numbers,
    numbers,
    st.just("[]") | values,
)


@given(entries)
def test_a_report_on_redis_is_ignored_or_is_one_that_a_body_can_make(text: str) -> None:
    found = read_report(FIRST, text)
    if found is not None:
        assert 0 <= found.progress_percentage <= 100
        if found.label is not None:
            check_label(found.label)
        assert read_report(FIRST, report_text(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        '1 999 "x"',
        '1 50 "\\ud800"',
        f"1 50 {NESTED}",
        '1 50 "' + "x" * 2_000_000 + '"',
        '1 50 "a\\u001b"',
    ],
)
def test_a_forged_report_is_ignored(text: str) -> None:
    assert read_report(FIRST, text) is None


def test_the_longest_report_is_read() -> None:
    longest = LiveReport(FIRST, 2**62, 100, "\U0001f600" * 128)
    assert read_report(FIRST, report_text(longest)) == longest


@given(hints | entries)
def test_a_hint_is_ignored_or_has_numbers_that_a_query_can_take(text: str) -> None:
    found = decode(text)
    if found is not None:
        hint = found[1]
        assert all(0 < job_id <= LARGEST_ID for job_id in hint.job_ids)
        assert hint.count is None or 0 < hint.count <= LARGEST_ID
        assert hint.seed is None or 0 <= hint.seed <= LARGEST_ID


@given(
    values
    | st.builds('{{"weight": {}, "limits": [["name", {}, {}]]}}'.format, numbers, values, values)
)
def test_what_is_no_limit_of_a_job_limits_nothing(text: str) -> None:
    weight, entries = own_limits(text)
    assert 0 < weight < 2**31
    assert all(
        name and len(name) <= LONGEST_NAME and len(key) <= LONGEST_NAME for name, key, _ in entries
    )


@given(values)
def test_a_back_off_that_cannot_be_read_is_that_of_the_type(text: str) -> None:
    claim = Claim(*(None for _ in Claim._fields))._replace(id=FIRST, backoff=text)  # type: ignore[arg-type]
    assert isinstance(backoff_of(claim, None), Backoff)


class Hides(BaseModel):
    of: Annotated[Any, Secret()] = None


@given(values)
def test_secrets_are_looked_for_in_parameters_of_any_form(text: str) -> None:
    list(secret_values(Hides, text))


stored = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.binary(),
    st.text(st.characters(codec="utf-8")),
    st.none(),
)


@pytest.fixture(scope="module")
def side_car(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[DatabaseLiveStore, sqlite3.Connection]]:
    folder: Path = tmp_path_factory.mktemp("live")
    with (
        closing(Database(f"sqlite:///{folder}/horae.db")) as database,
        closing(DatabaseLiveStore(database)) as store,
    ):
        store.request_cancel(FIRST, CancelRequest("alice"))
        store.publish([LiveReport(FIRST, 1, 50)])
        with closing(
            sqlite3.connect(f"{folder}/horae.db-live", isolation_level=None)
        ) as connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            yield store, connection


@given(
    cells=st.tuples(stored, stored, stored, stored, stored),
    cell=st.sampled_from(["?", "CAST(? AS TEXT)"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_of_the_side_car_file_are_ignored_or_readable(
    side_car: tuple[DatabaseLiveStore, sqlite3.Connection], cells: tuple[Any, ...], cell: str
) -> None:
    store, connection = side_car
    try:
        report = f"lease = {cell}, progress_percentage = {cell}, label = {cell}"
        connection.execute(f"UPDATE horae_live_jobs SET {report}", cells[:3])
        connection.execute(
            f"UPDATE horae_live_cancels SET requested_by = {cell}, forced = {cell}", cells[3:]
        )
    except sqlite3.IntegrityError:
        return  # null
    assert all(0 <= report.progress_percentage <= 100 for report in store.read([FIRST]).values())
    request = store.cancel_requests([FIRST])[FIRST]
    assert request.by is None or isinstance(request.by, str)
    assert isinstance(request.forced, bool)
