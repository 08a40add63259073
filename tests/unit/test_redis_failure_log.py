"""Failures of Redis are logged once in 30 seconds, however many commands fail, and the end of a failure once."""

import logging

import pytest

from horae.redis_access.failure_log import FailureLog


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(clock: Clock, caplog: pytest.LogCaptureFixture) -> FailureLog:
    caplog.set_level(logging.INFO)
    return FailureLog("redis://h/0", clock)


def levels(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.levelname for record in caplog.records]


def test_one_warning_in_thirty_seconds_for_all_parts(
    log: FailureLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for second in range(60):
        clock.now = 1000.0 + second
        log.note_failure("live state", "refused")
        log.note_failure("hints", "refused")
    assert levels(caplog) == ["WARNING"] * 2
    assert caplog.messages[0] == (
        "Redis (redis://h/0) cannot be used for live state; until it can, the database keeps live state, and nodes "
        "poll: refused"
    )


def test_an_intermittent_failure_does_not_flood_the_log(
    log: FailureLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for second in range(29):
        clock.now = 1000.0 + second
        log.note_failure("live state", "out of memory")
        log.note_success("hints")
        log.note_success("live state")
    assert levels(caplog) == ["WARNING", "INFO"]


def test_recovery_is_logged_once_all_parts_work(
    log: FailureLog, caplog: pytest.LogCaptureFixture
) -> None:
    log.note_success("live state")
    log.note_failure("live state", "refused")
    log.note_failure("hints", "refused")
    log.note_success("live state")
    assert (levels(caplog), log.failing) == (["WARNING"], {"hints": "refused"})
    log.note_success("hints")
    log.note_success("hints")
    assert (levels(caplog), log.failing) == (["WARNING", "INFO"], {})
    assert caplog.messages[-1] == "Redis (redis://h/0) can be used again"
