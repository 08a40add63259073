"""Runs github.com/hardbyte/postgresql-job-queue-benchmarking without containers.

`python -m benchmarks.public_harness CHECKOUT run …`: what follows CHECKOUT, a folder with a clone
of that project, are its own arguments. Its packages and those of its adapter of Procrastinate go
into environments of their own; README.md has the details.
"""

import os
import sys
from pathlib import Path

from benchmarks.peers.catalogue import PEERS
from benchmarks.peers.environments import ROOT, python_of, python_with

REQUIREMENTS = (
    "psycopg[binary]==3.3.9",
    "matplotlib>=3.9,<4",
    "pandas>=2.2,<3",
    "numpy>=2,<3",
    "pydantic>=2,<3",
)
"""What its pyproject.toml names."""


def main() -> None:
    if len(sys.argv) < 2 or not Path(sys.argv[1], "bench_harness").is_dir():
        sys.exit("usage: python -m benchmarks.public_harness CHECKOUT run … (see README.md)")
    checkout = Path(sys.argv[1]).resolve()
    procrastinate = next(peer for peer in PEERS if peer.name == "procrastinate")
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HARNESS": str(checkout),
        "HORAE_PYTHON": sys.executable,
        "PROCRASTINATE_PYTHON": str(python_of(procrastinate)),
    }
    python = str(python_with("public_harness", REQUIREMENTS))
    program = str(Path(__file__).with_name("without_containers.py"))
    os.execve(python, [python, program, *sys.argv[2:]], environment)


if __name__ == "__main__":
    main()
