"""The grammar of the search: what is written is read again, and what cannot be read is refused with a place."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from horae.domain.jobs.job import JobState
from horae.domain.jobs.query import (
    MOST_CHARACTERS,
    MOST_TERMS,
    Condition,
    Field,
    HasId,
    HasParameter,
    InTime,
    Is,
    Lasted,
    Term,
    parse_query,
)
from horae.errors import InvalidRequest

values = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=30)
names = st.text(
    st.characters(codec="utf-8", exclude_categories=["Z", "C"], exclude_characters='":.\\'),
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
        "duration:",
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
        Term(Is(Field(field), value), negated) for negated, field, value in terms
    )


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
    else:
        assert 0 < len(query.terms) <= MOST_TERMS


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("type:import*", Is(Field.TYPE, "import", prefix=True)),
        ('type:"import*"', Is(Field.TYPE, "import*")),
        ("state:failed", Is(Field.STATE, JobState.FAILED)),
        ("id:4711", HasId(4711)),
        ("params.a.b:true", HasParameter(("a", "b"), (True, "true"))),
        ("params.n:1e999", HasParameter(("n",), ("1e999",))),
        ("finished:>2h", InTime(Field.FINISHED, None, timedelta(hours=2))),
        ("finished:<2h", InTime(Field.FINISHED, timedelta(hours=2), None)),
        ("created:7d..1d", InTime(Field.CREATED, timedelta(days=7), timedelta(days=1))),
        ("created:>2026-11-01", InTime(Field.CREATED, datetime(2026, 11, 2, tzinfo=UTC), None)),
        ("created:<2026-11-01", InTime(Field.CREATED, None, datetime(2026, 11, 1, tzinfo=UTC))),
        (
            "created:..2026-11-01T12:00+02:00",
            InTime(Field.CREATED, None, datetime(2026, 11, 1, 10, tzinfo=UTC)),
        ),
        ("duration:>30s", Lasted(timedelta(seconds=30), None, strictly=True)),
        ("duration:30s..5m", Lasted(timedelta(seconds=30), timedelta(minutes=5))),
    ],
)
def test_a_term_means(text: str, condition: Condition) -> None:
    assert parse_query(text).terms == (Term(condition),)
    assert parse_query(f"-{text}").terms == (Term(condition, negated=True),)


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("owner:a foo:1", 9, "there is no field 'foo'; fields are id, type,"),
        ("import", 1, "expected field:value"),
        ("type:x  owner:", 9, "the value is missing"),
        ('owner:a"b"', 1, "quotes enclose a whole value"),
        ("param.x:1", 1, "a parameter is params.NAME:value"),
        ("params..x:1", 1, "expected params.NAME"),
        ("params." + "a." * 10 + "a:1", 1, "at most 10 names"),
        ("state:done", 1, "allowed are pending, started, finished, failed, cancelled"),
        ("type:a*b", 1, "* is allowed only at the end"),
        ("id:first", 1, "expected the number of a job"),
        ("created:yesterday", 1, "expected a day such as 2026-11-22, or a range"),
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
    with pytest.raises(InvalidRequest) as error:
        parse_query(text)
    assert str(error.value).startswith(f"query, character {place}: ")
    assert reason in str(error.value)


@pytest.mark.parametrize("text", ["", "  ", "x" * (MOST_CHARACTERS + 1), "owner:\x00", None, 5])
def test_an_invalid_query_is_refused(text: object) -> None:
    with pytest.raises(InvalidRequest, match="query"):
        parse_query(text)
