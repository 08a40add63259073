"""The end of a child that a body has forked: it has a copy of everything, and must not go on as a node."""

import os
import sys
import traceback
from contextlib import suppress
from typing import NoReturn


class forks:  # noqa: N801 - reads as the number that it holds
    """How many forks lie between this process and the one that imported this module: `forks.count`.

    It is another number in a child of this process, and cheaper to read than the process's id.
    """

    count = 0


def _count_fork() -> None:
    forks.count += 1


os.register_at_fork(after_in_child=_count_fork)


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
