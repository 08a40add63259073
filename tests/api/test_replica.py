"""Which requests are answered from a read replica: lists and counts, but never what somebody waits for."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from typing_extensions import override

from horae import Horae
from horae.api.application import HttpInterface
from horae.storage.engine.database import Database
from horae.storage.engine.replica import ReadReplica
from tests.api.clients import application_of, client_of

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


class Recorded(ReadReplica):
    """Stands for a replica that is up to date, and counts what is read from it."""

    def __init__(self, database: Database) -> None:
        self.database, self.reads = database, Counter[str]()

    @override
    def autocommit(self, statement: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        self.reads[f"{statement.__module__.rpartition('.')[2]}.{statement.__name__}"] += 1
        return self.database.autocommit(statement, *args, **kwargs)

    @override
    def close(self) -> None: ...


@pytest.fixture
def replica(horae: Horae) -> Recorded:
    replica = Recorded(horae.components.database)
    vars(horae.opened)["components"] = replace(horae.components, replica=replica)
    return replica


@pytest.fixture
def app(replica: Recorded, horae: Horae) -> HttpInterface:
    """The API of an application with a replica."""
    return application_of(horae)


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("/api/jobs/", {"reading.page"}),
        ("/api/jobs/?states=pending&types=rebuild_index", {"reading.page"}),
        ("/api/jobs/?query=state:pending", {"searching.find", "reading.page"}),
        ("/api/schedules/", {"reading.page"}),
        ("/api/queues/", {"queues.view"}),
        (
            "/api/overview/",
            {
                "overview.samples",
                "queues.view",
                "reading.counts",
                "overview.throughput",
                "overview.lateness",
                "overview.by_type",
            },
        ),
        ("/api/jobs/?job_ids=1", set()),
        ("/api/jobs/1/", set()),
        ("/api/jobs/1/attempts/", set()),
        ("/metrics", set()),
    ],
)
async def test_lists_and_counts_come_from_the_replica(
    horae: Horae, app: HttpInterface, replica: Recorded, path: str, read: set[str]
) -> None:
    horae.jobs.start("rebuild_index", owner="alice")
    assert (await client_of(app, "root").get(path)).status_code == 200
    assert replica.reads.keys() == read


async def test_what_a_user_has_just_started_is_read_from_the_primary(
    app: HttpInterface, replica: Recorded
) -> None:
    alice = client_of(app, "alice")
    started = await alice.post("/api/jobs/types/duplicate_table/", json={"table_id": 7})
    assert started.status_code == 202
    assert (await alice.get(f"/api/jobs/{started.json()['id']}/")).status_code == 200
    assert not replica.reads
