"""The alert rules and the Grafana dashboard of `examples/deploy` name metrics and labels that exist."""

import json
import re
import time
from importlib import import_module
from typing import Any, Final

import pytest
from prometheus_client.parser import text_string_to_metric_families

from horae.api.metrics import Metrics, MetricsLimits
from horae.storage.engine.database import Database
from tests.docs.transcripts import ROOT
from tests.harness.applications import application

FOLDER: Final = ROOT / "examples/deploy/prometheus"
ADDED: Final = {"horae_unreadable_rows": {"table"}}
"""Metrics that have samples only if something is wrong."""
OF_ALL: Final = {"le"}

yaml: Any = import_module("yaml")


@pytest.fixture
def exported(database: Database) -> dict[str, set[str]]:
    """The labels of each metric that an application exports."""
    with application(database) as horae:

        @horae.job
        def work() -> None: ...

        horae.jobs.start(work)
        metrics = Metrics(horae.components, MetricsLimits(), time.monotonic())
        families = list(text_string_to_metric_families(metrics.text().decode()))
        found = {
            sample.name: set(sample.labels) - OF_ALL
            for family in families
            for sample in family.samples
        }
        assert {family.name for family in families} >= ADDED.keys()
        return {**ADDED, **found}


def expressions() -> list[str]:
    rules = yaml.safe_load((FOLDER / "rules.yaml").read_text())
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    return [rule["expr"] for group in rules["groups"] for rule in group["rules"]] + [
        target["expr"] for panel in dashboard["panels"] for target in panel["targets"]
    ]


def test_each_metric_and_label_exists(exported: dict[str, set[str]]) -> None:
    named: set[str] = set()
    for expression in expressions():
        metrics = set(re.findall(r"\bhorae_\w+", expression))
        assert metrics <= exported.keys(), expression
        labels = set().union(*(exported[name] for name in metrics))
        used = re.findall(r"\b(\w+)=", expression)
        for group in re.findall(r"\bby \(([^)]*)\)", expression):
            used += [name.strip() for name in group.split(",")]
        assert set(used) - OF_ALL <= labels, expression
        named |= metrics
    families = {re.sub(r"_(bucket|count|sum|total)$", "", name) for name in named}
    known = {re.sub(r"_(bucket|count|sum|total)$", "", name) for name in exported}
    # The rest is for autoscalers.
    assert known - families == {"horae_queue_work_seconds"}


def test_rules_say_what_is_wrong() -> None:
    [group] = yaml.safe_load((FOLDER / "rules.yaml").read_text())["groups"]
    assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"])
    for rule in group["rules"]:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"]


def test_panels_do_not_overlap() -> None:
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells
