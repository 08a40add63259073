"""The checks of the final state: the outside checker and the audit."""

import os
import subprocess
import sys
from pathlib import Path


def outside(url: str, log: Path) -> list[str]:
    """Return what the outside checker finds in the tables and in the log of the bodies."""
    return _problems(
        [
            sys.executable,
            "-m",
            "tests.checker",
            url.replace("+psycopg", ""),
            "--log",
            str(log),
            "--frozen",
        ]
    )


def audit(url: str, keep: float | None = None) -> list[str]:
    """Return what `horae audit` finds. `keep`: seconds for which ended jobs are kept, None if none was deleted."""
    kept = {} if keep is None else {"HORAE_KEEP": str(keep)}
    return _problems([sys.executable, "-m", "horae", "audit", "--database", url], **kept)


def _problems(command: list[str], **variables: str) -> list[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return [] if done.returncode == 0 else lines or [f"exit code {done.returncode}"]
