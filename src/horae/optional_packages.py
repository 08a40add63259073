"""Packages that only some programs need; an extra of Horae installs each."""

from collections.abc import Collection, Generator
from contextlib import contextmanager

from horae.errors import ConfigurationError


@contextmanager
def packages_required(names: Collection[str], missing: str) -> Generator[None]:
    """Raise `ConfigurationError` with the text `missing` if the block imports one of these packages
    and it is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in names:
            raise
        raise ConfigurationError(missing) from error
