"""The command line as a test calls it: a fresh database, a small application, and a node if the test needs one."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from horae.app import Horae
from horae.cli.main import app
from horae.storage.engine.database import Database
from tests.cli.running import begin, folder, start
from tests.cli.shop import horae as shop

__all__ = ["begin", "folder", "start"]

SHOP = "tests.cli.shop:horae"
Call = Callable[..., Result]


@pytest.fixture
def url(database: Database) -> str:
    return database.url.render_as_string(hide_password=False)


@pytest.fixture
def horae(url: str) -> Call:
    """Call `horae` with the application on the database; fails the test if the program itself fails."""
    return lambda *arguments, **options: call(
        "--app", SHOP, "--database", url, *arguments, **options
    )


@pytest.fixture
def bare(url: str) -> Call:
    """Call `horae` with the database alone."""
    return lambda *arguments: call("--database", url, *arguments)


def call(*arguments: str, env: dict[str, str | None] | None = None) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env=env)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


async def called(url: str, *arguments: str) -> Result:
    """Call `horae` beside a node that runs on this thread's loop."""
    return await asyncio.to_thread(call, "--app", SHOP, "--database", url, *arguments)


def values(result: Result) -> Any:
    """The one JSON value that a command printed."""
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


@asynccontextmanager
async def node_of(url: str, **options: Any) -> AsyncGenerator[None]:
    """A node that knows the shop's job types, for as long as the block runs."""
    horae = Horae(url)
    for job_type in shop.registry:
        horae.registry.add(job_type)
    node = horae.node(**options)
    async with asyncio.TaskGroup() as group:
        group.create_task(node.run())
        await node.ready.wait()
        yield
        node.stop()
    await asyncio.to_thread(horae.close)
