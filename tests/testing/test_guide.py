"""The guide to testing: its first job fails as the page shows, and the mended one passes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = (Path(__file__).parents[2] / "docs/guides/testing.md").read_text()


def block(title: str) -> str:
    [found] = re.findall(rf'```\w+ title="{re.escape(title)}"\n(.*?)```', GUIDE, re.DOTALL)
    return str(found)


def outcome_of(folder: Path, shop: str) -> subprocess.CompletedProcess[str]:
    (folder / "shop.py").write_text(shop)
    (folder / "test_shop.py").write_text(block("test_shop.py"))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:randomly",
        "test_shop.py",
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_first_version_fails_and_the_second_passes(tmp_path: Path) -> None:
    first = block("shop.py")
    wrong = outcome_of(tmp_path, first)
    assert wrong.returncode == 1
    for line in block("output").splitlines():
        shown = line.replace("shop.py", f"{tmp_path}/shop.py")
        assert shown in wrong.stdout, wrong.stdout
    before, mark, _ = first.partition("@horae.job(")
    assert mark
    right = outcome_of(tmp_path, before + block("shop_mended.py"))
    assert right.returncode == 0, right.stdout
