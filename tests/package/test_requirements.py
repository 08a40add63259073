"""Locked requirements have hashes, and versions with known vulnerabilities are not allowed."""

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
LOCKS: Final = sorted((ROOT / "requirements").glob("*.txt"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.stem)
def test_each_locked_requirement_has_a_hash_and_says_nothing_of_where_it_comes_from(
    lock: Path,
) -> None:
    text = lock.read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) > 20
    assert [
        line
        for line in lines
        if not re.fullmatch(r"[a-z0-9._-]+==\S+(\s+--hash=sha256:[0-9a-f]{64})+", line)
    ] == []


@pytest.mark.parametrize("least", ["filelock>=3.20.1", "h11>=0.16", "starlette>=0.49.1"])
def test_versions_with_known_faults_are_not_allowed(least: str) -> None:
    assert f'"{least},' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
