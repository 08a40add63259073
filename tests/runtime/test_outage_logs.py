"""An outage is logged at once, and its repetitions do not fill the log."""

from unittest.mock import create_autospec

import pytest

from horae.domain.jobs.job import Claim, JobId
from horae.live.store import LiveStore
from horae.runtime.bodies.reporter import Reporter
from horae.runtime.journal.journal import Journal
from horae.runtime.throttled_warning import AGAIN_AFTER, ThrottledWarning


def test_a_repeated_warning_is_logged_at_once_and_then_at_intervals(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    complaint = ThrottledWarning(lambda: now)
    for second in range(60):
        now = float(second)
        complaint.warn("the store is away: %s", "refused")
    assert caplog.messages == ["the store is away: refused"] * int(60 / AGAIN_AFTER)
    complaint.settle()
    complaint.warn("the store is away: %s", "timed out")
    assert caplog.messages[-1] == "the store is away: timed out"


def test_waiting_reports_are_logged_once_for_each_outage(caplog: pytest.LogCaptureFixture) -> None:
    live = create_autospec(LiveStore, instance=True)
    journal = Journal()
    reporter = Reporter(live, journal)
    claim = Claim(JobId(7), "import", "default", 0, None, None, 1, 1, 1, None, "{}")
    journal.begin(claim)
    reporter.follow(claim)(5, None)
    for error in (
        ConnectionError("refused"),
        ConnectionError("refused"),
        None,
        ConnectionError("refused"),
    ):
        live.publish.side_effect = error
        reporter.publish()
        if error is None:
            reporter.follow(claim)(6, None)
    assert caplog.messages == ["cannot write the progress of 1 jobs yet: refused"] * 2
