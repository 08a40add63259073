"""A `JobContext` for calling a body directly, without a database and a node."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection
from typing_extensions import override

from horae.domain.jobs import Claim, JobId
from horae.types import Attempt, JobContext, JobType


def job_context(
    params: Any = None,
    *,
    id: int = 1,  # noqa: A002 - the name that the context has for it
    owner: str | None = None,
    attempt: int = 1,
    max_attempts: int = 1,
    meta: Mapping[str, Any] | None = None,
    nominal_time: datetime | None = None,
    connection: Connection | None = None,
) -> JobContext[Any]:
    """Return a context to call a body with: `import_csv(job_context(), path="people.csv")`.

    Progress is kept in `job.progress`. `connection`: the transaction that `job.connection` and
    `job.session` return. Waits, groups and the job itself need a database; use `testing` for them.
    """
    claim = Claim(
        id=JobId(id),
        type="test",
        queue="default",
        priority=0,
        owner=owner,
        params=None,
        attempt=attempt,
        max_attempts=max_attempts,
        lease=attempt,
        backoff=None,
        meta=json.dumps(meta or {}),
        nominal_time=nominal_time,
    )
    made = Attempt(claim, _Alone(), lambda _percentage, _label: None)
    made.params, made.connection = params, connection
    return JobContext(made)


class _Alone(JobType[Any]):
    """The type of a job that only a body called directly has."""

    type = "test"

    @override
    def run(self, job: JobContext[Any]) -> None:
        """Do nothing."""
