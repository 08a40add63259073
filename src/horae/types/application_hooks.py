"""What an application runs around bodies, and when its nodes and child processes start or stop."""

import inspect
from collections.abc import Callable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any, Generic, TypeVar

from typing_extensions import override

from horae.errors import InvalidRequest
from horae.types.context import JobContext
from horae.types.observers import Observer, Starting

DeclaredT = TypeVar("DeclaredT", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Address:
    """Where something is declared: a module and the dotted name within it."""

    module: str
    qualname: str

    @override
    def __str__(self) -> str:
        """Return it as it appears in errors."""
        return f"{self.module}.{self.qualname}"

    def find(self) -> Any:
        """Import the module and return the declaration; raises what the import raises."""
        return self.find_in(import_module(self.module))

    def find_in(self, module: object) -> Any:
        """Return the declaration in its module; raises AttributeError."""
        return reduce(getattr, self.qualname.split("."), module)


@dataclass(frozen=True, slots=True)
class Hook(Generic[DeclaredT]):
    """A declared function, what is called in its place, and where it is declared.

    `required`: child processes must have it. One that is not, such as that of an integration, is
    left out where a child process cannot find it.
    """

    declared: DeclaredT
    call: Callable[..., Any]
    address: Address
    required: bool = True

    def replaces(self, other: "Hook[Any]") -> bool:
        """Return whether it is `other` again, of a module that was loaded a second time."""
        return self.declared is other.declared or (
            self.address == other.address and "<" not in self.address.qualname
        )


class ApplicationHooks:
    """The hooks of an application, each kind in the order of declaration."""

    def __init__(self, application: object = None, module: str = "") -> None:
        """`application`, `module`: the object that child processes import, and the module that has
        made it.
        """
        self.application, self.module = application, module
        self.around: list[Hook[Any]] = []
        self.node_start: list[Hook[Any]] = []
        self.node_stop: list[Hook[Any]] = []
        self.child_start: list[Hook[Any]] = []
        self.starts: list[Observer[Starting]] = []
        """What observes the calls that start jobs."""
        self.settlements: list[Observer[Any]] = []
        """What observes the writing of results; each gets a `Settling` of the runtime."""

    @property
    def of_children(self) -> list[Hook[Any]]:
        """The hooks that a child process needs."""
        return [hook for hook in (*self.around, *self.child_start) if hook.required]


def add(hooks: list[Hook[Any]], hook: Hook[Any]) -> None:
    """Add a hook, or put it in the place of the one that it replaces."""
    for place, present in enumerate(hooks):
        if hook.replaces(present):
            hooks[place] = hook
            return
    hooks.append(hook)


def around_hook(declared: Callable[[JobContext[Any]], Any], *, required: bool = True) -> Hook[Any]:
    """Return the hook of a generator function, or of a callable that returns a context manager."""
    _check("around", declared, 1, "the JobContext")
    if inspect.iscoroutinefunction(declared):
        raise InvalidRequest(
            f"around: {_text(declared)} is a coroutine function; it must yield once, around the"
            " body"
        )
    call: Callable[..., Any] = declared
    if inspect.isasyncgenfunction(declared):
        call = asynccontextmanager(declared)
    elif inspect.isgeneratorfunction(declared):
        call = contextmanager(declared)
    return _hook(declared, call, required=required)


def process_hook(kind: str, declared: Callable[[], Any]) -> Hook[Any]:
    """Return the hook of a function or coroutine function without arguments."""
    _check(kind, declared, 0, "no argument")
    if inspect.isgeneratorfunction(declared) or inspect.isasyncgenfunction(declared):
        raise InvalidRequest(
            f"{kind}: {_text(declared)} is a generator function, which only around takes"
        )
    return _hook(declared, declared)


def _hook(
    declared: Callable[..., Any], call: Callable[..., Any], *, required: bool = True
) -> Hook[Any]:
    module = getattr(declared, "__module__", None) or type(declared).__module__
    return Hook(declared, call, Address(module, _text(declared)), required)


def _text(declared: object) -> str:
    return getattr(declared, "__qualname__", None) or f"<{type(declared).__qualname__}>"


def _check(kind: str, declared: object, arguments: int, expected: str) -> None:
    """Raise `InvalidRequest` for something that cannot be called with so many arguments."""
    if not callable(declared):
        raise InvalidRequest(f"{kind}: {declared!r} is not a function")
    try:
        inspect.signature(declared).bind(*[None] * arguments)
    except ValueError:  # some callables of C code have no signature
        return
    except TypeError as error:
        raise InvalidRequest(
            f"{kind}: {_text(declared)} must be callable with {expected}: {error}"
        ) from None
