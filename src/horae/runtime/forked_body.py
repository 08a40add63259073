"""The end of a child that a body has forked: it has a copy of everything, and must not go on as a node."""

import os
import sys
import traceback
from contextlib import suppress
from typing import NoReturn


class _Forks:
    """How many forks lie between this process and the one that imported this module."""

    count = 0


def _count_fork() -> None:
    _Forks.count += 1


os.register_at_fork(after_in_child=_count_fork)


def forks() -> int:
    """A number that is another one in a child of this process: cheaper to ask for than the process's id."""
    return _Forks.count


def end_child(error: BaseException | None) -> NoReturn:
    """End the child of a fork where the body is over: it settles nothing, commits nothing and tidies up nothing."""
    code = 0 if error is None else 1
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        traceback.print_exception(error)
    with suppress(Exception):
        sys.stdout.flush()
    os._exit(code)
