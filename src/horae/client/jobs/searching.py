"""Searches by a query, restricted to parameters that the job types of this program may show."""

from typing import Final

from horae.domain.jobs import Field, HasParameter, Is, Query, Term, parse_query
from horae.errors import InvalidQuery
from horae.quoting import did_you_mean, most_similar, quoted
from horae.sentences import Sentence, SentenceCode
from horae.storage.engine import Reads
from horae.storage.jobs.search import Search
from horae.storage.schedules import ids_by_name
from horae.types import Registry
from horae.types.parameters import ModelParameters, Searchability, searchability

SEARCH_TIME: Final = 2.0
"""Seconds after which a list returns what a search has found so far, and a cursor to go on from."""


def search_for(query: str | Query | None, registry: Registry, reads: Reads) -> Search | None:
    """Return the search for a query. Raises `InvalidQuery`."""
    if query is None:
        return None
    parsed = query if isinstance(query, Query) else parse_query(query)
    types: dict[tuple[str, ...], list[str]] = {}
    schedules: dict[str, list[int]] = {}
    for term in parsed.terms:
        condition = term.condition
        if isinstance(condition, HasParameter):
            types[condition.path] = _types_with(condition.path, term, registry, parsed)
        elif isinstance(condition, Is) and condition.field is Field.SCHEDULE:
            found = reads.autocommit(ids_by_name, condition.texts)
            missing = [name for name in condition.texts if name not in found]
            # Users who see only their own jobs do not learn which schedules there are.
            if missing and parsed.technical:
                raise _refused(f"there is no schedule {quoted(missing[0])}", term, parsed)
            schedules |= found
    return Search(query=parsed, types=types, schedules=schedules)


def _types_with(path: tuple[str, ...], term: Term, registry: Registry, query: Query) -> list[str]:
    """Return the types in which a parameter may be searched. Raises `InvalidQuery`."""
    # Types that are not declared here are left out: their secret parameters are not known.
    models = {
        kind.type: kind.parameters.model
        for kind in registry
        if isinstance(kind.parameters, ModelParameters)
    }
    answers = {name: searchability(model, path) for name, model in models.items()}
    open_in = [name for name, answer in answers.items() if answer is Searchability.OPEN]
    if open_in:
        return open_in
    name = ".".join(path)
    if Searchability.SECRET in answers.values():
        problem = Sentence(
            f"params.{name}: secret parameters cannot be searched",
            SentenceCode.QUERY_PARAMETER_SECRET,
            name=name,
        )
        raise _refused(problem, term, query)
    # Users who see only their own jobs do not learn which parameters there are.
    fields = [each for model in models.values() for each in model.model_fields]
    known = [*map(str, Field), *(fields if query.technical else ())]
    problem = Sentence(
        f"params.{name}: no job type that this program declares has this parameter in a"
        f" Pydantic model or as an argument{did_you_mean(path[0], known)}; on the command line,"
        " --app names the program",
        SentenceCode.QUERY_PARAMETER_UNKNOWN,
        name=name,
        meant=most_similar(path[0], known),
    )
    raise _refused(problem, term, query)


def _refused(problem: str, term: Term, query: Query) -> InvalidQuery:
    position, length = term.place
    return InvalidQuery(
        Sentence(
            f"query, character {position}: {problem}",
            SentenceCode.QUERY_AT,
            position=position,
            term=None,
            problem=problem,
        ),
        text=query.text,
        position=position,
        length=length,
    )
