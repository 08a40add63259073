"""Django's connections around each body: as Django cares for them around each request."""

from collections.abc import AsyncGenerator, Generator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from typing import Any

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections

from horae.types import JobContext

Care = AbstractContextManager[None] | AbstractAsyncContextManager[None]


def cared_for(job: JobContext[Any]) -> Care:
    """Close connections that are too old or broken before a body and after it.

    The ORM of a coroutine runs on a thread of its own, where its connections are.
    """
    return _around_coroutine() if job.is_async else _around_function()


def prepare() -> None:
    """Close old and broken connections, and let Django try the others before it uses them: a
    server that was restarted has closed them, and nothing has noticed yet.
    """
    close_old_connections()
    for wrapper in connections.all(initialized_only=True):
        vars(wrapper)["health_check_enabled"] = True


@contextmanager
def _around_function() -> Generator[None]:
    prepare()
    try:
        yield
    finally:
        close_old_connections()


@asynccontextmanager
async def _around_coroutine() -> AsyncGenerator[None]:
    await sync_to_async(prepare)()
    try:
        yield
    finally:
        await sync_to_async(close_old_connections)()
