"""The plugin of pytest: its fixtures in a project, with several workers, and where nobody uses them."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROJECT = {
    "shop.py": """
        from horae import Horae

        horae = Horae("sqlite:///shop.db")

        @horae.job
        def ship(order: int) -> int:
            return order
    """,
    "test_shop.py": """
        import pytest

        from shop import horae, ship

        @pytest.mark.parametrize("order", range(6))
        def test_shipping(horae_testing, order):
            job = ship.start(order=order)
            horae_testing.drain()
            assert horae.jobs.wait(job) == order
            assert len(horae_testing.started(ship)) == 1

        @pytest.mark.horae(eager=True)
        def test_eager(horae_testing):
            assert horae.jobs.get(ship.start(order=1).id).result == 1

        def test_a_failed_expectation(horae_testing):
            ship.start(order=1)
            horae_testing.started(ship, order=2)
    """,
}

ALONE = ("-p", "horae.pytest_plugin", "--disable-plugin-autoload")
"""Of the plugins of this environment only this one is loaded."""


def pytest_in(folder: Path, *arguments: str, **files: str) -> str:
    """Run pytest in a project of its own, and return what it prints."""
    for name, text in files.items():
        (folder / name).write_text(textwrap.dedent(text))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_project_with_several_workers(tmp_path: Path) -> None:
    given = ("-n", "2", "-o", "horae_application=shop:horae")
    output = pytest_in(tmp_path, "--strict-markers", *given, **PROJECT)
    assert "1 failed, 7 passed" in output
    assert "AssertionError: ship(order=2) was not started; these jobs were:" in output
    assert "application.py" not in output  # the failure is shown where the test expects something
    assert not (tmp_path / "shop.db").exists()


def test_a_project_that_names_no_application(tmp_path: Path) -> None:
    files = {"test_none.py": "def test_none(horae_testing): ..."}
    output = pytest_in(tmp_path, *ALONE, **files)
    assert "horae_testing needs an application: set horae_application = module:name" in output


def test_a_project_without_jobs_loads_nothing(tmp_path: Path) -> None:
    test = """
        import sys

        def test_nothing():
            assert not {"sqlalchemy", "pydantic", "horae.app", "horae.testing"} & set(sys.modules)
    """
    output = pytest_in(tmp_path, *ALONE, **{"test_a.py": test})
    assert "1 passed" in output
