"""Celery's modules.

Celery has no type annotations, so what is taken from here has the type `Any`.
"""

from importlib import import_module
from typing import Any

from horae.optional_packages import packages_required


def celery_module(name: str) -> Any:
    """Import a module of Celery, or of a library that it needs.

    Raises `ConfigurationError` if it is not installed.
    """
    with packages_required(
        {name.partition(".")[0]}, "Celery is not installed: pip install 'horae[celery]'"
    ):
        return import_module(name)
