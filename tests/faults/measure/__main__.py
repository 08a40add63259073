"""Injected faults and their measured effects: `python -m tests.faults.measure [NAME…]`, or `make faults`."""

import argparse
import logging
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.faults.measure.scenarios import EVERYWHERE, ON_POSTGRESQL, Scenario
from tests.faults.measure.scene import scene
from tests.harness.postgres import THROW_AWAY, PostgresServer


def main() -> None:
    """Run the given scenarios on each database that they apply to, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of scenarios; all if left out")
    parser.add_argument("--only", choices=["sqlite", "postgresql"], help="leave the other database out")
    parser.add_argument("--keep", action="store_true", help="keep the logs of the nodes, and say where they are")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    folder = Path(tempfile.mkdtemp(prefix="horae-faults-"))
    for kind in ("sqlite", "postgresql"):
        if arguments.only in (None, kind):
            chosen = {**EVERYWHERE, **(ON_POSTGRESQL if kind == "postgresql" else {})}
            for name, scenario in chosen.items():
                if not arguments.names or any(part in name for part in arguments.names):
                    _run(kind, name, scenario, folder / f"{kind} {name}".replace(" ", "-"))
    if arguments.keep:
        print(f"logs: {folder}")
    else:
        shutil.rmtree(folder)


def _run(kind: str, name: str, scenario: Scenario, folder: Path) -> None:
    with ExitStack() as stack:
        server = stack.enter_context(PostgresServer(THROW_AWAY)) if kind == "postgresql" else None
        url = server.create_database() if server else f"sqlite:///{folder}/horae.db"
        one = stack.enter_context(scene(url, folder))
        try:
            said = scenario(one, server)
        except Exception as error:  # noqa: BLE001 - the table shows which scenarios failed
            said = f"{type(error).__name__}: {error}"
        print(f"{kind:10} {name:26} {one.verdict()}; {said}", flush=True)


if __name__ == "__main__":
    main()
