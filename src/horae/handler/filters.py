"""What callers may ask a list of jobs for, and what no job can be."""

from collections.abc import Collection
from typing import Final

from horae.domain.job import JobId
from horae.domain.owner import EVERYBODY, Whose, problem_with_owner
from horae.errors import InvalidRequest

LARGEST_ID: Final = 2**63 - 1


def owner_of(whose: Whose) -> str | None:
    """The owner to look for, None for everybody; raises `InvalidRequest` for what is neither."""
    if whose is EVERYBODY:
        return None
    if (problem := problem_with_owner(whose)) is not None:
        raise InvalidRequest(f"owner: {problem}; horae.EVERYBODY stands for everybody's jobs")
    return whose


def before_cursor(cursor: str | None) -> JobId | None:
    """The id that a page begins below; raises `InvalidRequest` for what is no cursor."""
    if cursor is None:
        return None
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > len(str(LARGEST_ID)):
        raise InvalidRequest(f"cursor {cursor!r} did not come from a page of this list")
    return JobId(min(int(cursor), LARGEST_ID))


def possible_ids(ids: Collection[int] | None) -> list[JobId] | None:
    """The ids that a database can have."""
    return None if ids is None else [JobId(job_id) for job_id in ids if abs(job_id) <= LARGEST_ID]
