"""Checks functions that a declaration names and that are called for their result."""

import inspect
from collections.abc import Callable
from typing import Any


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Return whether a call returns a coroutine; objects may have an async `__call__`."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - what it is, not whether
    )


def problem_of_result(function: Callable[..., Any], argument: str) -> str | None:
    """Return why a function cannot be called with one argument for its result; None if it can."""
    if is_coroutine_function(function):
        return "it is a coroutine function, whose result nobody would await"
    try:
        inspect.signature(function).bind(argument)
    except TypeError:
        return f"it takes one argument, {argument}"
    except ValueError:  # a function of an extension that does not tell its arguments
        pass
    return None
