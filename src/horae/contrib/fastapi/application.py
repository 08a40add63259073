"""The application as a whole: what starts and ends with it, and what is served below a path."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, TypeAlias

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import HTTPConnection

from horae.app import Horae
from horae.contrib.fastapi.actors import Dependency, actor_from
from horae.errors import ConfigurationError
from horae.guarded_log import guarded_log
from horae.runtime.node import Node

Lifespan: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Any]]

log = guarded_log("horae.contrib.fastapi")


def lifespan(horae: Horae, *, node: bool = False, within: Lifespan | None = None) -> Lifespan:
    """Return a lifespan: `FastAPI(lifespan=lifespan(horae))`.

    It opens Horae's database before the first request and closes it at the end. `node`: also run
    jobs and schedules in this process, on its event loop, so that coroutine functions share what
    the application has opened there; otherwise run them elsewhere (`horae run`). `within`: the
    application's own lifespan, which begins before the node and ends after it.
    """

    @asynccontextmanager
    async def living(app: Starlette) -> AsyncGenerator[Any]:
        app.state.horae = horae
        async with AsyncExitStack() as stack:
            state = await stack.enter_async_context(within(app)) if within is not None else None
            await asyncio.to_thread(horae.open)
            stack.push_async_callback(asyncio.to_thread, horae.close)
            if node:
                await stack.enter_async_context(_running(horae.node()))
            yield state

    return living


def mount(
    app: Starlette, horae: Horae, path: str = "/work", *, user: Dependency | None = None
) -> None:
    """Serve the HTTP API and the dashboard below a path of the application.

    `user`: the application's dependency that returns the user of a request: an `Actor`, an id or
    None. Without it, what `Horae.asgi` says about authentication holds.
    """
    if not path.startswith("/") or path.endswith("/"):
        raise ConfigurationError(f"path {path!r}: expected a path such as '/work'")
    app.state.horae = horae
    within = app if isinstance(app, FastAPI) else None
    app.mount(path, horae.asgi(None if user is None else actor_from(user, within)))


def horae_of(connection: HTTPConnection) -> Horae:
    """Return the application's Horae, as a dependency: `Annotated[Horae, Depends(horae_of)]`."""
    found = getattr(connection.app.state, "horae", None)
    if not isinstance(found, Horae):
        raise ConfigurationError(
            "this application has no Horae: write FastAPI(lifespan=lifespan(horae)), or mount it"
        )
    return found


@asynccontextmanager
async def _running(node: Node) -> AsyncGenerator[None]:
    """Run a node on this loop; if it fails, requests are still answered."""

    async def live() -> None:
        with log.guard(
            "the node of this process has failed, so its jobs wait for another one", traceback=True
        ):
            await node.run()

    async with asyncio.TaskGroup() as group:
        life = group.create_task(live())
        ready = group.create_task(node.ready.wait())
        await asyncio.wait([life, ready], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        try:
            yield
        finally:
            node.stop()
