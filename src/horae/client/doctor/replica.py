"""The check of the replica that the settings name. Without one, nothing is checked."""

from collections.abc import Iterator

from horae.client.doctor.finding import Finding, ok, warning
from horae.storage.engine.replica import NotUsableError, ReadReplica
from horae.storage.operations.doctor import database_error_of

FAR_BEHIND = 16 * 1024**2
"""Bytes of changes that a replica does not show yet: a whole file of the log, so more than a moment of load."""


def check_replica(replica: ReadReplica | None) -> Iterator[Finding]:
    """Check that the replica answers, belongs to this database and is nearly up to date. Never a problem."""
    if replica is None:
        return
    try:
        behind = replica.examine()
    except Exception as error:
        reason = str(error) if isinstance(error, NotUsableError) else database_error_of(error)
        if reason is None:
            raise
        yield _unused(replica, reason)
        return
    if behind > FAR_BEHIND:
        yield _unused(replica, f"it is {behind / 1024**2:.0f} MB of changes behind")
    else:
        yield ok("replica", f"{replica.shown} follows the primary; it is {behind / 1024:.0f} kB of changes behind")


def _unused(replica: ReadReplica, reason: str) -> Finding:
    return warning(
        "replica",
        f"{replica.shown} cannot be used: {reason}; until it can, lists are read from the primary",
        "Check its URL, the server and its replication.",
    )
