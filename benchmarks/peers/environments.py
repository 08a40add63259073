"""A virtual environment for each peer, so that none decides which versions another gets."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.catalogue import Peer

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv" / "peers"
INSTALL_WITHIN = 300.0
"""Seconds that pip has for one peer."""
END_OF_OUTPUT = 500
"""Characters of pip's output that an error shows."""


class InstallationFailed(RuntimeError):
    """pip could not install a peer; the message ends with what it said."""


def python_of(peer: Peer) -> Path:
    """Return the interpreter that runs the adapter of a peer; creates its environment if needed.

    Raises:
        InstallationFailed: pip failed, or took too long.
    """
    if peer.is_horae:
        return Path(sys.executable)
    return python_with(peer.adapter, peer.requirements)


def python_with(name: str, requirements: Sequence[str]) -> Path:
    """Return the interpreter of the environment of this name; creates or renews it if needed.

    Raises:
        InstallationFailed: pip failed, or took too long.
    """
    folder = FOLDER / name
    python, installed = folder / "bin" / "python", folder / "installed"
    wanted = "\n".join([f"{sys.version_info[:2]}", *requirements])
    if installed.exists() and installed.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    for command in commands_for(folder, requirements):
        _run(name, command)
    installed.write_text(wanted)
    return python


def commands_for(folder: Path, requirements: Sequence[str]) -> list[list[str]]:
    """Return the commands that create an environment."""
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    return [[sys.executable, "-m", "venv", str(folder)], [*pip, *requirements]]


def _run(name: str, command: list[str]) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=INSTALL_WITHIN, check=False
        )
    except subprocess.TimeoutExpired:
        raise InstallationFailed(f"{name}: not installed within {INSTALL_WITHIN:g} s") from None
    if done.returncode != 0:
        said = done.stderr.strip()[-END_OF_OUTPUT:]
        raise InstallationFailed(f"{name}: pip failed: {said}")
