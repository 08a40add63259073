"""The grammar of the search: what is written is read again, and what cannot be read is refused with a place."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from horae.domain.jobs.job import JobState
from horae.domain.jobs.query import (
    MOST_CHARACTERS,
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
    Query,
    Term,
    dated,
    parse_query,
)
from horae.domain.jobs.query.terms import MOST_TERMS
from horae.errors import InvalidQuery, InvalidRequest
from tests.properties.written_queries import print_query

values = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=30)
names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Z", "C"], exclude_characters='":.<>\\'),
    min_size=1,
    max_size=9,
)
days = (
    st.dates(min_value=datetime(2000, 1, 1, tzinfo=UTC).date())
    .map(str)
    .filter(lambda day: day < "9999")
)
pieces = st.sampled_from(
    [
        "type:",
        "params.",
        "id:",
        "created:",
        "since:",
        "duration",
        "wait:",
        "attempts",
        "state:failed",
        "group:",
        "schedule:",
        "yesterday",
        "today",
        ",",
        "=",
        "-",
        '"',
        "\\",
        "..",
        ">",
        "<",
        "*",
        "2h",
        "2026-11-22",
        "4711",
        " ",
        ":",
    ]
)


def no_star(prefixes: tuple[str, ...]) -> bool:
    return not any(set(prefix) & {"*", ","} for prefix in prefixes)


def quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@given(
    terms=st.lists(
        st.tuples(
            st.booleans(), st.sampled_from(["owner", "queue", "key", "tag", "error"]), values
        ),
        min_size=1,
        max_size=5,
    )
)
def test_quoted_texts_are_read_as_they_were(terms: list[tuple[bool, str, str]]) -> None:
    text = " ".join(
        f"{'-' if negated else ''}{field}:{quote(value)}" for negated, field, value in terms
    )
    assert parse_query(text).terms == tuple(
        Term(
            Contains(Field.ERROR, value) if field == "error" else Is(Field(field), (value,)),
            negated,
        )
        for negated, field, value in terms
    )


moments = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - Hypothesis adds the zone
    max_value=datetime(9000, 1, 1),  # noqa: DTZ001 - Hypothesis adds the zone
    timezones=st.just(UTC),
)
lengths = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=36_000))
numbers = st.integers(0, 10**9)
texts = st.lists(values, min_size=1, max_size=3).map(tuple)
times = st.sampled_from([Field.CREATED, Field.FINISHED])
conditions: st.SearchStrategy[Condition] = st.one_of(
    st.builds(
        Is,
        st.sampled_from([Field.QUEUE, Field.OWNER, Field.KEY, Field.TAG, Field.SCHEDULE]),
        texts,
    ),
    st.builds(
        Is, st.just(Field.TYPE), texts, st.lists(names, max_size=2).map(tuple).filter(no_star)
    ),
    st.builds(Is, st.just(Field.STATE), st.sets(st.sampled_from(JobState), min_size=1).map(tuple)),
    st.builds(Contains, st.sampled_from([Field.ERROR, Field.TEXT]), values),
    st.builds(HasId, st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=5).map(tuple)),
    st.builds(InGroup, st.integers(0, 2**63 - 1)),
    st.builds(HasParameter, st.lists(names, min_size=1, max_size=4).map(tuple), st.tuples(values)),
    numbers.map(lambda number: HasParameter(("n",), (number, str(number)))),
    st.builds(InTime, times, moments, st.none()),
    st.builds(InTime, times, st.none(), moments),
    st.builds(InTime, times, lengths, st.none()),
    st.builds(InTime, times, st.none(), lengths),
    st.sampled_from(
        [
            InTime(Field.CREATED, DayAgo(1), DayAgo(0)),
            InTime(Field.CREATED, DayAgo(1), DayAgo(-1)),
            InTime(Field.CREATED, DayAgo(0), None),
            *(InTime(Field.FINISHED, None, DayAgo(days)) for days in (-1, 0, 1)),
        ]
    ),
    st.builds(Lasted, st.sampled_from([Field.DURATION, Field.WAIT]), lengths, st.none()),
    st.builds(
        Lasted, st.sampled_from([Field.DURATION, Field.WAIT]), st.none(), lengths, st.just(True)
    ),
    lengths.map(lambda length: Lasted(Field.WAIT, length / 2, length)),
    st.builds(Attempted, numbers, st.none()),
    st.builds(Attempted, st.none(), numbers),
    numbers.map(lambda number: Attempted(number, number)),
)


@given(st.lists(st.builds(Term, conditions, st.booleans()), min_size=1, max_size=MOST_TERMS))
def test_what_is_printed_is_read_as_the_same(terms: list[Term]) -> None:
    query = Query(tuple(terms))
    text = print_query(query)
    assume(len(text) <= MOST_CHARACTERS)
    assert parse_query(text) == query


@given(path=st.lists(names, min_size=1, max_size=4), value=values)
def test_a_quoted_parameter_is_a_text(path: list[str], value: str) -> None:
    (term,) = parse_query(f"params.{'.'.join(path)}:{quote(value)}").terms
    assert term.condition == HasParameter(tuple(path), (value,))


@given(number=st.integers(-(2**63) + 1, 2**63 - 1))
def test_a_number_may_be_a_number_or_a_text(number: int) -> None:
    (term,) = parse_query(f"params.n:{number}").terms
    assert term.condition == HasParameter(("n",), (number, str(number)))


@given(first=days, last=days)
def test_a_range_of_days_holds_both_days(first: str, last: str) -> None:
    earlier, later = sorted([first, last])
    (term,) = parse_query(f"created:{earlier}..{later}").terms
    start, end = (datetime.fromisoformat(day).replace(tzinfo=UTC) for day in (earlier, later))
    assert term.condition == InTime(Field.CREATED, start, end + timedelta(days=1))


@given(text=st.lists(pieces | values, max_size=8).map("".join))
@example(text='owner:"')
@example(text="params." + "x." * 20 + "y:1")
@example(text="params.x:" + "9" * 400)
@example(text="created:0001-01-01T00:00+14:00..")
@example(text="finished:<99999999999999d")
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        query = parse_query(text)
    except InvalidRequest as error:
        assert "query" in str(error)  # noqa: PT017 - both outcomes are right
        assert isinstance(error, InvalidQuery)  # noqa: PT017 - both outcomes are right
        assert 1 <= error.position <= max(len(text), 1)  # noqa: PT017 - both outcomes are right
    else:
        assert 0 < len(query.terms) <= MOST_TERMS
        printed = print_query(query)
        if len(printed) <= MOST_CHARACTERS:
            assert parse_query(printed) == query


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("type:import*", Is(Field.TYPE, (), ("import",))),
        ('type:"import*"', Is(Field.TYPE, ("import*",))),
        ("type:import*,export", Is(Field.TYPE, ("export",), ("import",))),
        ("state:failed", Is(Field.STATE, (JobState.FAILED,))),
        ("state:pending,started", Is(Field.STATE, (JobState.PENDING, JobState.STARTED))),
        ('owner:"Ann, Lee",bob', Is(Field.OWNER, ("Ann, Lee", "bob"))),
        ("schedule:nightly", Is(Field.SCHEDULE, ("nightly",))),
        ("group:12", InGroup(12)),
        ("id:4711", HasId((4711,))),
        ("id:3,1", HasId((3, 1))),
        ("4711", HasId((4711,))),
        ("#4711", HasId((4711,))),
        ('"4711"', Contains(Field.TEXT, "4711")),
        ("invoice", Contains(Field.TEXT, "invoice")),
        ('"timed out: no"', Contains(Field.TEXT, "timed out: no")),
        ("error:a,b", Contains(Field.ERROR, "a,b")),
        ("customer:4711", HasParameter(("customer",), (4711, "4711"))),
        ("params.a.b:true", HasParameter(("a", "b"), (True, "true"))),
        ("params.n:1e999", HasParameter(("n",), ("1e999",))),
        ("finished:>2h", InTime(Field.FINISHED, None, timedelta(hours=2))),
        ("finished:<2h", InTime(Field.FINISHED, timedelta(hours=2), None)),
        ("finished<2h", InTime(Field.FINISHED, timedelta(hours=2), None)),
        ("created:7d..1d", InTime(Field.CREATED, timedelta(days=7), timedelta(days=1))),
        ("created:>2026-11-01", InTime(Field.CREATED, datetime(2026, 11, 2, tzinfo=UTC), None)),
        (
            'created:>="2026-11-01 10:00"',
            InTime(Field.CREATED, datetime(2026, 11, 1, 10, tzinfo=UTC), None),
        ),
        ("created>=2026-11-01", InTime(Field.CREATED, datetime(2026, 11, 1, tzinfo=UTC), None)),
        ("created<=2026-11-01", InTime(Field.CREATED, None, datetime(2026, 11, 2, tzinfo=UTC))),
        ("created:<2026-11-01", InTime(Field.CREATED, None, datetime(2026, 11, 1, tzinfo=UTC))),
        (
            "created:..2026-11-01T12:00+02:00",
            InTime(Field.CREATED, None, datetime(2026, 11, 1, 10, tzinfo=UTC)),
        ),
        ("since:yesterday", InTime(Field.CREATED, DayAgo(1), None)),
        ("since:2h", InTime(Field.CREATED, timedelta(hours=2), None)),
        (
            'until:"2026-11-01 10:00"',
            InTime(Field.CREATED, None, datetime(2026, 11, 1, 10, tzinfo=UTC)),
        ),
        ("until:2026-11-01", InTime(Field.CREATED, None, datetime(2026, 11, 2, tzinfo=UTC))),
        ("finished:yesterday", InTime(Field.FINISHED, DayAgo(1), DayAgo(0))),
        ("duration:>30s", Lasted(Field.DURATION, timedelta(seconds=30), None, strictly=True)),
        ("duration>=30s", Lasted(Field.DURATION, timedelta(seconds=30), None)),
        ("duration:30s..5m", Lasted(Field.DURATION, timedelta(seconds=30), timedelta(minutes=5))),
        ("wait>1m", Lasted(Field.WAIT, timedelta(minutes=1), None, strictly=True)),
        ("attempts>=3", Attempted(3, None)),
        ("attempts>3", Attempted(4, None)),
        ("attempts<3", Attempted(None, 2)),
        ("attempts:3", Attempted(3, 3)),
        ("attempts:2..4", Attempted(2, 4)),
    ],
)
def test_a_term_means(text: str, condition: Condition) -> None:
    assert parse_query(text).terms == (Term(condition),)
    assert parse_query(f"-{text}").terms == (Term(condition, negated=True),)


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("owner:a foo-x:1", 9, "there is no field 'foo-x'; fields are id, type,"),
        ("owner:a stat-e:x", 9, "did you mean 'state'?"),
        ("owner:a -", 9, "expected a term such as owner:alice after the -"),
        ("owner>a", 1, "write owner:a"),
        ("owner:a,", 1, "a name is missing"),
        ("group:x", 1, "expected the number of a group"),
        ("params.n:>=100", 1, "write params.n:100"),
        ("attempts>=x", 1, "such as attempts:3 or attempts>=3"),
        ("attempts<0", 1, "no such number of attempts"),
        ("wait:1m", 1, "expected a range of durations"),
        ("created>today", 1, "write >=today"),
        ('error:"a","b"', 1, "error takes one value"),
        ("type:x  owner:", 9, "the value is missing"),
        ('owner:a"b"', 1, "quotes enclose a whole value"),
        ("params..x:1", 1, "expected params.NAME"),
        ("params." + "a." * 10 + "a:1", 1, "at most 10 names"),
        ("state:done", 1, "allowed are pending, started, finished, failed, cancelled"),
        ("state:fail", 1, "did you mean 'failed'?"),
        ("type:a*b", 1, "* is allowed only at the end"),
        ("id:first", 1, "expected the number of a job"),
        ("created:tuesday", 1, "expected a day such as 2026-11-22, today or yesterday"),
        ("created:2026-11-22..2026-11-01", 1, "write the earlier one first"),
        ("created:1d..7d", 1, "write the earlier one first"),
        ("duration:5m..3m", 1, "write the shorter one first"),
        ("duration:5m", 1, "expected a range of durations"),
        ("created:..", 1, "neither a beginning nor an end"),
        ("owner:" + "a" * 201, 1, "at most 200 are possible"),
        (" ".join(["owner:a"] * 21), 161, "more than 20 terms"),
    ],
)
def test_an_error_names_the_place_and_what_is_allowed(text: str, place: int, reason: str) -> None:
    with pytest.raises(InvalidQuery) as error:
        parse_query(text)
    assert str(error.value).startswith(f"query, character {place}: ")
    assert reason in str(error.value)
    assert (error.value.text, error.value.position) == (text, place)


def test_days_are_those_of_the_zone() -> None:
    query = parse_query("created:2026-03-29 finished:yesterday", zone="Europe/Berlin")
    # On this day the clocks of Berlin go forward, so it has 23 hours.
    assert query.terms[0].condition == InTime(
        Field.CREATED,
        datetime(2026, 3, 28, 23, tzinfo=UTC),
        datetime(2026, 3, 29, 22, tzinfo=UTC),
    )
    now = datetime(2026, 3, 29, 23, tzinfo=UTC)  # one o'clock of the 30th in Berlin
    assert dated(query, now).terms[1].condition == InTime(
        Field.FINISHED,
        datetime(2026, 3, 28, 23, tzinfo=UTC),
        datetime(2026, 3, 29, 22, tzinfo=UTC),
    )


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="unknown time zone 'Berlin'"):
        parse_query("today", zone="Berlin")


@pytest.mark.parametrize("text", ["", "  ", "x" * (MOST_CHARACTERS + 1), "owner:\x00", None, 5])
def test_an_invalid_query_is_refused(text: object) -> None:
    with pytest.raises(InvalidRequest, match="query"):
        parse_query(text)
