"""Parses the filters of a list of jobs; impossible values are refused without a query."""

import re
from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Final

from horae.domain.jobs import EVERYBODY, JobId, JobState, Whose
from horae.domain.names import owner_id
from horae.domain.storable import LARGEST_ID, LARGEST_NUMBER, is_storable
from horae.domain.times import EPOCH, LONGEST_DURATION, MICROSECOND, Duration, parse_duration
from horae.errors import InvalidRequest
from horae.quoting import quoted
from horae.storage.jobs.search import EndPlace
from horae.types import of_kind

_END_CURSOR: Final = re.compile(r"[0-9]{1,17}\.[0-9]{1,18}", re.ASCII)
"""Moments with 17 digits are before the year 5200, so that no cursor leaves the range of dates."""


def owner_of(whose: Whose) -> str | None:
    """Return the owner to look for, None for all owners. Raises `InvalidRequest`."""
    if whose is EVERYBODY:
        return None
    try:
        return owner_id(whose)
    except InvalidRequest as error:
        raise InvalidRequest(f"{error}; horae.EVERYBODY stands for everybody's jobs") from None


def place_of_cursor(cursor: str | None) -> JobId | None:
    """Return the id behind which a page begins. Raises `InvalidRequest` for a text that is no
    cursor.
    """
    if cursor is None:
        return None
    of_kind("cursor", cursor, str, "a text")
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > len(str(LARGEST_ID)):
        raise InvalidRequest(f"cursor {quoted(cursor)} did not come from a page of this list")
    return JobId(min(int(cursor), LARGEST_ID))


def end_place_of_cursor(cursor: str | None) -> EndPlace | None:
    """Return the place behind which a page of a list by end begins: `MICROSECONDS.ID`.

    Raises `InvalidRequest` for a text that is no such cursor.
    """
    if cursor is None:
        return None
    of_kind("cursor", cursor, str, "a text")
    if not _END_CURSOR.fullmatch(cursor):
        raise InvalidRequest(f"cursor {quoted(cursor)} did not come from a page of this list")
    microseconds, _, job_id = cursor.partition(".")
    return EndPlace(EPOCH + int(microseconds) * MICROSECOND, JobId(int(job_id)))


def cursor_of_end(place: EndPlace) -> str:
    """Return the cursor of a place in a list by end."""
    return f"{(place.at - EPOCH) // MICROSECOND}.{place.id}"


def possible_ids(ids: Collection[int] | None) -> list[JobId] | None:
    """Return the ids that fit the column; a larger one cannot exist. Raises `InvalidRequest`."""
    if ids is None:
        return None
    of_kind("ids", ids, Collection, "a list of whole numbers")
    return [
        JobId(job_id)
        for job_id in ids
        if abs(of_kind("job id", job_id, int, "a whole number")) <= LARGEST_ID
    ]


def possible_id(given: int | None, name: str = "schedule_id") -> int | None:
    """Return an id that a database can have. Raises `InvalidRequest` for anything else."""
    if given is None:
        return None
    of_kind(name, given, int, "a whole number")
    return max(-LARGEST_ID, min(given, LARGEST_ID))


def kept_seconds(older_than: Duration | None, keep: timedelta) -> float:
    """Return the age in seconds from which jobs are deleted, `keep` by default. Raises
    `InvalidRequest`.
    """
    age = keep if older_than is None else parse_duration("older_than", older_than)
    return min(age, LONGEST_DURATION).total_seconds()


def names_of(name: str, given: Collection[str] | None) -> list[str] | None:
    """Return the names to look for, without those that nothing can have.

    Raises `InvalidRequest`, also for one text, whose letters would count as names.
    """
    if given is None:
        return None
    if isinstance(given, str):
        raise InvalidRequest(f"{name} {quoted(given)}: expected a list of texts")
    of_kind(name, given, Collection, "a list of texts")
    names = [of_kind(name, each, str, "a list of texts") for each in given]
    return [each for each in names if is_storable(each)]


def page_length(limit: int) -> int:
    """Return the number of rows of a page. Raises `InvalidRequest`."""
    of_kind("limit", limit, int, "a whole number")
    if limit < 1:
        raise InvalidRequest(f"limit is {limit}, expected 1 or more")
    return min(limit, LARGEST_NUMBER)


def wanted_states(texts: Iterable[str] | None) -> frozenset[JobState] | None:
    """Return the states that match; None is no filter, an empty filter matches nothing.

    Texts without `!` are the states wanted, by default all; those with `!` are excluded. Raises
    `InvalidRequest`.
    """
    if texts is None:
        return None
    of_kind("states", texts, Iterable, "a list of texts")
    given = [of_kind("states", text, str, "a list of texts").strip() for text in texts]
    plain = {_state(text) for text in given if not text.startswith("!")}
    negated = {_state(text[1:]) for text in given if text.startswith("!")}
    if not plain and negated:
        plain = set(JobState)
    return frozenset(plain - negated)


def _state(text: str) -> JobState:
    try:
        return JobState(text)
    except ValueError:
        allowed = ", ".join(JobState)
        raise InvalidRequest(
            f"state {quoted(text)} is unknown; allowed are {allowed}, each with ! in front to leave"
            " it out"
        ) from None
