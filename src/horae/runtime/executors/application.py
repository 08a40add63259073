"""The application of a node as its child processes set it up: they import its module and call its
hooks.

A child imports the module that has made the application, so whatever the module does at its top,
such as `django.setup()`, is done there as well. Then it imports the modules that have declared
hooks, in case the first does not import them.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any

from horae.domain.jobs import KeepLogs
from horae.errors import ConfigurationError
from horae.runtime.executors.address import MAIN, Address, problem_of_main
from horae.types import ApplicationHooks, Hook


@dataclass(frozen=True, slots=True)
class ChildSetup:
    """What a child imports and calls before its first body; `application` is None without hooks."""

    application: Address | None = None
    around: tuple[Address, ...] = ()
    child_start: tuple[Address, ...] = ()
    keep_logs: KeepLogs | None = None
    """Which log lines are kept of jobs whose type does not say."""


def setup_of(hooks: ApplicationHooks, keep_logs: KeepLogs | None = None) -> ChildSetup:
    """Return how a child sets up this application.

    An application without hooks that a child cannot import is left out, as in a test or an
    interactive session. Raises `ConfigurationError` if it needs hooks that it cannot find.
    """
    needed = hooks.of_children
    try:
        application = _address_of(hooks)
        around, child_start = _addresses(hooks.around), _addresses(hooks.child_start)
    except ConfigurationError:
        if needed:
            raise
        return ChildSetup(keep_logs=keep_logs)
    return ChildSetup(application, around, child_start, keep_logs)


def imported(setup: ChildSetup) -> tuple[list[Hook[Any]], list[Hook[Any]]]:
    """Import the application; return its hooks around bodies and at a child's start, in order.

    Raises whatever the modules raise, and `ConfigurationError` for a hook that importing them does
    not declare.
    """
    if setup.application is None:
        return [], []
    application: Any = reduce(
        getattr, setup.application.qualname.split("."), import_module(setup.application.module)
    )
    for address in (*setup.around, *setup.child_start):
        import_module(address.module)
    hooks: ApplicationHooks = application.hooks
    return _found(hooks.around, setup.around), _found(hooks.child_start, setup.child_start)


def _address_of(hooks: ApplicationHooks) -> Address:
    module = sys.modules.get(hooks.module)
    names = (
        [name for name, value in vars(module).items() if value is hooks.application]
        if module
        else []
    )
    if not names:
        raise _refusal(hooks.module, "it is no name at the top level of that module")
    if hooks.module == MAIN and (reason := problem_of_main()) is not None:
        raise _refusal(hooks.module, reason)
    return Address(hooks.module, names[0])


def _addresses(hooks: Sequence[Hook[Any]]) -> tuple[Address, ...]:
    if MAIN in {hook.module for hook in hooks} and (reason := problem_of_main()) is not None:
        raise _refusal(MAIN, reason)
    return tuple(Address(hook.module, hook.qualname) for hook in hooks)


def _refusal(module: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "the hooks of the application cannot run in a child process, which would look for the"
        f" application in the module {module}: {reason}; make it at the top level of a module"
    )


def _found(hooks: Sequence[Hook[Any]], addresses: Sequence[Address]) -> list[Hook[Any]]:
    """Return the hooks at these addresses; hooks at one address stay in order of declaration."""
    waiting = list(hooks)
    found: list[Hook[Any]] = []
    for address in addresses:
        name = f"{address.module}.{address.qualname}"
        hook = next((hook for hook in waiting if hook.name == name), None)
        if hook is None:
            raise ConfigurationError(
                f"the hook {name} is missing in a child process: importing its module does not"
                " declare it; declare hooks at the top level of a module"
            )
        waiting.remove(hook)
        found.append(hook)
    return found
