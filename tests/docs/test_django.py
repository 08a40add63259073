"""A new project that is made of the blocks of the guide to Django migrates, and its tests pass."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import django
import pytest

from tests.docs.transcripts import ROOT

PAGE: Final = "docs/guides/django.md"
BLOCK: Final = re.compile(r"```python\n(# (\S+?\.py)(?:, at the end)?\n.*?)```", re.DOTALL)


def run(folder: Path, *arguments: str) -> str:
    """Run a command of Django; raises AssertionError with its output if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ran = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def before_django_6(text: str) -> str:
    """Return a block as it is written for tasks of the package."""
    apps = 'INSTALLED_APPS += ["django_tasks"]\n'
    return text.replace("TASKS =", f"{apps}TASKS =").replace(
        "django.tasks import", "django_tasks import"
    )


@pytest.mark.slow
def test_a_project_of_its_blocks_works(tmp_path: Path) -> None:
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    blocks = BLOCK.findall(page)
    assert len(blocks) == page.count("```python")
    run(tmp_path, "-m", "django", "startproject", "shop", ".")
    run(tmp_path, "-m", "django", "startapp", "orders")
    if django.VERSION < (6,):  # as the page says
        blocks = [(before_django_6(text), name) for text, name in blocks]
    for text, name in blocks:
        before = (tmp_path / name).read_text() if "at the end\n" in text else ""
        (tmp_path / name).write_text(f"{before}\n{text}")
    run(tmp_path, "manage.py", "makemigrations", "orders")
    run(tmp_path, "manage.py", "check")
    assert "Ran 3 tests" in run(tmp_path, "manage.py", "test")
    # The files that a server loads, and the address that the page names.
    asked = "from shop.{0} import application; print(type(application).__name__)"
    assert "Starlette" in run(tmp_path, "-c", asked.format("asgi"))
    assert "function" in run(tmp_path, "-c", asked.format("wsgi"))
