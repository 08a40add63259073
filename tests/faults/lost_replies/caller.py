"""How a careful caller calls: again after an error of the database."""

from collections.abc import Callable
from typing import Final, TypeVar

from sqlalchemy.exc import DBAPIError

from horae import DatabaseUnavailable

T = TypeVar("T")

TRIES: Final = 20
"""How often a caller repeats a call that raised an error of the database: other faults may follow the first one."""


def again(call: Callable[[], T], *done: type[Exception]) -> T:
    """Call, and repeat the call after an error of the database, as a careful caller would.

    `done`: errors which mean that an earlier call had its effect although it raised; they are returned.
    """
    for _ in range(TRIES):
        try:
            return call()
        except done as error:
            return error  # type: ignore[return-value]
        except (DBAPIError, DatabaseUnavailable):
            continue
    raise AssertionError("the database did not recover")
