"""Ends a child process that a body has forked.

The child holds a copy of everything and must not continue as a node.
"""

import os
import sys
import traceback
from contextlib import suppress
from typing import NoReturn


class Forks:
    """Counts the forks between this process and the one that imported this module.

    The number differs in a child of this process, and is cheaper to read than the process id.
    """

    count = 0

    @classmethod
    def add(cls) -> None:
        """Count a fork, in the new process."""
        cls.count += 1


os.register_at_fork(after_in_child=Forks.add)


def end_child(error: BaseException | None) -> NoReturn:
    """End a child process, made by a fork of the body, in which the body has ended as well.

    The child must not settle the job, commit or clean up: the parent does.
    """
    code = 0 if error is None else 1
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        traceback.print_exception(error)
    with suppress(Exception):
        sys.stdout.flush()
    os._exit(code)
