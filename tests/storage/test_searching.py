"""The search of jobs, compared with a plain check of each job in Python."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from shutil import copy
from typing import Any, Final, assert_never

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, insert, text

from horae.domain.jobs.job import ENDED, Job, JobId, JobState
from horae.domain.jobs.query import (
    Attempted,
    Condition,
    Contains,
    DayAgo,
    Field,
    HasId,
    HasParameter,
    InGroup,
    InTime,
    Is,
    Lasted,
    Literal,
    Query,
    Term,
    parse_query,
)
from horae.storage.engine.database import Database
from horae.storage.jobs import reading
from horae.storage.jobs.reading import JobFilter
from horae.storage.jobs.search import EndPlace, by_end, find_by_end, searching, tags
from horae.storage.jobs.search.conditions import Search
from horae.storage.jobs.tables import jobs
from horae.storage.outcomes import deletion
from tests.harness.postgres import PostgresServer

START: Final = datetime(2026, 11, 1, tzinfo=UTC)
TYPES: Final = ("import_people", "import_orders", "Import", "send_mail")
STATES: Final = tuple(JobState)
OWNERS: Final = (None, "alice", "bob")
TAGS: Final[tuple[tuple[str, ...], ...]] = ((), ("nightly",), ("nightly", "eu 1"))
PARAMS: Final[tuple[Any, ...]] = (
    None,
    {"id": 4711},
    {"id": "4711"},
    {"id": 4711.0, "in": {"id": True}},
    {"id": None},
    {"in": {"id": 5}},
    {"id": "50%_\\"},
    {"id": [4711]},
    {"id": "Zürich"},
    [4711],
    {"id": False},
    {"id": 0},
)
ERRORS: Final = ("TimeoutError: no answer", "ValueError: 100% of 5_000", "C:\\temp is missing")
LATER: Final = START + timedelta(days=365)
SCHEDULES: Final = {"nightly": [1, 2], "mail": [3]}
COUNT: Final = 120


def row(number: int) -> dict[str, Any]:
    state = STATES[number % 5]
    started = START + timedelta(hours=number)
    ended = state in ENDED
    return {
        "type": TYPES[number % 4],
        "queue": "default" if number % 3 else "mail",
        "priority": 0,
        "state": state,
        "owner": OWNERS[number % 3],
        "params": None
        if PARAMS[number % 12] is None
        else json.dumps(PARAMS[number % 12], ensure_ascii=bool(number % 2)),
        "error": ERRORS[number % 3] if state is JobState.FAILED else None,
        "human_readable_error": "It failed: No Answer"
        if state is JobState.FAILED and number % 4
        else None,
        "unique_key": f"key-{number}" if number % 6 == 0 else None,
        "run_at": started - timedelta(seconds=number % 7 * 10),
        "created_at": started,
        "updated_at": started,
        "started_at": None if state is JobState.PENDING else started,
        "finished_at": started + timedelta(seconds=number / 4) if ended else None,
        "node_id": "n1" if state is JobState.STARTED else None,
        "waits_for": "jobs" if state is JobState.PENDING and number % 2 else None,
        "attempt": number % 4,
        "schedule_id": number % 5 + 1 if number % 2 else None,
    }


def fill(connection: Connection) -> list[JobId]:
    """Insert jobs of every kind."""
    ids: list[JobId] = []
    for number in range(COUNT):
        (added,) = connection.execute(insert(jobs).values(row(number)).returning(jobs.c.id)).one()
        ids.append(JobId(added))
        if TAGS[number % 3]:
            tags.write(connection, [JobId(added)], TAGS[number % 3])
    return ids


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]
)
def filled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Database]:
    """One database with jobs of every kind, which no test changes."""
    if request.param == "sqlite":
        file: Path = tmp_path_factory.mktemp("searched") / "horae.db"
        copy(request.getfixturevalue("migrated_sqlite"), file)
        url = f"sqlite:///{file}"
    else:
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.create_database(template=request.getfixturevalue("migrated_postgres"))
    with closing(Database(url)) as database:
        database.transact(fill)
        yield database


def search_of(query: Query) -> Search:
    paths = {
        term.condition.path for term in query.terms if isinstance(term.condition, HasParameter)
    }
    return Search(query=query, types=dict.fromkeys(paths, TYPES[:3]), schedules=SCHEDULES)


def found_in(
    database: Database, query: Query, wanted: JobFilter | None = None, limit: int = 1000
) -> list[JobId]:
    return database.autocommit(
        searching.find, wanted or JobFilter(), search_of(query), limit=limit
    ).ids


def expected(database: Database, query: Query) -> list[JobId]:
    every = database.autocommit(reading.page, JobFilter(limit=None))
    return [
        job.id
        for job in every
        if all(
            meets(job, term.condition, technical=query.technical) is not term.negated
            for term in query.terms
        )
    ]


def meets(job: Job, condition: Condition, *, technical: bool) -> bool:
    match condition:
        case HasId(ids=ids):
            found = job.id in ids
        case InGroup(id=group):
            found = job.group_id == group
        case Is():
            found = matches(job, condition)
        case Contains():
            found = contains(job, condition, technical=technical)
        case Attempted(least=least, most=most):
            found = (least is None or job.attempt >= least) and (
                most is None or job.attempt <= most
            )
        case InTime():
            found = is_in_time(job, condition)
        case Lasted():
            found = lasted(job, condition)
        case HasParameter(path=path, values=values):
            found = job.type in TYPES[:3] and any(
                same(at(job.params, path), value) for value in values
            )
        case _:
            assert_never(condition)
    return found


def contains(job: Job, condition: Contains, *, technical: bool) -> bool:
    texts = [job.human_readable_error, job.error if technical else None]
    if condition.field is Field.TEXT:
        texts += [job.type, job.queue, job.owner, job.unique_key, job.label, *job.tags]
    return any(condition.text.lower() in (each or "").lower() for each in texts)


def matches(job: Job, condition: Is) -> bool:
    if condition.field is Field.TAG:
        return any(text in job.tags for text in condition.texts)
    if condition.field is Field.SCHEDULE:
        return any(job.schedule_id in SCHEDULES.get(name, ()) for name in condition.texts)
    value = (
        getattr(job, "unique_key" if condition.field is Field.KEY else condition.field.value) or ""
    )
    return value in condition.texts or value.startswith(condition.prefixes)


def is_in_time(job: Job, condition: InTime) -> bool:
    start, end = condition.start, condition.end
    moment = job.created_at if condition.field is Field.CREATED else job.finished_at
    assert not isinstance(start, timedelta | DayAgo)
    assert not isinstance(end, timedelta | DayAgo)
    return (
        moment is not None and (start is None or moment >= start) and (end is None or moment < end)
    )


def lasted(job: Job, condition: Lasted) -> bool:
    if condition.field is Field.WAIT:
        # Pending jobs have waited for longer than any of the lengths.
        until = LATER if job.state is JobState.PENDING else job.started_at
        assert until is not None
        took = until - job.run_at
    elif job.finished_at is None or job.started_at is None:
        return False
    else:
        took = job.finished_at - job.started_at
    at_a_bound = took in (condition.least, condition.most) and condition.strictly
    is_long = condition.least is None or took >= condition.least
    return not at_a_bound and is_long and (condition.most is None or took <= condition.most)


MISSING: Final = object()


def at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name, MISSING) if isinstance(value, dict) else MISSING
    return value


def same(value: Any, wanted: Literal) -> bool:
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    return value is not MISSING and type(value) in (int, float, str, type(None)) and value == wanted


texts = st.sampled_from(
    [
        "alice",
        "carol",
        "key-6",
        "nightly",
        "eu 1",
        "mail",
        "default",
        "import",
        "Import",
        "send_mail",
        "send%",
        "import_p",
        "sen__",
        "send\\",
    ]
)
some_texts = st.lists(texts, min_size=1, max_size=3).map(tuple)
moments = st.none() | st.integers(-5, 130).map(lambda hours: START + timedelta(hours=hours))
lengths = st.none() | st.sampled_from([0.0, 0.5, 5.0, 9.75, 10.0, 11.0, 20.25]).map(
    lambda each: timedelta(seconds=each)
)
conditions = st.one_of(
    st.builds(HasId, st.lists(st.integers(1, COUNT + 5), min_size=1, max_size=3).map(tuple)),
    st.builds(InGroup, st.integers(1, 3)),
    st.builds(
        Is,
        st.sampled_from([Field.QUEUE, Field.OWNER, Field.KEY, Field.TAG, Field.SCHEDULE]),
        some_texts,
    ),
    st.builds(Is, st.just(Field.TYPE), some_texts, st.lists(texts, max_size=2).map(tuple)),
    st.builds(Is, st.just(Field.TYPE), st.just(()), some_texts),
    st.builds(
        Is,
        st.just(Field.STATE),
        st.sets(st.sampled_from(STATES).map(str), min_size=1).map(tuple),
    ),
    st.builds(
        Contains,
        st.sampled_from([Field.ERROR, Field.TEXT]),
        st.sampled_from(
            ["no answer", "100%", "5_0", "0%_", "\\temp", "absent", "100x", "MAIL", "key-1", "eu 1"]
        ),
    ),
    st.builds(Attempted, st.none() | st.integers(0, 4), st.integers(0, 4)),
    st.builds(InTime, st.sampled_from([Field.CREATED, Field.FINISHED]), moments, moments),
    st.builds(
        Lasted, st.sampled_from([Field.DURATION, Field.WAIT]), lengths, lengths, st.booleans()
    ),
    st.builds(
        HasParameter,
        st.sampled_from([("id",), ("in", "id"), ("id", "id"), ("in",)]),
        st.lists(
            st.sampled_from(
                [4711, "4711", 4711.5, True, False, None, 0, 5, "50%_\\", "Zürich", "true"]
            ),
            min_size=1,
        ).map(tuple),
    ),
)
queries = st.builds(
    Query,
    st.lists(st.builds(Term, conditions, st.booleans()), min_size=1, max_size=3).map(tuple),
    st.booleans(),
)


@given(query=queries)
def test_a_search_finds_what_meets_every_term(filled: Database, query: Query) -> None:
    assert found_in(filled, query) == expected(filled, query)


@given(query=queries)
def test_an_owner_finds_only_their_own_jobs(filled: Database, query: Query) -> None:
    owned = {
        job.id for job in filled.autocommit(reading.page, JobFilter(limit=None, owner="alice"))
    }
    found = found_in(filled, query, JobFilter(owner="alice"))
    assert found == [job_id for job_id in found_in(filled, query) if job_id in owned]


@given(query=queries, first_ended_first=st.booleans(), length=st.integers(1, 40))
def test_pages_by_end_have_every_ended_job_that_matches_in_its_order(
    filled: Database, query: Query, first_ended_first: bool, length: int
) -> None:
    wanted = set(expected(filled, query))
    ended = [
        job
        for job in filled.autocommit(reading.page, JobFilter(limit=None))
        if job.finished_at is not None and job.id in wanted
    ]
    ended.sort(key=lambda job: (job.finished_at, job.id), reverse=not first_ended_first)
    found: list[JobId] = []
    behind: EndPlace | None = None
    while True:
        page = filled.autocommit(
            find_by_end,
            JobFilter(),
            search_of(query),
            limit=length,
            seconds=10.0,
            behind=behind,
            first_ended_first=first_ended_first,
        )
        found += [place.id for place in page.places]
        if len(page.places) < length:
            break
        behind = page.places[-1]
    assert found == [job.id for job in ended]


@pytest.mark.parametrize("first_ended_first", [False, True])
def test_a_list_by_end_goes_on_where_its_time_ran_out(
    filled: Database, monkeypatch: pytest.MonkeyPatch, first_ended_first: bool
) -> None:
    monkeypatch.setattr(by_end, "WINDOWS", (3_600, 36_000))
    found: list[JobId] = []
    behind: EndPlace | None = None
    requests = 0
    while requests == 0 or behind is not None:
        page = filled.autocommit(
            find_by_end,
            JobFilter(types=["import_people"]),
            None,
            limit=1000,
            seconds=-1.0,
            behind=behind,
            first_ended_first=first_ended_first,
        )
        found += [place.id for place in page.places]
        behind = page.reached
        requests += 1
    every = filled.autocommit(
        reading.page, JobFilter(limit=None, types=["import_people"], states=ENDED)
    )
    assert sorted(found) == sorted(job.id for job in every)
    assert requests > 3


def test_no_job_in_an_open_state_is_looked_for_by_its_end(filled: Database) -> None:
    query = parse_query("state:pending,started")
    found = filled.autocommit(find_by_end, JobFilter(), search_of(query), limit=9, seconds=1.0)
    assert found.places == []
    assert found.reached is None


def test_ranges_grow_and_a_search_continues_where_it_stopped(
    filled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "RANGES", (3, 5, 20))
    query = parse_query("type:import* -state:finished")
    every = found_in(filled, query)
    assert len(every) > 10

    found: list[JobId] = []
    before = None
    while True:  # no time at all: one range after another
        part = filled.autocommit(
            searching.find, JobFilter(before=before), search_of(query), limit=1000, seconds=-1.0
        )
        found += part.ids
        if part.reached is None:
            break
        before = part.reached
    assert found == every
    assert found_in(filled, query, limit=2) == every[:2]


def test_a_search_from_the_oldest_continues_where_it_stopped(
    filled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "RANGES", (3, 5, 20))
    query = parse_query("type:import* -state:finished")
    every = found_in(filled, query)[::-1]
    found: list[JobId] = []
    after: JobId | None = JobId(0)
    while after is not None:
        part = filled.autocommit(
            searching.find,
            JobFilter(after=after),
            search_of(query),
            limit=1000,
            seconds=-1.0,
            oldest_first=True,
        )
        found += part.ids
        after = part.reached
    assert found == every
    first = filled.autocommit(
        searching.find, JobFilter(), search_of(query), limit=2, oldest_first=True
    )
    assert first.ids == every[:2]


def test_a_longer_range_is_read_only_if_time_is_left_for_it() -> None:
    next_level = partial(searching.next_level, lengths=searching.RANGES)
    assert next_level(0, 0.001, 2.0) == 1
    assert next_level(1, 0.3, 1.5) == 1  # the next one is 20 times as long
    assert next_level(1, 0.01, 1.5) == 2
    assert next_level(1, 0.3, None) == 2  # no deadline
    assert next_level(2, 0.6, 1.0) == 1
    assert next_level(3, 0.1, 2.0) == 3


def test_no_more_jobs_are_counted_than_asked(filled: Database) -> None:
    query = parse_query("type:import* -state:finished")
    every = len(expected(filled, query))
    for most, counted in [(5, (5, False)), (every, (every, True)), (every - 1, (every - 1, False))]:
        assert (
            filled.autocommit(
                searching.count, JobFilter(), search_of(query), seconds=60.0, most=most
            )
            == counted
        )


def test_today_is_that_of_the_clock_of_the_database(database: Database) -> None:
    database.transact(fill)
    assert found_in(database, parse_query("since:yesterday")) == []
    assert len(found_in(database, parse_query("until:yesterday"))) == COUNT


def test_jobs_are_counted_by_the_same_conditions(filled: Database) -> None:
    query = parse_query("type:import* -state:finished")
    counted = filled.autocommit(searching.count, JobFilter(), search_of(query), seconds=60.0)
    assert counted == (len(expected(filled, query)), True)


def test_ages_count_back_from_the_clock_of_the_database(database: Database) -> None:
    database.transact(fill)
    every = found_in(database, parse_query("created:>1s"))
    assert len(every) == COUNT
    assert found_in(database, parse_query("created:<1s")) == []
    assert found_in(database, parse_query("created:36500d..1s")) == every


@pytest.mark.parametrize(
    "text",
    [
        "type:import*",
        "queue:mail -state:failed",
        "created:2000-01-01..2040-01-01",
        "owner:alice",
        "params.id:4711",
    ],
)
def test_each_state_is_counted_by_the_same_conditions(filled: Database, text: str) -> None:
    query = parse_query(text)
    every = {job.id: job for job in filled.autocommit(reading.page, JobFilter(limit=None))}
    counts = Counter(every[job_id].state for job_id in expected(filled, query))
    for most in (COUNT, 3):
        assert filled.autocommit(
            searching.count_by_state, None, search_of(query), seconds=60.0, most=most
        ) == {state: (min(counts[state], most), counts[state] <= most) for state in JobState}


@pytest.mark.parametrize(
    "query", ["created:..9999-12-31", "-created:9999-12-31", "-created:>9999-12-31"]
)
def test_the_last_day_has_no_day_after_it(database: Database, query: str) -> None:
    database.transact(fill)
    assert len(found_in(database, parse_query(query))) == COUNT


def test_parameters_that_are_no_json_stop_no_search(sqlite_database: Database) -> None:
    ids = sqlite_database.transact(fill)
    broken = text("UPDATE horae_jobs SET params = '{broken' WHERE id = :id")
    sqlite_database.transact(lambda connection: connection.execute(broken, {"id": ids[0]}))
    assert ids[0] not in found_in(sqlite_database, parse_query("params.id:4711.0"))
    assert ids[0] in found_in(sqlite_database, parse_query("-params.id:4711"))


def test_tags_go_with_their_job(database: Database) -> None:
    ids = database.transact(fill)
    gone = database.transact(deletion.delete_jobs, ids)
    rest = database.autocommit(reading.page, JobFilter(limit=None))
    tagged = {job.id for job in rest if job.tags}

    def of_tags(connection: Connection) -> set[int]:
        return set(connection.scalars(text("SELECT job_id FROM horae_job_tags")))

    assert gone
    assert database.autocommit(of_tags) == tagged
