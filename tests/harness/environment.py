"""Variables of the environment, and the time zone that C functions take from `TZ` only when they are told to."""

import os
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from unittest import mock


@contextmanager
def changed_environment(variables: Mapping[str, str]) -> Generator[None]:
    """Set variables for the block; after it the environment and the time zone are as they were, whatever the block has set."""
    try:
        with mock.patch.dict(os.environ, variables):
            time.tzset()
            yield
    finally:
        time.tzset()


def replace_environment(variables: Mapping[str, str]) -> None:
    """Give this process these variables and no others, as if it had been started with them."""
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
