"""When an alert begins, is repeated, and is over."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.alerts.course import Alert, Alerts, Happening, Notice, follow
from horae.alerts.rules import FoundProblem, Rule
from horae.alerts.state import MOST_WAITING, State, add, load, save

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATE = FoundProblem(key="queue_late:mail", rule=Rule.QUEUE_LATE, summary="late")
AWAY = FoundProblem(key="database_away", rule=Rule.DATABASE_AWAY, summary="away", hold=10.0)


class Course:
    """Follows looks, each some seconds after the one before."""

    def __init__(self) -> None:
        self.alerts: Alerts = {}
        self.now = START

    def look(self, *problems: FoundProblem, after: float = 15) -> list[str]:
        self.now += timedelta(seconds=after)
        self.alerts, notices = follow(
            self.alerts,
            problems,
            self.now,
            repeat_after=timedelta(hours=4),
            over_after=timedelta(minutes=1),
        )
        return [f"{notice.happening} {notice.alert.key}" for notice in notices]


def test_it_is_told_once_when_it_begins_and_once_when_it_is_over() -> None:
    course = Course()
    assert course.look(LATE) == ["begun queue_late:mail"]
    assert course.look(LATE) == course.look(LATE) == []
    assert [course.look() for _ in range(3)] == [[], [], []]
    assert course.look() == ["over queue_late:mail"]
    assert (course.look(), course.alerts) == ([], {})
    assert course.look(LATE) == ["begun queue_late:mail"]


def test_one_that_comes_and_goes_is_one_alert() -> None:
    course = Course()
    told = [course.look(*([LATE] if number % 3 == 0 else [])) for number in range(60)]
    assert list(chain.from_iterable(told)) == ["begun queue_late:mail"]


def test_one_that_lasts_is_repeated() -> None:
    course = Course()
    course.look(LATE)
    assert course.look(LATE, after=4 * 3600 - 1) == []
    assert course.look(LATE, after=1) == ["repeated queue_late:mail"]
    assert course.look(LATE) == []
    assert course.alerts[LATE.key].since == START + timedelta(seconds=15)


def test_one_that_must_last_is_not_told_before() -> None:
    course = Course()
    assert course.look(AWAY) == []
    assert course.look(AWAY, after=9) == []
    assert course.look(AWAY, after=1) == ["begun database_away"]
    course = Course()
    course.look(AWAY)
    assert [course.look() for _ in range(9)] == [[]] * 9
    assert course.alerts == {}


def test_while_the_database_is_away_nothing_is_over() -> None:
    course = Course()
    course.look(LATE)
    course.look(AWAY)
    for _ in range(20):
        course.look(AWAY)
    assert course.look() == []
    assert course.look(LATE) == []
    assert LATE.key in course.alerts


def test_an_alert_about_many_covers_the_ones() -> None:
    one = FoundProblem(key="schedule_late:3", rule=Rule.SCHEDULE_LATE, summary="one")
    many = FoundProblem(key="schedule_late", rule=Rule.SCHEDULE_LATE, summary="many")
    course = Course()
    course.look(one)
    assert course.look(many) == ["begun schedule_late"]
    for _ in range(20):
        assert course.look(many) == []
    assert course.look(one) == []
    told = [course.look(one) for _ in range(10)]
    assert list(chain.from_iterable(told)) == ["over schedule_late"]


@given(
    looks=st.lists(st.tuples(st.floats(1, 20_000), st.sets(st.sampled_from([LATE.key, AWAY.key]))))
)
def test_notices_of_one_alert_are_in_order(looks: Sequence[tuple[float, set[str]]]) -> None:
    course, told = Course(), dict[str, list[str]]()
    for after, keys in looks:
        # What is away hides the rest.
        seen = [AWAY] if AWAY.key in keys else [LATE] if keys else []
        for line in course.look(*seen, after=after):
            happening, key = line.split()
            told.setdefault(key, []).append(happening)
    for happenings in told.values():
        active = False
        for happening in happenings:
            assert (happening == "begun") != active
            active = happening != "over"


def notice(number: int = 0) -> Notice:
    alert = Alert(
        key=f"queue_late:{number}",
        rule=Rule.QUEUE_LATE,
        summary="late",
        details={"due": 3},
        since=START,
        last_seen=START,
        notified_at=START,
    )
    return Notice(happening=Happening.BEGUN, alert=alert, at=START)


def test_the_state_survives(tmp_path: Path) -> None:
    state = State([notice().alert], {"webhook": [notice()], "mail": []})
    save(tmp_path / "state", state)
    found = load(tmp_path / "state")
    assert (found.alerts, found.waiting) == (state.alerts, {"webhook": [notice()]})
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"alerts": 3, "waiting": {}}', '{"alerts": [{}], "waiting": {}}', "\x00"],
)
def test_a_damaged_state_begins_anew(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "state").write_text(text)
    assert load(tmp_path / "state") == State()
    assert "cannot be read" in caplog.text
    assert load(tmp_path / "missing") == State()


def test_a_state_that_cannot_be_written_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    save(tmp_path / "missing" / "state", State())
    assert "cannot be written" in caplog.text


def test_what_waits_is_bounded() -> None:
    waiting: list[Notice] = []
    assert add(waiting, [notice(number) for number in range(MOST_WAITING)]) == 0
    assert add(waiting, [notice(-1), notice(-2)]) == 2
    assert (len(waiting), waiting[-1]) == (MOST_WAITING, notice(-2))
