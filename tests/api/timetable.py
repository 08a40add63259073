"""Schedules that a test moves in time and fires, as a node would."""

from horae import Horae
from horae.storage.schedules import firing
from tests.harness.applications import ELSEWHERE, execute


def make_late(horae: Horae, schedule_id: int, seconds: int) -> None:
    """Let the schedule have been due so long ago."""
    postgresql = horae.components.database.dialect == "postgresql"
    length = f"INTERVAL '{seconds} seconds'" if postgresql else f"{seconds}000000"
    now = "statement_timestamp()" if postgresql else "horae_now()"
    execute_late = f"UPDATE horae_schedules SET next_start = {now} - {length}, last_tick = {now} - {length} WHERE id = :id"
    execute(horae, execute_late, id=schedule_id)


def fire(horae: Horae, *schedule_ids: int) -> list[int]:
    """Fire what is due of these; the jobs."""
    decided = horae.components.database.transact(firing.fire, schedule_ids, ELSEWHERE)
    return [int(result.fired) for result in decided if result.fired is not None]


def fail_often(horae: Horae, schedule_id: int, times: int) -> None:
    """Let its last runs have failed."""
    execute(
        horae,
        "UPDATE horae_schedule_statistics SET consecutive_failures = :times, total_failures = :times, "
        "total_runs = :times WHERE schedule_id = :id",
        times=times,
        id=schedule_id,
    )
