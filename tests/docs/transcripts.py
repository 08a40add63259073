"""The console blocks of a page: what is typed, and what the page says is printed."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
BLOCK: Final = re.compile(r"```console\n(.*?)```", re.DOTALL)
STRICT: Final = "set -euo pipefail\n"


@dataclass(frozen=True)
class Command:
    """One command of a page; `printed` may leave out parts with an ellipsis, and is empty where the page shows none."""

    typed: str
    printed: str


def code_of(page: str, first_line: str) -> str:
    """The one block of Python of a page that begins with this line."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    [found] = [block for block in blocks if block.startswith(f"{first_line}\n")]
    return found


def commands_of(page: str) -> list[Command]:
    """All commands of a page below the root, in order."""
    return [command for block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")) for command in _read(block)]


def _read(block: str) -> list[Command]:
    parts = re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]
    return [Command(*_split(part)) for part in parts]


def _split(part: str) -> tuple[str, str]:
    typed, _, printed = part.partition("\n")
    return typed.partition("  #")[0].strip(), printed


def run(command: Command, folder: Path, environment: Mapping[str, str]) -> str:
    """Run it as a shell would, with this Python's programs on the path; what it printed. Raises if it fails."""
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-c", STRICT + command.typed], cwd=folder, check=True, text=True, stdout=subprocess.PIPE,
        env={**os.environ, **environment, "PATH": programs}, timeout=60,
    ).stdout  # fmt: skip


def is_as_shown(command: Command, printed: str) -> bool:
    """Whether the page shows what was printed."""
    wanted = ".*".join(re.escape(part) for part in command.printed.strip().split("…"))
    return not command.printed.strip() or re.fullmatch(wanted, printed.strip(), re.DOTALL) is not None
