"""The application of a node as its child processes set it up: they import its module and call its
hooks.

A child imports the module that has made the application, so whatever the module does at its top,
such as `django.setup()`, is done there as well. Then it imports the modules that have declared
hooks, in case the first does not import them.
"""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from horae.domain.jobs import KeepLogs
from horae.errors import ConfigurationError
from horae.runtime.executors.address import MAIN, problem_of_main
from horae.types import Address, ApplicationHooks, Hook
from horae.types.parameters import Sealer
from horae.types.parameters.large_values import LargeValues


@dataclass(frozen=True, slots=True)
class ChildSetup:
    """What a child imports and calls before its first body; `application` is None without hooks."""

    application: Address | None = None
    around: tuple[Address, ...] = ()
    child_start: tuple[Address, ...] = ()
    dispensable: frozenset[Address] = frozenset()
    """Those of `around` that a child goes without if it cannot find them."""
    keep_logs: KeepLogs | None = None
    """Which log lines are kept of jobs whose type does not say."""
    sealer: Sealer | None = field(default=None, repr=False)
    """Decrypts secret parameters."""
    files: LargeValues | None = field(default=None, repr=False)
    """Where large values are stored."""


def setup_of(hooks: ApplicationHooks, keep_logs: KeepLogs | None = None) -> ChildSetup:
    """Return how a child sets up this application.

    An application without hooks that a child cannot import is left out, as in a test or an
    interactive session. Raises `ConfigurationError` if it needs hooks that it cannot find.
    """
    module = sys.modules.get(hooks.module)
    names = [
        name
        for name, value in (vars(module) if module else {}).items()
        if value is hooks.application
    ]
    try:
        if not names:
            raise _refusal(hooks.module, "it is no name at the top level of that module")
        modules = {hooks.module, *(hook.address.module for hook in hooks.of_children)}
        if MAIN in modules and (reason := problem_of_main()) is not None:
            raise _refusal(MAIN, reason)
    except ConfigurationError:
        if hooks.of_children:
            raise
        return ChildSetup(keep_logs=keep_logs)
    around, child_start = (
        tuple(hook.address for hook in group) for group in (hooks.around, hooks.child_start)
    )
    dispensable = frozenset(hook.address for hook in hooks.around if not hook.required)
    return ChildSetup(Address(hooks.module, names[0]), around, child_start, dispensable, keep_logs)


def import_application(setup: ChildSetup) -> tuple[list[Hook[Any]], list[Hook[Any]]]:
    """Import the application; return its hooks around bodies and at a child's start, in order.

    Raises whatever the modules raise, and `ConfigurationError` for a hook that importing them does
    not declare.
    """
    if setup.application is None:
        return [], []
    application = setup.application.find()
    for address in (*setup.around, *setup.child_start):
        if address not in setup.dispensable:
            import_module(address.module)
    hooks: ApplicationHooks = application.hooks
    around = _find_hooks(hooks.around, setup.around, setup.dispensable)
    return around, _find_hooks(hooks.child_start, setup.child_start)


def _refusal(module: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "the hooks of the application cannot run in a child process, which would look for the"
        f" application in the module {module}: {reason}; make it at the top level of a module"
    )


def _find_hooks(
    hooks: Sequence[Hook[Any]],
    addresses: Sequence[Address],
    dispensable: Collection[Address] = (),
) -> list[Hook[Any]]:
    """Return the hooks at these addresses; hooks at one address stay in order of declaration."""
    waiting = list(hooks)
    found: list[Hook[Any]] = []
    for address in addresses:
        hook = next((hook for hook in waiting if hook.address == address), None)
        if hook is None and address in dispensable:
            continue
        if hook is None:
            raise ConfigurationError(
                f"the hook {address} is missing in a child process: importing its module does not"
                " declare it; declare hooks at the top level of a module"
            )
        waiting.remove(hook)
        found.append(hook)
    return found
