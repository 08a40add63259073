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

_OURS = str(Path(__file__).parents[1])


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
    module_name, colon, attribute = reference.partition(":")
    if not (module_name and colon and attribute):
        raise ConfigurationError(
            f"application {reference!r}: write module:attribute, as in app:horae"
        )
    module = _import(module_name)
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
        raise ConfigurationError(_broken(name, error)) from error
    except Exception as error:  # the module of an application may raise anything
        raise ConfigurationError(_broken(name, error)) from error


def _broken(name: str, error: Exception) -> str:
    # A reader can change the line of the application, not that of Horae which refused it.
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(_OURS)
    ]
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"module {name!r} cannot be imported: {type(error).__name__}: {error}{where}"


def _instead(module: ModuleType) -> str:
    names = [name for name, value in vars(module).items() if isinstance(value, Horae)]
    return (
        f"; write {module.__name__}:{names[0]}"
        if names
        else "; it declares no application (`horae = Horae(…)`)"
    )
