"""Check a database from outside: `python -m tests.checker DATABASE_URL --log FILE`.

Reads the tables with plain SQL and the log of the bodies, and prints each broken rule. Exits with 1 if there is one. It
imports nothing of Horae, so an error in Horae's code cannot hide itself here.
"""

import argparse
import sqlite3
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg

from tests.checker.body_log import read
from tests.checker.checks import RULES, check
from tests.checker.settings import Settings
from tests.checker.tables import Connection


@contextmanager
def connection_to(url: str) -> Generator[Connection]:
    """Open a connection that reads one state of the database of a URL as Horae accepts it."""
    scheme, _, rest = url.partition("://")
    if scheme.startswith("sqlite"):
        with closing(
            sqlite3.connect(f"file:{rest.removeprefix('/')}?mode=ro", uri=True)
        ) as connection:
            connection.execute("BEGIN")
            yield connection
    else:
        with psycopg.connect(f"postgresql://{rest}") as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield connection


def main() -> int:
    """Check, print the findings, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", help="URL of the database, such as sqlite:///horae.db")
    parser.add_argument(
        "--log", type=Path, action="append", default=[], help="log of the bodies; may be repeated"
    )
    parser.add_argument(
        "--running", action="store_true", help="work goes on, so open jobs are no findings"
    )
    parser.add_argument(
        "--deleted",
        action="store_true",
        help="old jobs were deleted, so absent jobs are no findings",
    )
    parser.add_argument(
        "--clock-set", action="store_true", help="the database's clock was set meanwhile"
    )
    parser.add_argument(
        "--frozen", action="store_true", help="processes were stopped and continued meanwhile"
    )
    given = parser.parse_args()
    settings = Settings(
        over=not given.running,
        kept=not given.deleted,
        steady_clock=not given.clock_set,
        frozen_processes=given.frozen,
    )
    with connection_to(given.url) as connection:
        findings = check(connection, read(*given.log), settings)
    for finding in findings:
        print(finding)
    print(f"{len(findings)} broken rule(s)" if findings else f"all {len(RULES)} rules hold")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
