"""What `horae run` does so that a node needs little memory."""

import os
import platform
import subprocess
import sys

import pytest

THREADS_THAT_ALLOCATE = """
import ctypes, threading
from horae.cli.serving import share_one_malloc_arena

share_one_malloc_arena()
all_run = threading.Barrier(8)

def allocate():
    kept = bytes(10_000)
    all_run.wait()

threads = [threading.Thread(target=allocate) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
ctypes.CDLL(None).malloc_stats()
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc has arenas")
@pytest.mark.parametrize(("given", "arenas"), [({}, 1), ({"MALLOC_ARENA_MAX": "3"}, 3)])
def test_all_threads_allocate_from_one_arena(given: dict[str, str], arenas: int) -> None:
    environment = {
        name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"
    } | given

    done = subprocess.run(
        [sys.executable, "-c", THREADS_THAT_ALLOCATE],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )

    assert done.stderr.count("Arena ") == arenas
