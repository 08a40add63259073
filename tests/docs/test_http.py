"""The examples in the guide to HTTP work as shown."""

import re
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.docs.transcripts import Command, commands_of, is_as_shown, run

PAGE: Final = "docs/guides/http.md"
APPLICATION: Final = """
from horae import Horae, JobContext

horae = Horae("sqlite:///horae.db")

@horae.job(public=True, max_count=None)
def export_table(job: JobContext, table_id: int, delimiter: str = ",") -> str: ...

@horae.job
def purge_sessions() -> None: ...

if __name__ == "__main__":
    horae.jobs.start_many("export_table", [{"table_id": 7}] * 11)  # the page shows the twelfth
    for name in ("another", "one_more", "purge_sessions"):
        horae.schedules.add(purge_sessions, name=name, cron="0 3 * * *", timezone="Europe/Berlin")
    horae.schedules.pause("another")
    horae.schedules.pause("one_more")
"""


@contextmanager
def served(folder: Path) -> Generator[str]:
    """Serve the application with local staff and without a worker; yield its address."""
    (folder / "app.py").write_text(APPLICATION)
    subprocess.run([sys.executable, "app.py"], cwd=folder, check=True, timeout=60)
    command = [sys.executable, "-m", "horae", "run", "app:horae", "--local-staff", "--port", "0"]
    with subprocess.Popen(
        [*command, "--no-worker", "--no-scheduler"], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            [address] = re.findall("http://[^/]+", process.stdout.readline())
            yield address
        finally:
            process.kill()


@pytest.mark.slow
def test_the_commands_print_what_the_guide_shows(tmp_path: Path) -> None:
    with served(tmp_path) as address:
        for command in commands_of(PAGE):
            typed = Command(
                command.typed.replace("http://localhost:8080", address), command.printed
            )
            printed = run(typed, tmp_path, {})
            assert is_as_shown(typed, printed), (typed.typed, printed)
