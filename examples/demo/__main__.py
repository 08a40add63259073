"""On a new SQLite file: a job that finishes, is cancelled, fails, survives its node; two schedules; and a page."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console

console = Console(highlight=False)


def main() -> int:
    """Run the parts. Return 0 only if each went as expected."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--once", action="store_true", help="end after the parts")
    once: bool = arguments.parse_args().once
    folder = Path(tempfile.mkdtemp(prefix="horae-demo-"))
    os.environ["HORAE_DATABASE"] = (
        f"sqlite:///{folder / 'horae.db'}"  # also for the nodes, which run in separate processes
    )
    console.print(f"A new database: {folder / 'horae.db'}\n")
    try:
        return 0 if demonstrate(folder, once=once) else 1
    except KeyboardInterrupt:
        console.print("Stopped.")
        return 0


def demonstrate(folder: Path, *, once: bool) -> bool:
    """Run the parts while the dashboard is served. Return whether each went as expected."""
    from examples.demo import parts  # noqa: PLC0415 - its application reads the environment

    with parts.dashboard(console):
        right = parts.show(console)
        console.print(
            "[green]All five came out right.[/]"
            if right
            else "[red]Something came out wrong; see above.[/]"
        )
        if not once:
            parts.stay(console, folder)
    return right


if __name__ == "__main__":
    sys.exit(main())
