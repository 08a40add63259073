"""What a body is called with, and what is stored of its result."""

import json
import time
from functools import partial
from inspect import iscoroutine
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json

from horae.domain.jobs import Claim
from horae.domain.storable import fits, is_storable_json, spelled_out, too_long, unreadable_json
from horae.guarded_log import guarded_log
from horae.storage.engine import Database
from horae.storage.jobs.groups import TooMuchError, results_before
from horae.storage.jobs.search import parameters
from horae.types import Attempt
from horae.types.parameters import MappedParameters, problem_of_result
from horae.types.parameters.large_values import (
    STORED,
    LargeValues,
    LargeValuesUnavailable,
    is_reference,
    open_text,
)
from horae.types.previous import MOST_BYTES, MOST_JOBS, PreviousResultMissing, TakenResults

STORE_PAUSES: Final = (0.1, 0.5, 2.0)
"""Seconds between attempts to write a large result to its store."""
log = guarded_log("horae.runtime")


def load(attempt: Attempt, database: Database) -> None:
    """Load the parameters, and the results of the jobs before if the type takes them.

    Raises `ValidationError` or `PreviousResultMissing` if they are not as the type declares them.
    """
    job_type, claim = attempt.job_type, attempt.claim
    if isinstance(job_type.parameters, MappedParameters):
        attempt.params = database.autocommit(parameters.load, job_type.parameters.mapped, claim.id)
    else:
        attempt.params = job_type.parameters.load(claim.params)
    if job_type.takes is not None:
        attempt.previous = _results_before(
            job_type.takes, claim, database, job_type.parameters.files
        )


def _results_before(
    takes: TakenResults, claim: Claim, database: Database, files: LargeValues | None
) -> Any:
    try:
        found = database.autocommit(results_before, claim.id, most=MOST_JOBS, most_bytes=MOST_BYTES)
    except TooMuchError as error:
        raise PreviousResultMissing(
            f"the jobs before this one have {error}; read them with job.group.results(), which"
            " takes a part at a time"
        ) from None
    if found is not None:
        found = [
            each if each.text is None else each._replace(text=open_text(files, each.text))
            for each in found
        ]
    return takes.value_of(found)


def stored_result(result: Any, attempt: Attempt) -> str | None:
    """Return what is stored in the row of a result; a large one may go to a store of files.

    If the store does not answer for a few seconds, the result is stored in the row.
    """
    text = result_text(result, attempt.job_type.max_result_bytes)
    files: LargeValues | None = attempt.job_type.parameters.files
    if files is None or text is None:
        return text
    if STORED in text and is_reference(json.loads(text)):
        raise TypeError(f"the result cannot be stored: {STORED} is a reserved name")
    for pause in STORE_PAUSES if len(text) > files.over else ():
        try:
            return files.replaced(text)
        except LargeValuesUnavailable as error:
            log.warning("the result of job %d waits: %s", attempt.claim.id, error)
            time.sleep(pause)
    return text


async def stored_result_of_coroutine(
    result: Any, attempt: Attempt, database: Database
) -> str | None:
    """Do the same for a coroutine: only what writes to a store of files needs a thread."""
    files = attempt.job_type.parameters.files
    if files is None or result is None:
        return result_text(result, attempt.job_type.max_result_bytes)
    return await database.in_thread(partial(stored_result, result, attempt))


def result_text(result: Any, most_bytes: int) -> str | None:
    """Return a result as JSON text; raise TypeError if it is too long or not JSON."""
    if result is None:
        return None
    if (problem := problem_of_result(result)) is not None:
        where = f", at {problem.where}" if problem.where else ""
        raise TypeError(f"the result cannot be stored as JSON{where}: {problem.what}")
    try:
        text = to_json(result).decode()
    except PydanticSerializationError as error:
        if iscoroutine(result):
            result.close()
            raise TypeError(
                "the body returned a coroutine, which nobody awaits: declare an `async def`, also"
                " where a decorator wraps one"
            ) from None
        raise TypeError(
            f"the result, a {type(result).__name__}, cannot be stored as JSON: {error}"
        ) from error
    # The checks of a text that is too long would take seconds, perhaps on the node's loop.
    if fits(text, most_bytes):
        if not is_storable_json(text):
            raise TypeError("the result contains a NUL character, which the database cannot store")
        if (why := unreadable_json(text)) is not None:
            raise TypeError(f"the result cannot be read again: {why}")
        text = spelled_out(text)
    if not fits(text, most_bytes):
        raise TypeError(f"the result has {too_long(most_bytes, 'max_result_bytes')}")
    return text
