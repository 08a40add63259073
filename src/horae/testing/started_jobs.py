"""Which jobs were started, compared with what a test expects."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from horae.domain.jobs import Job
from horae.errors import InvalidRequest
from horae.quoting import did_you_mean
from horae.types import JobType

MATCHED: Final = (
    "owner",
    "queue",
    "priority",
    "max_attempts",
    "unique_key",
    "run_at",
    "meta",
    "tags",
)
"""Options that are compared beside parameters; no parameter has such a name."""
MOST_LISTED: Final = 20
"""Number of jobs that a message lists."""


def refuse_unknown(kind: JobType[Any], expected: Mapping[str, Any]) -> None:
    """Raise `InvalidRequest` for a name that no job of the type has, so none would match."""
    model = kind.params
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return
    fields = model.model_fields
    if model.model_config.get("extra") == "allow" or any(
        field.validation_alias is not None for field in fields.values()
    ):
        return
    known = (*fields, *MATCHED)
    for name in expected:
        if name not in known:
            raise InvalidRequest(
                f"job type {kind.type!r} has no parameter {name!r}, and it is no option that is"
                f" compared ({', '.join(MATCHED)}){did_you_mean(name, known)}"
            )


def matching(jobs: Sequence[Job], expected: Mapping[str, Any]) -> list[Job]:
    """Return the jobs that have these parameters and options."""
    return [job for job in jobs if all(_has(job, *each) for each in expected.items())]


def not_started(wanted: str, expected: Mapping[str, Any], jobs: Sequence[Job]) -> str:
    """Return the message for jobs that were expected: what was started instead."""
    what = f"{wanted}({_arguments(expected)})"
    if not jobs:
        return f"{what} was not started; no job was"
    return f"{what} was not started; these jobs were:\n{_listed(jobs)}"


def unexpected(jobs: Sequence[Job]) -> str:
    """Return the message for jobs that were not expected."""
    were = "1 job was" if len(jobs) == 1 else f"{len(jobs)} jobs were"
    return f"{were} started:\n{_listed(jobs)}"


def _has(job: Job, name: str, value: Any) -> bool:
    if name == "tags":
        return set(value) <= set(job.tags)
    if name in MATCHED:
        return bool(getattr(job, name) == value)
    params = job.params if isinstance(job.params, Mapping) else {}
    return name in params and params[name] == to_jsonable_python(value)


def _listed(jobs: Sequence[Job]) -> str:
    lines = [
        f"  job {job.id}: {job.type}({_arguments(job.params)})"
        f" {f'of {job.owner}, ' if job.owner else ''}{job.state}"
        for job in jobs[:MOST_LISTED]
    ]
    if len(jobs) > MOST_LISTED:
        lines.append(f"  and {len(jobs) - MOST_LISTED} more")
    return "\n".join(lines)


def _arguments(params: Any) -> str:
    if not isinstance(params, Mapping):
        return "" if params is None else repr(params)
    return ", ".join(f"{name}={value!r}" for name, value in sorted(params.items()))
