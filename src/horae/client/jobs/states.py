"""The filter by states, such as `pending` or `!failed`; the order of its parts does not matter."""

from collections.abc import Iterable

from horae.domain.jobs.job import JobState
from horae.errors import InvalidRequest, quoted
from horae.types.arguments import of_kind


def wanted_states(texts: Iterable[str] | None) -> frozenset[JobState] | None:
    """Return the states that match; None is no filter, an empty filter matches nothing.

    Texts without `!` are the states wanted, by default all; those with `!` are excluded. Raises `InvalidRequest`.
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
            f"state {quoted(text)} is unknown; allowed are {allowed}, each with ! in front to leave it out"
        ) from None
