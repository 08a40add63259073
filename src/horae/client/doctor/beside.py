"""The checks of what nodes use beside the database: a replica, Redis servers, and journals.

A replica or a server is checked if the settings name one.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from horae.client.doctor.finding import Finding, ok, warning
from horae.storage.engine import DATABASE_ERRORS, ReadReplica
from horae.storage.operations import database_error_of

if TYPE_CHECKING:
    from horae.redis_access.access import RedisAccess

CONSEQUENCE: Final = (
    "until this works, the database keeps live state, and nodes find work by polling; no job is"
    " lost"
)


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


def check_redis(servers: Iterable["RedisAccess"]) -> Iterator[Finding]:
    """Check that each server answers and accepts writes.

    Never a problem: jobs run without Redis.
    """
    for server in servers:
        state = server.examine()
        if state.failure is not None:
            yield warning(
                "redis",
                f"{server.shown} does not answer: {state.failure}; {CONSEQUENCE}",
                "Check the URL, the server, the password and the network.",
            )
        elif state.refuses_writes is not None:
            yield warning(
                "redis",
                f"{server.shown} refuses writes: {state.refuses_writes}; {CONSEQUENCE}",
                "Connect to the primary, allow this user to write, or give the server more memory.",
            )
        else:
            answered = f"answers in {state.seconds * 1000:.1f} ms and accepts writes"
            yield ok("redis", f"{server.shown} {answered}; its keys begin with {server.prefix}:")


def journal_findings(
    hidden: Sequence[tuple[str, int, str | None]], folder: str | None
) -> Iterator[Finding]:
    """Report nodes (id, process, journal file) whose journals are missing in the folder, if there
    is one.
    """
    for node, pid, file in hidden:
        where = (
            "keeps no journal of what has begun" if file is None else f"keeps its journal in {file}"
        )
        here = "find no folder for journals" if folder is None else f"look in {folder}"
        yield warning(
            "journals",
            f"node {node} (process {pid}) {where}, and nodes with the settings of this command"
            f" {here}: if it is killed, all of its jobs count as begun",
            "Set HORAE_JOURNAL_DIR to one folder for all nodes of this machine; a systemd unit with"
            " PrivateTmp= has a folder for temporary files of its own.",
        )
