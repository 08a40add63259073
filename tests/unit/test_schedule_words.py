"""When a schedule is due, in one sentence."""

import pytest

from horae.client.schedule_words import trigger_in_words, words_in_languages
from horae.domain.schedules.trigger import parse_trigger


@pytest.mark.parametrize(
    ("kind", "text", "timezone", "words"),
    [
        ("cron", "0 3 * * *", "UTC", "At 03:00."),
        ("cron", "0 3 * * *", "Europe/Berlin", "At 03:00 (Europe/Berlin)."),
        ("cron", "*/5 * * * *", "UTC", "Every 5 minutes."),
        ("cron", "1 * * * *", "UTC", "At 1 minute past the hour."),
        (
            "cron",
            "1 11 * * * *",
            "UTC",
            "At 1 second past the minute, at 11 minutes past the hour.",
        ),
        ("interval", "10m", "UTC", "10 minutes after the end of each run."),
        ("interval", "90s", "Europe/Berlin", "1 minute and 30 seconds after the end of each run."),
        ("interval", "0.5s", "UTC", "0.5 seconds after the end of each run."),
        ("interval", "1 day; fixed", "Europe/Berlin", "Every day, by the clock of Europe/Berlin."),
        ("interval", "14 days; fixed", "UTC", "Every 2 weeks, by the clock of UTC."),
        ("interval", "10 days; fixed", "UTC", "Every 10 days, by the clock of UTC."),
        ("interval", "14 months; fixed", "UTC", "Every 1 year and 2 months, by the clock of UTC."),
        ("interval", "1 month", "UTC", "1 month after the end of each run."),
        (
            "interval",
            "1h30m; fixed; initial_start=2026-07-01T03:00:00+00:00",
            "Europe/Berlin",
            "Every 1 hour and 30 minutes, counted from 2026-07-01 05:00 (Europe/Berlin).",
        ),
        (
            "interval",
            "25h1m1s; fixed",
            "UTC",
            "Every 1 day, 1 hour, 1 minute and 1 second, by the clock of UTC.",
        ),
    ],
)
def test_a_trigger_in_words(kind: str, text: str, timezone: str, words: str) -> None:
    assert trigger_in_words(parse_trigger(kind, text, timezone)) == words


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("cron", "0 3 * * 1-5", "Um 03:00, Montag bis Freitag."),
        ("cron", "0 3 1 5 *", "Um 03:00, am 1. Tag des Monats, nur im Mai."),
        ("cron", "0 3 1-3,15 * *", "Um 03:00, am 1. bis 3. und 15. Tag des Monats."),
        ("interval", "90m", "Im Abstand von 1 Stunde und 30 Minuten nach dem Ende jedes Laufs."),
        ("interval", "2 months", "Im Abstand von 2 Monaten nach dem Ende jedes Laufs."),
    ],
)
def test_a_trigger_in_german(kind: str, text: str, words: str) -> None:
    assert words_in_languages(parse_trigger(kind, text, "UTC")) == {"de": words}
