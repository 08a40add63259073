"""A share of the tests of running jobs, with live state and hints on Redis: cancels, waits and rescues.

`TEST_WITH=redis` runs all tests with a `database` fixture this way.
"""

import pytest

from tests.client.test_wait import (
    test_a_wait_times_out_and_the_job_continues,
    test_a_waiting_body_gets_its_cancel,
    test_waiting_is_not_polling,
)
from tests.conftest import use_redis
from tests.harness.redis import RedisServer
from tests.runtime.test_rescue import test_jobs_of_a_node_whose_process_is_gone, working

pytestmark = pytest.mark.postgres

__all__ = [
    "test_a_wait_times_out_and_the_job_continues",
    "test_a_waiting_body_gets_its_cancel",
    "test_jobs_of_a_node_whose_process_is_gone",
    "test_waiting_is_not_polling",
    "working",
]


@pytest.fixture(autouse=True)
def _redis(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    use_redis(redis_server, monkeypatch)
