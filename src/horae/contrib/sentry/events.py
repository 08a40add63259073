"""The event of a failed attempt."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import sentry_sdk
from sentry_sdk.types import Event, Hint
from sentry_sdk.utils import event_from_exception

from horae.client.shown_parameters import shown_parameters
from horae.domain.jobs import FAILED_OUTCOMES, Claim, Discard, JobState, Retry, Settlement
from horae.runtime.bodies import FinishedRun
from horae.types import Registry
from horae.types.logs import shown_error

MECHANISM: Final = {"type": "horae", "handled": False}
LONGEST_PARAMETERS: Final = 4096
"""Maximum number of characters of the parameters; longer ones are left out."""
_FRAME: Final = re.compile(r'^  File "([^"]+)", line (\d+), in (\S+)$', re.MULTILINE)
_DECISIONS: Final = (f"{Retry.__name__}: ", f"{Discard.__name__}: ")


def is_failure(run: FinishedRun, *, only_final: bool) -> bool:
    """Return whether an attempt has failed, and not by a decision of its body.

    A `Retry` counts if no attempt is left, as the job fails by it.
    """
    settlement = run.settlement
    if settlement is None or settlement.outcome not in FAILED_OUTCOMES:
        return False
    is_final = settlement.state is JobState.FAILED
    text = settlement.error or ""
    if isinstance(run.error, Discard) or text.startswith(_DECISIONS[1]):
        return False
    if isinstance(run.error, Retry) or text.startswith(_DECISIONS[0]):
        return is_final
    return is_final or not only_final


def event_of(run: FinishedRun, settlement: Settlement, registry: Registry) -> tuple[Event, Hint]:
    """Return the event of a failed attempt, with the texts that are stored."""
    claim, stored = run.claim, settlement.traceback or ""
    shown = shown_error(settlement.error or settlement.outcome.value, stored, run.error)
    options = {**sentry_sdk.get_client().options, "include_local_variables": False}
    event, hint = event_from_exception(shown, client_options=options, mechanism=dict(MECHANISM))
    frames = list(_frames(stored)) if run.error is None else []
    error = event.get("exception", {})["values"][-1]
    error["value"] = error["value"] or settlement.error
    if frames:  # the body has run in another process
        error["stacktrace"] = {"frames": frames}
    event["transaction"] = claim.type
    event["tags"] = {**tags_of(claim), "horae.outcome": settlement.outcome.value}
    context: dict[str, Any] = {
        "id": claim.id,
        "type": claim.type,
        "queue": claim.queue,
        "attempt": claim.attempt,
        "max_attempts": claim.max_attempts,
        "outcome": settlement.outcome.value,
        "human_readable_error": settlement.human_readable_error,
    }
    if settlement.state is JobState.PENDING:
        context["retry_in"] = settlement.delay
    if claim.schedule_id is not None:
        context["schedule_id"] = claim.schedule_id
    if claim.nominal_time is not None:
        context["nominal_time"] = claim.nominal_time.isoformat()
    event["contexts"] = {"job": context}
    if claim.owner is not None:
        event["user"] = {"id": claim.owner}
    params = shown_parameters(registry, claim.type, _json(claim.params))
    if params is not None and len(str(params)) <= LONGEST_PARAMETERS:
        event["contexts"]["parameters"] = params
    return event, hint


def tags_of(claim: Claim) -> dict[str, str]:
    """Return the tags of a job, by which events are found."""
    tags = {
        "horae.job": str(claim.id),
        "horae.type": claim.type,
        "horae.queue": claim.queue,
        "horae.attempt": str(claim.attempt),
    }
    if claim.schedule_id is not None:
        tags["horae.schedule"] = str(claim.schedule_id)
    return tags


def _frames(stored: str) -> Iterator[dict[str, Any]]:
    """Yield the frames of a stored traceback, those of its last error."""
    last = stored.rpartition("Traceback (most recent call last):")[2]
    for path, line, function in _FRAME.findall(last):
        yield {"filename": path, "abs_path": path, "lineno": int(line), "function": function}


def _json(text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except (RecursionError, ValueError):
        return None
