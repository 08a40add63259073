"""The guide to testing: its tests pass, and the job that crashes fails as the page shows until it is mended."""

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
    return run_tests(folder, {"shop.py": shop, "test_shop.py": block("test_shop.py")})


def run_tests(folder: Path, files: dict[str, str]) -> subprocess.CompletedProcess[str]:
    for name, text in files.items():
        (folder / name).write_text(text)
    # Of the plugins of this environment only that of Horae is loaded.
    plugins = ["--disable-plugin-autoload", "-p", "horae.pytest_plugin", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plugins]
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


def test_the_first_tests_pass(tmp_path: Path) -> None:
    with_plugin = """
from mail import sent, sign_up

def test_the_plugin(horae_testing):
    sign_up("carol")
    horae_testing.drain()
    assert sent[-1] == "carol"
"""
    files = {
        "mail.py": block("mail.py"),
        "test_mail.py": block("test_mail.py"),
        "test_plugin.py": with_plugin,
        "pytest.ini": "[pytest]\nhorae_application = mail:horae\n",
    }
    done = run_tests(tmp_path, files)
    assert "4 passed" in done.stdout, done.stdout
    assert not (tmp_path / "mail.db").exists()
