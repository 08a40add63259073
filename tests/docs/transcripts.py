"""Read and run the console blocks of a page: the commands, and the output that the page shows."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.harness.forked import shell

ROOT: Final = Path(__file__).parents[2]
BLOCK: Final = re.compile(r"```console\n(.*?)```", re.DOTALL)
STRICT: Final = "set -euo pipefail\n"


@dataclass(frozen=True)
class Command:
    """One command of a page. An ellipsis in `printed` matches any text; it is empty if the page shows no output."""

    typed: str
    printed: str


def commands_of(page: str) -> list[Command]:
    """Return all commands of a page, in order. The path is relative to the root of the checkout."""
    return [
        command
        for block in BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
        for command in _read(block)
    ]


def _read(block: str) -> list[Command]:
    parts = re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]
    return [Command(*_split(part)) for part in parts]


def _split(part: str) -> tuple[str, str]:
    typed, _, printed = part.partition("\n")
    return typed.partition("  #")[0].strip(), printed


def run(command: Command, folder: Path, environment: Mapping[str, str]) -> str:
    """Run the command in a shell, with the programs of this Python on the path, and return its output. Raise if it fails."""
    return shell(STRICT + command.typed, folder, environment, within=60)


def is_as_shown(command: Command, printed: str) -> bool:
    """Return whether the page shows this output."""
    wanted = ".*".join(re.escape(part) for part in command.printed.strip().split("…"))
    return (
        not command.printed.strip() or re.fullmatch(wanted, printed.strip(), re.DOTALL) is not None
    )
