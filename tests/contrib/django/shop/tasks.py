"""Tasks of Django in the shop."""

from typing import Any

from tests.contrib.django.shop.task_library import TaskContext, task


@task(priority=3)
def add(first: int, *, second: int) -> int:
    """Add two numbers."""
    return first + second


@task()
async def add_later(first: int, second: int) -> int:
    """Add two numbers on the loop of the node."""
    return first + second


@task(takes_context=True)
def fail(context: TaskContext, text: str) -> None:
    """Raise an error whose text looks like the end of another traceback."""
    raise LookupError(f"{context.attempt}\nos.{text}: no")


@task()
def echo(value: Any) -> Any:
    """Return a value."""
    return value


@task()
def leave() -> None:
    """End the process, as a script would."""
    raise SystemExit(2)


@task()
def unstorable() -> Any:
    """Return what is no JSON."""
    return object()


@task()
async def unstorable_later() -> Any:
    """Return what is no JSON, on the loop of the node."""
    return object()
