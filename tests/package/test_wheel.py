"""The wheel contains the dashboard, although it is not in git."""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final
from zipfile import ZipFile

import pytest

ROOT: Final = Path(__file__).parents[2]
STATIC: Final = "horae/api/static"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    """Build it as for a release: a source distribution, and the wheel from that."""
    checkout, made = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, checkout)
    shutil.copytree(ROOT / "src", checkout / "src", ignore=shutil.ignore_patterns("__pycache__"))
    if not (checkout / "src" / STATIC / "index.html").is_file():
        pytest.fail("the dashboard is not built: run `make web`")
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        str(made),
        str(checkout),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return ZipFile(next(made.glob("*.whl")))


@pytest.mark.slow
def test_it_has_the_dashboard_with_every_file_that_its_page_names(wheel: ZipFile) -> None:
    index = wheel.read(f"{STATIC}/index.html").decode()
    named = re.findall(r'(?:src|href)="\./([^"]+)"', index)
    assert any(name.endswith(".js") for name in named)
    assert {f"{STATIC}/{name}" for name in named} <= set(wheel.namelist())


@pytest.mark.slow
def test_it_has_all_that_the_build_left_and_the_types(wheel: ZipFile) -> None:
    built = {
        f"{STATIC}/{file.relative_to(ROOT / 'src' / STATIC)}"
        for file in (ROOT / "src" / STATIC).rglob("*.*")
    }
    assert built <= set(wheel.namelist())
    assert "horae/py.typed" in wheel.namelist()


@pytest.mark.slow
def test_it_has_the_licence_of_each_library_in_its_page(wheel: ZipFile) -> None:
    notices = wheel.read(f"{STATIC}/licenses.md").decode()
    named = re.findall(r"^## (\S+) - [\d.]+ \(MIT\)$", notices, re.MULTILINE)
    assert {
        "@vue/reactivity",
        "@vue/runtime-core",
        "@vue/runtime-dom",
        "pinia",
        "uplot",
        "vue-router",
    } <= set(named)
    assert len(re.findall(r"^## ", notices, re.MULTILINE)) == len(named), (
        "a library under another licence than MIT"
    )
    assert notices.count("Permission is hereby granted") == len(named)


@pytest.mark.slow
def test_nothing_of_a_checkout_is_in_it(wheel: ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"horae"}
