"""Defaults of job types that depend on other options of the type."""

from datetime import timedelta
from typing import Any

from typing_extensions import override

from horae.types.context import JobContext
from horae.types.job_type import JobType


class Report(JobType[Any]):
    type = "report"

    @override
    def run(self, job: JobContext[Any]) -> None: ...


def declared(**attributes: Any) -> JobType[Any]:
    made: type[JobType[Any]] = type("Declared", (Report,), attributes)
    return made()


def limits_of(**attributes: Any) -> tuple[int | None, timedelta | None]:
    kind = declared(**attributes)
    return kind.max_count, kind.time_limits.pending


def test_only_public_types_have_a_limit_and_a_pending_timeout_that_they_do_not_name() -> None:
    half_an_hour = timedelta(minutes=30)
    assert limits_of() == (None, None)
    assert limits_of(public=True) == (1, half_an_hour)
    assert limits_of(public=True, max_count=None) == (None, half_an_hour)
    assert limits_of(public=True, max_count=5, pending_timeout=None) == (5, None)
    assert limits_of(max_count=2, pending_timeout="5m") == (2, timedelta(minutes=5))


def test_an_option_of_a_base_class_counts_as_named() -> None:
    class Unlimited(Report):
        max_count = None

    class Derived(Unlimited):
        public = True

    assert Derived().max_count is None
