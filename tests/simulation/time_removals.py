"""How the guards of unique, debounced and expiring jobs are removed."""

from typing import Any, Final
from unittest import mock

from sqlalchemy import true

from horae.domain.jobs.job import ENDED
from horae.domain.jobs.retention import KeptFor
from horae.storage.jobs import claims, creation
from horae.types.hooks import hooks
from tests.simulation.removals import Patch, instead, statement


def _claim_of_expired(dialect: str) -> Any:
    with mock.patch.object(claims, "has_not_expired", return_value=true()):
        return claims._claim(dialect)  # noqa: SLF001


claiming_expired_jobs: Final[Patch] = statement(claims, "CLAIM", _claim_of_expired)
deciding_without_the_lock: Final[Patch] = instead(creation, "lock_key", lambda *_, **__: None)
"""Transactions that start jobs with one key do not wait for each other."""
keeping_all_alike: Final[Patch] = instead(
    hooks,
    "kept_for",
    lambda retentions, configured: [_all_alike([name for name, _ in retentions], configured)],
)


def _all_alike(names: list[str], configured: float) -> Any:
    return KeptFor(configured, tuple(ENDED), tuple(names))
