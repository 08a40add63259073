"""Bytecode of Horae and of the tests, so that not every process of a run compiles the same modules again.

Images of containers often set PYTHONDONTWRITEBYTECODE. Then a run compiled 600 modules in each of its workers, and those
of Horae again in each of the hundreds of processes that tests start. The Makefile unsets it, as pytest compiles its plugins
before it reads a line of ours.
"""

import compileall
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
STARTED: Final = ("src/horae", "tests/harness", "benchmarks")
"""Folders whose modules run in the processes that tests start."""


def compile_started() -> None:
    """Compile what has changed of the modules that run in other processes."""
    for folder in STARTED:
        compileall.compile_dir(ROOT / folder, quiet=1)


@contextmanager
def kept() -> Generator[None]:
    """Write the bytecode of modules that are imported meanwhile, and of no later ones."""
    sys.dont_write_bytecode = False
    try:
        yield
    finally:
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
