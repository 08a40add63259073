"""Failures in groups: what one cause is, and which jobs a group has."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from horae.domain.jobs.failures import Failure, class_of, group_failures, place_of
from horae.domain.jobs.job import JobId

START: Final = datetime(2026, 11, 1, tzinfo=UTC)
TRACEBACK: Final = """Traceback (most recent call last):
  File "/srv/horae/runtime/bodies/runner.py", line 80, in perform
    return body(job)
  File "/srv/releases/{release}/shop/mail.py", line {line}, in send
    client.post(letter)
  File "/usr/lib/python3.12/site-packages/httpx/_client.py", line 9, in post
    raise ConnectError(
httpx.ConnectError: refused
"""
FAILURE: Final = Failure(
    job_id=JobId(1),
    type="send",
    at=START,
    has_failed=True,
    was_retried=False,
    outcome="failed",
    error="ConnectError: refused",
    traceback=TRACEBACK.format(release=1, line=41),
)


def failure(number: int, **changed: Any) -> Failure:
    given = {"job_id": JobId(number), "at": START + timedelta(minutes=number), **changed}
    return replace(FAILURE, **given)


def test_the_place_is_the_last_frame_of_the_application() -> None:
    assert place_of(FAILURE.traceback) == ("shop/mail.py", 41, "send")


def test_the_place_is_that_of_the_exception_that_ended_the_attempt() -> None:
    cause = FAILURE.traceback or ""
    chained = (
        f"{cause}\nThe above exception was the direct cause of the following exception:\n\n"
        'Traceback (most recent call last):\n  File "/srv/shop/orders.py", line 7, in close\n'
        "    raise Broken from error\nBroken: closed\n"
    )
    assert place_of(chained) == ("shop/orders.py", 7, "close")


def test_a_place_without_frames_of_the_application_is_the_last_frame() -> None:
    only = 'Traceback (most recent call last):\n  File "/usr/lib/python3.12/json/decoder.py", line 9, in decode\n'
    assert place_of(only) == ("json/decoder.py", 9, "decode")
    assert place_of(None) is None
    assert place_of("no traceback") is None


def test_a_place_in_a_group_of_exceptions_and_on_windows() -> None:
    group = (
        "  + Exception Group Traceback (most recent call last):\n"
        '  |   File "C:\\shop\\mail.py", line 3, in send_all\n'
    )
    assert place_of(group) == ("shop/mail.py", 3, "send_all")


def test_the_class_is_what_an_error_begins_with() -> None:
    assert class_of("ConnectError: refused") == "ConnectError"
    assert class_of("KeyError") == "KeyError"
    assert class_of("the process of the node died: signal 9") is None
    assert class_of(None) is None


def test_failures_group_by_type_class_and_function_whatever_the_line_and_the_release() -> None:
    moved = TRACEBACK.format(release=2, line=52)
    groups = group_failures(
        [
            failure(1),
            failure(2, traceback=moved, error="ConnectError: reset"),
            failure(3, type="report"),
            failure(4, error="TimeoutError: 5 s"),
        ]
    )
    assert [(group.type, group.error_class, group.count) for group in groups] == [
        ("send", "ConnectError", 2),
        ("send", "TimeoutError", 1),
        ("report", "ConnectError", 1),
    ]
    largest = groups[0]
    assert (largest.first_at, largest.last_at) == (
        START + timedelta(minutes=1),
        START + timedelta(minutes=2),
    )
    assert (largest.place, largest.sample.error) == (
        "shop/mail.py:52 in send",
        "ConnectError: reset",
    )
    assert largest.key == group_failures([failure(9)])[0].key


def test_a_failed_job_is_in_the_group_of_its_last_failure_once() -> None:
    groups = group_failures(
        [
            failure(1),
            failure(1, at=START + timedelta(hours=1)),
            failure(1, at=START + timedelta(hours=2), error="ValueError: no"),
            failure(2),
            failure(3, has_failed=False),
        ]
    )
    assert [(group.error_class, group.count, group.failed_jobs) for group in groups] == [
        ("ConnectError", 4, [2]),
        ("ValueError", 1, [1]),
    ]


def test_a_group_counts_the_failed_jobs_that_were_not_retried() -> None:
    failed = [failure(1), failure(2, was_retried=True), failure(3, has_failed=False)]
    (group,) = group_failures(failed)
    assert (group.failed_jobs, group.retryable) == ([2, 1], 1)
