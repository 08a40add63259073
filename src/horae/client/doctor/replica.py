"""The check of the replica that the settings name. Without one, nothing is checked."""

from collections.abc import Iterator

from horae.client.doctor.finding import Finding, ok, warning
from horae.storage.engine.replica import NotUsableError, ReadReplica
from horae.storage.operations.doctor import database_error_of


def check_replica(replica: ReadReplica | None) -> Iterator[Finding]:
    """Check that the replica answers, belongs to this database and is nearly up to date.

    Never a problem.
    """
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
    yield ok(
        "replica",
        f"{replica.shown} follows the primary; it was {behind / 1024:.0f} kB of changes behind",
    )


def _unused(replica: ReadReplica, reason: str) -> Finding:
    return warning(
        "replica",
        f"{replica.shown} cannot be used: {reason}; until it can, lists are read from the primary",
        "Check its URL, the server and its replication.",
    )
