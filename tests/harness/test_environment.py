"""A changed environment ends with its block, and so does the time zone of the process."""

import os
import time
from datetime import UTC, datetime

from tests.harness.environment import changed_environment

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_zone_is_that_of_the_block_and_then_as_before() -> None:
    before = NOON.astimezone().isoformat()
    with changed_environment({"TZ": "Asia/Kathmandu"}):
        assert NOON.astimezone().isoformat() == "2026-01-01T17:45:00+05:45"
    assert NOON.astimezone().isoformat() == before


def test_what_a_block_sets_itself_is_undone() -> None:
    """Django does this to the whole process when it reads its settings."""
    before = dict(os.environ), NOON.astimezone().isoformat()
    with changed_environment({"HORAE_TEST_SEEN": "yes"}):
        assert os.environ["HORAE_TEST_SEEN"] == "yes"
        os.environ["TZ"] = "Asia/Kathmandu"
        time.tzset()
    assert (dict(os.environ), NOON.astimezone().isoformat()) == before
