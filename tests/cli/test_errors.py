"""`horae errors`: the groups of failures, and changing the jobs of one."""

import json

import pytest

from horae.app import Horae
from horae.storage.engine.database import Database
from tests.cli.conftest import Call, values
from tests.cli.shop import horae as shop
from tests.harness.applications import ELSEWHERE, claim_as_another_node
from tests.storage.arrange import failure, settled


@pytest.fixture
def database(sqlite_database: Database) -> Database:
    """The statements run on both databases in tests/storage."""
    return sqlite_database


@pytest.fixture
def failed(horae: Call, url: str) -> list[int]:
    """Two jobs that failed with one cause."""
    for path in ("a", "b"):
        horae("jobs", "start", "import_csv", f"path={path}")
    other = Horae(url)
    for job_type in shop.registry:
        other.registry.add(job_type)
    claims = claim_as_another_node(other)
    settled(other.components.database, *(failure(claim) for claim in claims), node=ELSEWHERE)
    other.close()
    return [claim.id for claim in claims]


def test_failures_are_listed_in_groups(bare: Call, failed: list[int]) -> None:
    (group,) = values(bare("errors", "--json"))["groups"]
    assert (group["type"], group["error_class"], group["count"]) == ("import_csv", "ValueError", 2)
    assert sorted(group["failed_jobs"]) == failed
    shown = bare("errors", "--since", "2h", "--type", "import_csv").stdout
    assert group["key"] in shown
    assert "ValueError: no" in shown
    assert bare("errors", "--type", "other").stdout == "No attempt has failed in this time.\n"


def test_the_jobs_of_a_group_are_counted_then_retried(
    horae: Call, bare: Call, failed: list[int]
) -> None:
    key = values(bare("errors", "--json"))["groups"][0]["key"]
    assert values(horae("errors", "--delete", key, "--dry-run", "--json"))["count"] == 2
    changed = horae("errors", "--retry", key, "--yes", "--json")
    order = json.loads(changed.stdout)["params"]["order"]
    assert (order["action"], sorted(order["ids"])) == ("retry", failed)


def test_an_unknown_group_and_two_deeds_are_refused(bare: Call) -> None:
    unknown = bare("errors", "--retry", "nothing", "--yes")
    assert unknown.exit_code != 0
    assert "there is no group 'nothing'" in unknown.stderr
    assert bare("errors", "--retry", "a", "--delete", "b").exit_code == 2
