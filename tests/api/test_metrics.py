"""Metrics for Prometheus, and the health checks for load balancers and supervisors."""

import time

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy.exc import OperationalError

from horae import Horae
from horae.api.application import HttpInterface
from horae.api.metrics import DECLARED, MetricsLimits
from horae.errors import DatabaseBusy
from horae.storage.engine.database import Database
from tests.api.clients import Client, error_of, give
from tests.api.timetable import fire, make_late
from tests.harness.applications import claim_as_another_node, execute
from tests.harness.nodes import running_node, until_state


async def figures(client: Client) -> dict[tuple[str, ...], float]:
    response = await client("auditor").get("/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(response.text)
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.fixture(autouse=True)
def at_once(app: HttpInterface) -> None:
    """Count jobs as soon as they end: in a test no transaction is late."""
    give(app, metrics_limits=MetricsLimits(counted_after=0.0))


async def test_ended_jobs_are_counted_once_by_type_and_outcome(
    horae: Horae, client: Client
) -> None:
    await figures(client)
    horae.jobs.cancel(horae.jobs.start("rebuild_index").id)
    async with running_node(horae):
        for _ in range(2):
            await until_state(horae, horae.jobs.start("rebuild_index").id, "finished")
    for _ in range(2):
        found = await figures(client)
        assert found["horae_jobs_total", "finished", "rebuild_index"] == 2
        assert found["horae_jobs_total", "cancelled", "rebuild_index"] == 1
        assert found["horae_job_duration_seconds_count", "rebuild_index"] == 2
        assert found["horae_job_pick_up_seconds_count", "rebuild_index"] == 2
        assert found["horae_job_duration_seconds_bucket", "+Inf", "rebuild_index"] == 2
        assert found["horae_job_duration_seconds_bucket", "1800.0", "rebuild_index"] == 2
    await until_state(
        horae, horae.jobs.cancel(horae.jobs.start("rebuild_index").id).id, "cancelled"
    )
    assert (await figures(client))["horae_jobs_total", "cancelled", "rebuild_index"] == 2


async def test_what_is_declared_is_what_is_exported(horae: Horae, client: Client) -> None:
    """The reference is written from what is declared."""
    horae.jobs.start("rebuild_index")
    response = await client("auditor").get("/metrics")
    families = list(text_string_to_metric_families(response.text))
    declared = {each.name: each for each in DECLARED}
    assert {family.name.removesuffix("_info") for family in families} == declared.keys()
    for family in families:
        for sample in family.samples:
            labels = sample.labels.keys() - {"le"}
            assert labels == set(declared[family.name.removesuffix("_info")].labels)


async def test_jobs_are_counted_from_the_start_of_the_process_on(
    horae: Horae, app: HttpInterface, client: Client
) -> None:
    horae.jobs.cancel(horae.jobs.start("rebuild_index").id)
    earlier = (
        "INTERVAL '1 hour'" if horae.components.database.dialect == "postgresql" else "3600000000"
    )
    execute(
        horae,
        f"UPDATE horae_jobs SET finished_at = finished_at - {earlier}, created_at = created_at - {earlier}",
    )
    give(app, begun=time.monotonic() - 600)
    horae.jobs.cancel(horae.jobs.start("rebuild_index").id)
    assert (await figures(client))["horae_jobs_total", "cancelled", "rebuild_index"] == 1


async def test_counters_of_known_types_begin_at_zero(horae: Horae, client: Client) -> None:
    found = await figures(client)
    for outcome in ("finished", "failed", "cancelled"):
        assert found["horae_jobs_total", outcome, "rebuild_index"] == 0
    for name in ("job_pick_up", "job_duration", "schedule_lateness"):
        assert found[f"horae_{name}_seconds_count", "rebuild_index"] == 0
        assert found[f"horae_{name}_seconds_bucket", "+Inf", "rebuild_index"] == 0


async def test_types_that_are_unknown_here_are_one(horae: Horae, client: Client) -> None:
    await figures(client)
    for name in ("strange", "stranger"):
        job = horae.jobs.start("rebuild_index")
        execute(horae, "UPDATE horae_jobs SET type = :name WHERE id = :id", name=name, id=job.id)
        horae.jobs.cancel(job.id)
    assert (await figures(client))["horae_jobs_total", "cancelled", "other"] == 2


async def test_backlog_and_slots(horae: Horae, client: Client) -> None:
    for _ in range(3):
        horae.jobs.start("rebuild_index", queue="slow")
    claim_as_another_node(horae, 1)
    await client("root").post("/api/queues/slow/pause/", json={})
    found = await figures(client)
    assert (found["horae_backlog_jobs", "slow"], found["horae_running_jobs", "slow"]) == (2, 1)
    assert found["horae_queue_paused", "slow"] == 1
    assert found["horae_oldest_due_seconds", "slow"] > 0
    assert (found[("horae_slots",)], found["horae_nodes", "alive"]) == (0, 0)
    async with running_node(horae, concurrency=4, queues=("none",)):
        found = await figures(client)
    assert (
        found[("horae_slots",)],
        found[("horae_slots_used",)],
        found["horae_nodes", "alive"],
    ) == (4, 0, 1)


async def test_the_work_of_queues_is_shown_for_autoscalers(horae: Horae, client: Client) -> None:
    for queue in ("slow", "slow", "quick"):
        horae.jobs.start("rebuild_index", queue=queue)
    found = await figures(client)
    assert (found["horae_queue_due_jobs", "slow"], found["horae_queue_due_jobs", "quick"]) == (2, 1)
    assert (found["horae_queue_work_seconds", "slow"], found["horae_queue_slots", "slow"]) == (2, 0)
    assert found["horae_queue_seconds_ahead", "slow"] == float("inf")
    await client("root").post("/api/queues/slow/pause/", json={})
    await client("root").post("/api/queues/quick/pause/", json={})
    async with running_node(horae, concurrency=4):
        found = await figures(client)
    assert (found["horae_queue_work_seconds", "slow"], found["horae_queue_slots", "slow"]) == (0, 4)
    assert found["horae_queue_seconds_ahead", "slow"] == 0


async def test_lateness_is_counted_of_what_a_schedule_started_at_its_time(
    horae: Horae, client: Client
) -> None:
    late, by_hand = (
        horae.schedules.add("rebuild_index", name=name, cron="* * * * *").id
        for name in ("late", "hand")
    )
    make_late(horae, late, 600)
    assert (await figures(client))[("horae_schedules_overdue",)] == 1
    jobs = [*fire(horae, late), horae.schedules.run_now(by_hand)]
    async with running_node(horae, scheduler=False):
        for job_id in jobs:
            await until_state(horae, job_id, "finished")
    for _ in range(2):
        found = await figures(client)
        assert found["horae_schedule_lateness_seconds_count", "rebuild_index"] == 1
        assert found["horae_schedule_lateness_seconds_bucket", "300.0", "rebuild_index"] == 1
        assert (found[("horae_schedules_overdue",)], found[("horae_oldest_overdue_seconds",)]) == (
            0,
            0,
        )


async def test_how_late_the_latest_is(horae: Horae, client: Client) -> None:
    for name, seconds in (("a", 600), ("b", 900), ("c", 5)):
        make_late(horae, horae.schedules.add("rebuild_index", name=name, every="1h").id, seconds)
    found = await figures(client)
    assert found[("horae_schedules_overdue",)] == 2
    assert 900 <= found[("horae_oldest_overdue_seconds",)] < 1000


async def test_queues_past_the_fullest_are_one(
    horae: Horae, app: HttpInterface, client: Client
) -> None:
    give(app, metrics_limits=MetricsLimits(counted_after=0.0, queues=1))
    for queue in ("a", "b", "b", "c"):
        horae.jobs.start("rebuild_index", queue=queue)
    found = {
        key: value
        for key, value in (await figures(client)).items()
        if key[0] == "horae_backlog_jobs"
    }
    assert found == {("horae_backlog_jobs", "b"): 2, ("horae_backlog_jobs", "other"): 2}


async def test_health_needs_no_login_and_reveals_nothing(horae: Horae, client: Client) -> None:
    nobody = client(None)
    assert ((await nobody.get("/healthz")).status_code, (await nobody.get("/healthz")).json()) == (
        200,
        {"status": "ok"},
    )
    assert ((await nobody.get("/readyz")).status_code, (await nobody.get("/readyz")).json()) == (
        200,
        {"status": "ready"},
    )
    execute(
        horae,
        "UPDATE horae_alembic_version SET version_num = 'future', oldest_compatible = 'future'",
    )
    assert ((await nobody.get("/readyz")).status_code, (await nobody.get("/readyz")).json()) == (
        503,
        {"status": "migrations"},
    )


async def test_it_is_not_ready_without_a_database(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(_database: Database) -> None:
        raise OSError("the inside")

    monkeypatch.setattr("horae.storage.migrations.runner.check", unreachable)
    response = await client(None).get("/readyz")
    assert (response.status_code, response.json()) == (503, {"status": "database"})


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (DatabaseBusy("busy"), (503, "ERROR_UNAVAILABLE")),
        (OperationalError("SELECT secret", {}, OSError("gone")), (503, "ERROR_UNAVAILABLE")),
        (RuntimeError("secret"), (500, "ERROR_INTERNAL")),
    ],
)
async def test_a_failing_database_is_a_503_and_an_unexpected_error_reveals_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, error: Exception, answer: tuple[int, str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("horae.client.jobs.jobs.Jobs.get", fail)
    response = await client("alice").get("/api/jobs/1/")
    assert error_of(response) == answer
    assert "secret" not in response.text
    assert response.headers["x-frame-options"] == "DENY"
