"""The check of the Redis servers that the settings name. Without one, nothing is checked."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from horae.client.doctor.finding import Finding, ok, warning

if TYPE_CHECKING:
    from horae.redis_access.access import RedisAccess

CONSEQUENCE = (
    "until this works, the database keeps live state, and nodes find work by polling; no job is"
    " lost"
)


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
