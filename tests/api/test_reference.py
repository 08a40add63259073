"""The reference names every endpoint, error, setting and figure that there is."""

import re
from pathlib import Path
from typing import Final

from horae.api import problems
from horae.settings import Settings
from tests.api.openapi import GOLDEN

ROOT: Final = Path(__file__).parents[2]
REFERENCE: Final = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
SOURCES: Final = Path(problems.__file__).parent
WEB_SETTINGS: Final = (
    "host",
    "port",
    "tokens",
    "allowed_hosts",
    "trusted_origins",
    "max_body",
    "max_connections",
    "header_timeout",
    "body_timeout",
    "write_timeout",
    "idle_timeout",
    "max_streams",
    "max_streams_each",
)


def sources() -> str:
    return "".join(path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py"))


def test_every_error_is_in_the_reference() -> None:
    codes = set(re.findall(r'"(ERROR_[A-Z_]+)"', sources()))
    assert len(codes) > 15
    assert {code for code in codes if f"`{code}`" not in REFERENCE} == set()


def test_every_endpoint_is_in_the_reference() -> None:
    paths = set(
        re.findall(r'^ {4}"(/[^"]+)": \{$', GOLDEN.read_text(encoding="utf-8"), re.MULTILINE)
    )
    named = {
        path.replace("{job_id}", "{id}")
        .replace("{group_id}", "{id}")
        .replace("{schedule_id}", "{id}")
        .replace("{queue}", "{name}")
        for path in paths
        if "/types/" not in path
    }
    assert len(named) > 15
    assert {path for path in named if path not in REFERENCE} == set()


def test_every_setting_of_it_is_in_the_reference() -> None:
    assert set(WEB_SETTINGS) <= Settings.model_fields.keys()
    assert [name for name in WEB_SETTINGS if f"`HORAE_{name.upper()}`" not in REFERENCE] == []


def test_every_figure_is_in_the_reference() -> None:
    figures = set(
        re.findall(r'"(horae_[a-z_]+)"', (SOURCES / "metrics.py").read_text(encoding="utf-8"))
    )
    figures = {"horae_jobs_total" if name == "horae_jobs" else name for name in figures}
    assert len(figures) > 8
    assert {name for name in figures if f"`{name}`" not in REFERENCE} == set()
