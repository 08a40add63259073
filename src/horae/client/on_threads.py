"""Derives the coroutine methods of a client from its methods for threads."""

from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from horae.storage.engine import Database, Use

C = TypeVar("C")
# Covariant: a method of a base class also serves the clients that inherit it.
C_co = TypeVar("C_co", covariant=True)
P = ParamSpec("P")
T = TypeVar("T")


class OnThreads(Generic[C_co]):
    """A client for coroutines: each method calls the one of `client` on a database thread."""

    def __init__(self, client: C_co, database: Database) -> None:
        self.client, self.database = client, database

    async def run(self, call: Callable[[], T], use: Use) -> T:
        """Run a call on a thread that is meant for what it does."""
        return await self.database.in_thread(call, use)


def on_thread(
    method: Callable[Concatenate[C, P], T], use: Use = Use.READ
) -> Callable[Concatenate[OnThreads[C], P], Coroutine[Any, Any, T]]:
    """Return the method for coroutines; it has the same arguments and documentation."""

    @wraps(method)
    async def call(self: OnThreads[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        # A subclass may have another one.
        own: Callable[P, T] = getattr(self.client, method.__name__)
        return await self.run(partial(own, *args, **kwargs), use)

    return call


def on_change_thread(
    method: Callable[Concatenate[C, P], T],
) -> Callable[Concatenate[OnThreads[C], P], Coroutine[Any, Any, T]]:
    """Return the method for coroutines of one that changes something; it keeps its overloads."""
    return on_thread(method, Use.CHANGE)
