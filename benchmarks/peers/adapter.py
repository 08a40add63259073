"""The program of an adapter: `python -m benchmarks.peers.adapter MODULE [work]`.

It runs in the environment of the peer. `MODULE` defines `ADAPTER`, the class, and `work`, which
runs one worker in this process until SIGTERM, unless the peer has a command for that.
"""

import importlib
import os
import sys

from benchmarks.peers.protocol import serve


def main() -> None:
    module = importlib.import_module(sys.argv[1])
    if sys.argv[2:] == ["work"]:
        module.work()
        return
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a peer prints is no answer
    serve(module.ADAPTER, sys.stdin, answers)


if __name__ == "__main__":
    main()
