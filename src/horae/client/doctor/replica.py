"""The check of the replica that the settings name. Without one, nothing is checked."""

from collections.abc import Iterator

from horae.client.doctor.finding import Finding, ok, warning
from horae.storage.engine import DATABASE_ERRORS, ReadReplica
from horae.storage.operations import database_error_of


def check_replica(replica: ReadReplica | None) -> Iterator[Finding]:
    """Say whether the replica answers and is a standby, and how far it is behind.

    No finding is a problem, because the primary answers as well.
    """
    if replica is None:
        return
    try:
        in_recovery, lag = replica.state()
    except DATABASE_ERRORS as error:
        yield warning(
            "replica",
            f"{replica.shown} cannot be used: {database_error_of(error)}; until it can, lists are"
            " read from the primary",
            "Check its URL, the server and its replication.",
        )
        return
    if not in_recovery:
        yield warning(
            "replica",
            f"{replica.shown} is not in recovery: it is a primary, and not a standby",
            "Lists are read from it. Check its URL, or unset read_database.",
        )
    elif lag is None:
        yield ok("replica", f"{replica.shown} is in recovery, and does not tell its lag")
    else:
        yield ok("replica", f"{replica.shown} is in recovery, {lag:.1f} s behind the primary")
