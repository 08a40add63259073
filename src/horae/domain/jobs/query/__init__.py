"""The search of jobs, as text and as values: one language for the URL, the API and the commands.

Invariant: `parse_query` raises nothing but `InvalidRequest`, with the place of the term that cannot
be read.
"""

from horae.domain.jobs.query.moments import dated, has_days
from horae.domain.jobs.query.parsing import parse_query, written_term
from horae.domain.jobs.query.terms import (
    MOST_CHARACTERS,
    Attempted,
    Bound,
    Condition,
    Contains,
    DayAgo,
    Field,
    HasId,
    HasParameter,
    InGroup,
    InTime,
    Is,
    Lasted,
    Literal,
    Query,
    Term,
)

__all__ = [
    "MOST_CHARACTERS",
    "Attempted",
    "Bound",
    "Condition",
    "Contains",
    "DayAgo",
    "Field",
    "HasId",
    "HasParameter",
    "InGroup",
    "InTime",
    "Is",
    "Lasted",
    "Literal",
    "Query",
    "Term",
    "dated",
    "has_days",
    "parse_query",
    "written_term",
]
