"""Django's connections around each body: as Django cares for them around each request."""

from collections.abc import AsyncGenerator, Generator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)

from asgiref.sync import sync_to_async
from django.db import connections

Care = AbstractContextManager[None] | AbstractAsyncContextManager[None]
"""What surrounds a body."""


def prepare() -> None:
    """Close old and broken connections, and let Django try the others before it uses them: a
    server that was restarted has closed them, and nothing has noticed yet.
    """
    close_old_connections()
    for wrapper in connections.all(initialized_only=True):
        vars(wrapper)["health_check_enabled"] = True


def close_old_connections() -> None:
    """Close the connections of this thread that are too old or broken, as Django does after a
    request; but none in a transaction, in which the body of an inline job runs.
    """
    for wrapper in connections.all(initialized_only=True):
        if not wrapper.in_atomic_block:
            wrapper.close_if_unusable_or_obsolete()


@contextmanager
def around_function() -> Generator[None]:
    """Care for the connections of this thread before a body and after it."""
    prepare()
    try:
        yield
    finally:
        close_old_connections()


@asynccontextmanager
async def around_coroutine() -> AsyncGenerator[None]:
    """Care for the connections that a coroutine uses: the ORM runs on a thread of its own."""
    await sync_to_async(prepare)()
    try:
        yield
    finally:
        await sync_to_async(close_old_connections)()
