"""Loads an application by `module:attribute`, also from the current directory."""

import importlib
import sys
import traceback
from functools import reduce
from pathlib import Path
from types import ModuleType
from typing import Any

from horae.app import Horae
from horae.errors import ConfigurationError
from horae.foreign_files import FOREIGN


def load(reference: str) -> Horae:
    """Import the application; a `ConfigurationError` names what was expected and what was found."""
    module, found = find(reference)
    if not isinstance(found, Horae):
        kind = type(found).__name__
        raise ConfigurationError(
            f"application {reference!r} is of type {kind}, not Horae{_instead(module)}"
        )
    return found


def find(reference: str) -> tuple[ModuleType, Any]:
    """Import a module, and return it with the object that `module:attribute` names in it."""
    module_name, _, attribute = reference.partition(":")
    if "/" in module_name or module_name.endswith(".py"):
        path = module_name.removesuffix(".py").removesuffix("/__init__").removeprefix("./")
        as_module = path.strip("/").replace("/", ".")
        raise ConfigurationError(
            f"application {reference!r}: {module_name!r} is a file; write its module, as in"
            f" {as_module}:{attribute or 'horae'}"
        )
    if not module_name:
        raise ConfigurationError(
            f"application {reference!r}: write module:attribute, as in app:horae"
        )
    module = _import(module_name)
    if not attribute:
        raise ConfigurationError(f"application {reference!r} names only a module{_instead(module)}")
    try:
        return module, reduce(getattr, attribute.split("."), module)
    except AttributeError:
        raise ConfigurationError(
            f"application {reference!r}: module {module_name!r} has no"
            f" {attribute!r}{_instead(module)}"
        ) from None


def _import(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise ConfigurationError(
                f"module {name!r} was not found in {here} or on Python's path"
            ) from error
        raise ConfigurationError(import_problem(f"module {name!r}", error)) from error
    except Exception as error:  # the module of an application may raise anything
        raise ConfigurationError(import_problem(f"module {name!r}", error)) from error


def import_problem(what: str, error: Exception) -> str:
    """Return why a part of an application cannot be imported, with the line of its code."""
    where = ""
    if isinstance(error, SyntaxError) and error.filename is not None:
        where = f" at {error.filename}:{error.lineno}"
    else:
        frames = traceback.extract_tb(error.__traceback__)
        if own := [frame for frame in frames if not frame.filename.startswith(FOREIGN)]:
            where = f" at {own[-1].filename}:{own[-1].lineno}"
    if isinstance(error, ConfigurationError):  # often of the environment: the module may be right
        return f"{error}{where}"
    problem = error.msg if isinstance(error, SyntaxError) else error
    return f"{what} cannot be imported: {type(error).__name__}: {problem}{where}"


def _instead(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, Horae)]
    if names:
        return f"; write {module.__name__}:{names[0]}"
    return "; it declares no application (`horae = Horae(…)`)"
