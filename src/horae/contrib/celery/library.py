"""Celery's modules.

Celery has no type annotations, so what is taken from here has the type `Any`.
"""

from importlib import import_module
from typing import Any

from horae.errors import ConfigurationError


def celery_module(name: str) -> Any:
    """Import a module of Celery, or of a library that it needs.

    Raises `ConfigurationError` if it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != name.partition(".")[0]:
            raise
        raise ConfigurationError("Celery is not installed: pip install 'horae[celery]'") from error
