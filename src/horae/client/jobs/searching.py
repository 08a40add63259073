"""Searches by a query, restricted to parameters that the job types of this program may show."""

from typing import Final

from horae.domain.jobs import HasParameter, Query, parse_query
from horae.errors import InvalidRequest
from horae.storage.jobs.search import Search
from horae.types import Registry
from horae.types.parameters import ModelParameters, Searchability, searchability

SEARCH_TIME: Final = 2.0
"""Seconds after which a list returns what a search has found so far, and a cursor to go on from."""


def search_for(query: str | Query | None, registry: Registry) -> Search | None:
    """Return the search for a query. Raises `InvalidRequest`."""
    if query is None:
        return None
    parsed = query if isinstance(query, Query) else parse_query(query)
    types: dict[tuple[str, ...], list[str]] = {}
    for term in parsed.terms:
        if not isinstance(term.condition, HasParameter):
            continue
        path = term.condition.path
        # Types that are not declared here are left out: their secret parameters are not known.
        answers = {
            kind.type: searchability(kind.parameters.model, path)
            for kind in registry
            if isinstance(kind.parameters, ModelParameters)
        }
        types[path] = [name for name, answer in answers.items() if answer is Searchability.OPEN]
        if types[path]:
            continue
        name = ".".join(path)
        if Searchability.SECRET in answers.values():
            raise InvalidRequest(f"params.{name}: secret parameters cannot be searched")
        raise InvalidRequest(
            f"params.{name}: no job type that this program declares has this parameter in a"
            " Pydantic model or as an argument; on the command line, --app names the program"
        )
    return Search(query=parsed, types=types)
