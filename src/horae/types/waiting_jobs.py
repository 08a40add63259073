"""Pending jobs that cannot run here: their parameters no longer fit, or their type is unknown."""

import time
from dataclasses import dataclass

from pydantic import ValidationError

from horae.domain.jobs import JobId
from horae.storage.engine import Database
from horae.storage.jobs import sample_of_waiting
from horae.types.parameters import ModelParameters, SecretNotOpened
from horae.types.registry import Registry


@dataclass(slots=True)
class Misfit:
    """Pending jobs of one type that cannot run: how many, and the first of them.

    `problem`: what does not fit in the parameters of the first; None if the type is unknown.
    """

    type: str
    first: JobId
    problem: str | None = None
    count: int = 1


def find_misfits(database: Database, registry: Registry) -> list[Misfit]:
    """Return which of a sample of the pending jobs cannot run here, by type."""
    found: dict[str, Misfit] = {}
    waiting = database.autocommit(sample_of_waiting)
    # Validators of applications may be slow.
    end = time.monotonic() + 2.0
    for job in waiting:
        kind, problem = registry.find(job.type), None
        if kind is not None:
            if isinstance(kind.parameters, ModelParameters) and time.monotonic() < end:
                problem = _problem(kind.parameters, job.params)
            if problem is None:
                continue
        if job.type in found:
            found[job.type].count += 1
        else:
            found[job.type] = Misfit(job.type, job.id, problem)
    return list(found.values())


def _problem(parameters: ModelParameters, text: str | None) -> str | None:
    """Return what does not fit, without secret values."""
    if parameters.is_elsewhere(text):
        return None  # the store is not read for a warning
    try:
        parameters.load(text)
    except ValidationError as error:
        return parameters.misfit(error, text)
    except SecretNotOpened as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a validator of the application may raise anything
        return f"their check raises {type(error).__name__}"
    return None
