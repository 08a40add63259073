"""The next starts of a schedule, as far as they are known."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from horae.domain.schedules.preview import upcoming
from horae.domain.schedules.schedule import Rules
from horae.domain.schedules.trigger import parse_trigger

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def rules(kind: str, text: str, timezone: str = "UTC", jitter: timedelta = timedelta(0)) -> Rules:
    return Rules(key="k", trigger=parse_trigger(kind, text, timezone), jitter=jitter)


HOURLY = rules("cron", "0 * * * *")


def test_a_timeline_has_no_end() -> None:
    assert upcoming(HOURLY, NOON + HOUR, NOON, 3) == [NOON + HOUR, NOON + 2 * HOUR, NOON + 3 * HOUR]
    daily = rules("interval", "1 day; fixed", "Europe/Berlin")
    midnight = datetime(2026, 3, 27, 23, tzinfo=UTC)
    summer = [midnight, midnight + 24 * HOUR, midnight + 47 * HOUR]
    assert upcoming(daily, midnight, midnight - HOUR, 3) == summer


def test_a_retry_comes_before_the_next_time() -> None:
    retry = NOON + timedelta(minutes=7)
    assert upcoming(HOURLY, retry, NOON, 2) == [retry, NOON + HOUR]


def test_overdue_times_give_one_start() -> None:
    assert upcoming(HOURLY, NOON - 50 * HOUR, NOON, 3) == [
        NOON - 50 * HOUR,
        NOON + HOUR,
        NOON + 2 * HOUR,
    ]


def test_an_interval_from_the_finish_is_known_once_and_only_when_it_rests() -> None:
    drifting = rules("interval", "10m")
    assert upcoming(drifting, NOON, NOON, 5) == [NOON]
    assert upcoming(drifting, NOON, NOON, 0) == []
    assert upcoming(drifting, NOON, NOON, 5, executing=True) == []
    assert upcoming(HOURLY, NOON, NOON, 1, executing=True) == [NOON]


def test_an_exhausted_schedule_has_no_upcoming_start() -> None:
    assert upcoming(HOURLY, None, NOON, 5) == []
    last = datetime(2026, 3, 2, 13, tzinfo=UTC)
    assert upcoming(rules("cron", "0 0 13 2 3 * 2026"), last, NOON, 5) == [last]


@given(minutes=st.integers(0, 10_000), jitter=st.integers(0, 7200), count=st.integers(0, 20))
def test_starts_are_as_many_as_were_asked_for_and_only_ever_later(
    minutes: int, jitter: int, count: int
) -> None:
    spread = rules("cron", "*/7 * * * *", jitter=timedelta(seconds=jitter))
    found = upcoming(spread, NOON + timedelta(minutes=minutes), NOON, count)
    assert len(found) == count
    assert found == sorted(set(found))
