"""Where coroutines call the database: on the thread of the synchronous code that has called them.

Django's transactions belong to threads. The coroutine methods of its ORM run on the thread that
has called `async_to_sync`, such as that of a test or of a view under WSGI, and so in the
transaction of that thread. Horae's calls do the same.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from asgiref.sync import AsyncToSync, async_to_sync, sync_to_async
from typing_extensions import override

from horae.contrib.django.databases import connection_of
from horae.storage.engine import CallerThreads, Use

T = TypeVar("T")


class DjangoThreads(CallerThreads):
    """Threads of their own for coroutines that no synchronous code has called, as under ASGI."""

    def __init__(self, alias: str, count: int) -> None:
        super().__init__(count)
        self._alias = alias

    @override
    async def run(self, call: Callable[[], T], use: Use) -> T:
        if self.are_free():
            return await super().run(call, use)
        return await sync_to_async(call)()

    @override
    async def finish(self, call: Callable[[], T]) -> T:
        if self.are_free():
            return await super().finish(call)
        return await sync_to_async(call)()

    @override
    def run_body(self, body: Coroutine[Any, Any, T]) -> T:
        if not connection_of(self._alias).in_atomic_block:
            return super().run_body(body)

        async def run() -> T:
            return await body

        return async_to_sync(run)()

    @override
    def are_free(self) -> bool:
        return asyncio.get_running_loop() not in AsyncToSync.loop_thread_executors
