"""How long ended jobs are kept: by type and state, else as configured."""

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from typing_extensions import override

from horae import Horae, InvalidJobType, JobDoesNotExist, JobState, JobType, Results
from horae.domain.jobs.job import JobState as State
from horae.domain.jobs.job import finished
from horae.domain.jobs.retention import KEPT_FOR_WAITING, KeptFor, Retention, kept_for
from horae.runtime.settling.cleaning import (
    EVERYTHING_EVERY,
    LONGEST_REST,
    MOST_REST,
    CleaningPlan,
    DeletionPace,
)
from horae.runtime.settling.hook_service import HookService
from horae.runtime.timing import HookTiming, Timing
from horae.storage.jobs.owed_hooks import EVER
from horae.storage.outcomes import settling
from horae.types.hooks.hooks import Hooks
from tests.harness.applications import ELSEWHERE, claim_as_another_node, execute, rows
from tests.harness.nodes import running_node, until, until_state
from tests.harness.waiting import Record

QUICKLY = Timing(hooks=HookTiming(gone_every=0.05, look_every=0.05))
DAY = 86_400.0


def ended_before(horae: Horae, seconds: float, type_name: str = "%") -> None:
    """Let all ended jobs, or those of one type, have ended some time earlier."""
    sqlite = horae.components.database.dialect == "sqlite"
    span = f"{round(seconds * 1e6)}" if sqlite else f"interval '{seconds} seconds'"
    change = f"created_at = created_at - {span}, finished_at = finished_at - {span}"
    execute(horae, f"UPDATE horae_jobs SET {change} WHERE type LIKE :type", type=type_name)


def stored(horae: Horae) -> set[int]:
    return {row.id for row in rows(horae, "SELECT id FROM horae_jobs")}


def run_each(horae: Horae) -> dict[str, int]:
    """A job of each type and outcome."""

    @horae.job(keep={"finished": "1d", "failed": "90d"})
    def by_state(*, well: bool) -> None:
        if not well:
            raise ValueError

    @horae.job(keep="1h")
    def briefly() -> None: ...

    @horae.job
    def usual() -> None: ...

    made: dict[str, int] = {
        "finished": horae.jobs.start(by_state, well=True, sync=True).id,
        "failed": horae.jobs.start(by_state, well=False, sync=True).id,
        "cancelled": horae.jobs.cancel(horae.jobs.start(by_state, well=True).id).id,
        "briefly": horae.jobs.start(briefly, sync=True).id,
        "usual": horae.jobs.start(usual, sync=True).id,
    }
    execute(horae, "UPDATE horae_jobs SET hook_owed = NULL")
    return made


def test_each_job_is_kept_as_its_type_declares_for_its_state(horae: Horae) -> None:
    made = run_each(horae)
    ended_before(horae, 2 * 3600)
    assert horae.jobs.clean_up() == 1
    assert stored(horae) == set(made.values()) - {made["briefly"]}
    ended_before(horae, DAY)
    assert horae.jobs.clean_up() == 1
    assert made["finished"] not in stored(horae)
    ended_before(horae, 31 * DAY)
    assert horae.jobs.clean_up() == 2
    assert stored(horae) == {made["failed"]}
    ended_before(horae, 60 * DAY)
    assert horae.jobs.clean_up() == 1
    assert rows(horae, "SELECT job_id FROM horae_job_attempts") == []


def test_an_age_that_the_caller_names_counts_for_all_types(horae: Horae) -> None:
    run_each(horae)
    ended_before(horae, 60)
    assert horae.jobs.clean_up(timedelta.max) == 0
    assert horae.jobs.clean_up("10s") == 5


def test_a_job_that_is_not_kept_is_gone_when_it_was_run_inline(horae: Horae) -> None:
    deleted = Record[int]()

    @horae.register
    class Unkept(JobType[Any]):
        type = "unkept"
        keep = None

        def run(self, job: Any) -> str:
            return "done"

        def before_delete(self, job: Any) -> None:
            deleted.append(job.id)

    job = horae.jobs.start("unkept", sync=True)
    assert (job.state, job.result) == (JobState.FINISHED, "done")
    assert stored(horae) == set()
    assert deleted == [job.id]
    assert rows(horae, "SELECT job_id FROM horae_job_attempts") == []


async def test_a_waiter_gets_the_result_of_a_job_that_is_not_kept(horae: Horae) -> None:
    failures = Record[int]()

    @horae.job(keep=None, on_error=lambda job, _error: failures.append(job.id))
    def unkept(*, well: bool = True) -> str:
        if not well:
            raise ValueError
        return "done"

    @horae.job(keep={"failed": None})
    def kept_if_finished() -> None: ...

    async with running_node(horae, timing=QUICKLY):
        kept = await horae.aio.jobs.start(kept_if_finished)
        await horae.aio.jobs.wait(kept.id, timeout="20s")
        failed = await horae.aio.jobs.start(unkept, well=False)
        job = await horae.aio.jobs.start(unkept)
        assert await horae.aio.jobs.wait(job.id, timeout="20s") == "done"
        await until(lambda: len(failures) == 1)
        ended_before(horae, KEPT_FOR_WAITING, "unkept")
        await until(lambda: stored(horae) == {kept.id})
    assert failures == [failed.id]
    assert list(horae.audit().findings) == []
    with pytest.raises(JobDoesNotExist, match=f"job {job.id} does not exist"):
        horae.jobs.wait(job.id)


async def test_members_of_a_group_stay_until_the_job_after_it_has_ended(horae: Horae) -> None:
    @horae.job(keep=None)
    def part(number: int) -> int:
        return number

    @horae.job(keep=None)
    def combine() -> None: ...

    horae.jobs.start_group([(part, {"number": each}) for each in range(3)], then=(combine, {}))
    async with running_node(horae, timing=QUICKLY, concurrency=1):
        await until(
            lambda: (
                rows(horae, "SELECT count(*) FROM horae_jobs WHERE finished_at IS NOT NULL")
                == [(4,)]
            )
        )
        execute(horae, "UPDATE horae_groups SET ended_at = NULL")
        ended_before(horae, 60)
        horae.jobs.clean_up()
        assert len(stored(horae)) >= 3


async def test_a_job_stays_until_those_after_it_have_ended(horae: Horae) -> None:
    @horae.job(keep=None)
    def part(number: int) -> int:
        return number

    @horae.job
    def combine(parts: Results[int]) -> list[int]:
        return parts

    gate = horae.jobs.start(part, number=2, delay="1h")
    early = horae.jobs.start(part, number=1)
    async with running_node(horae, timing=QUICKLY):
        await until_state(horae, early.id, "finished")
        late = horae.jobs.start(combine, after=[early, gate])
        ended_before(horae, 60)
        horae.jobs.clean_up()
        assert early.id in stored(horae)
        horae.jobs.reschedule(gate.id, delay="0s")
        assert await horae.aio.jobs.wait(late.id, timeout="20s") == [2, 1]
        ended_before(horae, 60, "part")
        horae.jobs.clean_up()
        assert stored(horae) == {late.id}


REFUSED: list[tuple[Any, str]] = [
    (30, "keep is 30, expected a duration, None"),
    ("0s", "keep is '0s', expected a duration of more than zero, or None"),
    (
        {"pending": "1d"},
        "keep names the state 'pending', expected some of cancelled, failed, finished",
    ),
    ({"done": "1d"}, "keep names the state 'done'"),
    ({"failed": 5}, "keep of failed is 5"),
    ("soon", "keep: interval 'soon'"),
]


@pytest.mark.one_database
@pytest.mark.parametrize(("keep", "error"), REFUSED)
def test_a_wrong_declaration_is_refused(horae: Horae, keep: Any, error: str) -> None:
    with pytest.raises(InvalidJobType, match=f"job type 'work': {error}"):

        @horae.job(keep=keep)
        def work() -> None: ...


def test_types_with_the_same_rules_are_cleaned_together() -> None:
    ended = (State.CANCELLED, State.FAILED, State.FINISHED)
    kept = kept_for(
        [
            ("a", Retention.of({"finished": "1d"})),
            ("b", Retention()),
            ("c", Retention.of({"finished": "1d"})),
        ],
        30 * DAY,
    )
    assert kept == [
        (DAY, (State.FINISHED,), ("a", "c")),
        (30 * DAY, (State.CANCELLED, State.FAILED), ("a", "c")),
        (30 * DAY, ended, ("b",)),
    ]
    assert kept_for([("a", Retention.of(None))], DAY) == [(KEPT_FOR_WAITING, ended, ("a",))]


def test_only_the_latest_ends_are_searched_for_jobs_that_are_kept_for_a_shorter_time() -> None:
    brief, usual = (
        ("", part) for part in kept_for([("a", Retention.of(None)), ("b", Retention())], 30 * DAY)
    )
    plan = CleaningPlan(HookTiming(), begun=0.0)
    assert list(plan.due([brief, usual], 1.0)) == []
    assert list(plan.due([brief, usual], 2.0)) == [(brief, EVER)]
    [(part, oldest)] = plan.due([brief, usual], 12.0)
    assert (part, oldest) == (brief, KEPT_FOR_WAITING + 10 + 30)
    plan.failed(brief)
    assert list(plan.due([brief, usual], 14.0)) == [(brief, EVER)]
    assert dict(plan.due([brief, usual], 300.0)) == {
        brief: KEPT_FOR_WAITING + 286 + 30,
        usual: EVER,
    }
    assert dict(plan.due([brief, usual], 300.0 + EVERYTHING_EVERY)) == {brief: EVER, usual: EVER}


def test_a_clean_up_rests_less_as_the_time_until_the_next_one_runs_out() -> None:
    pace = DeletionPace(begun=100.0, within=10.0)
    assert pace.rest(100.01) == pytest.approx(MOST_REST * 0.01, rel=0.01)
    assert pace.rest(105.0) == LONGEST_REST
    assert pace.rest(106.02) == pytest.approx(MOST_REST * 0.02 * 0.4, rel=0.01)
    assert pace.rest(110.0) == 0.0
    assert pace.rest(115.0) == 0.0


async def test_a_clean_up_that_rests_ends_with_its_service(
    horae: Horae, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted = Record[threading.Thread]()

    class Endless(Hooks):
        @override
        def remove(self, part: str, kept: KeptFor, oldest: float = EVER) -> Iterator[int]:
            while True:
                deleted.append(threading.current_thread())
                yield 1

    rests = iter([0.0, 0.0])
    monkeypatch.setattr(
        DeletionPace, "rest", lambda _pace, _now: next(rests, None)
    )  # then for ever
    database = horae.components.database
    timing = HookTiming(clean_every=0.01, gone_every=0.0, look_every=0.05)
    service = HookService(database, Endless(database, horae.registry), DAY, timing)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(service.run())
        await deleted.reaches(3)
        service.close()
        [cleaning] = set(deleted)
        await asyncio.to_thread(cleaning.join, 10)
        running.cancel()
    assert not cleaning.is_alive()
    assert len(deleted) == 3


@pytest.mark.parametrize("hooked", [False, True])
def test_jobs_that_cannot_be_deleted_do_not_stop_a_search_of_the_latest_ends(
    horae: Horae, *, hooked: bool
) -> None:
    @horae.register
    class Unkept(JobType[Any]):
        type = "unkept"
        keep = None

        @override
        def run(self, job: Any) -> None: ...

        if hooked:

            @override
            def before_delete(self, job: Any) -> None:
                raise OSError

    hooks = Hooks(horae.components.database, horae.registry)
    horae.jobs.start_many("unkept", [{}] * 30)
    for claim in claim_as_another_node(horae):
        horae.components.database.transact(settling.settle, ELSEWHERE, [finished(claim)])
    ended_before(horae, KEPT_FOR_WAITING + 1)
    [(part, kept)] = [each for each in hooks.kept_for(DAY) if "unkept" in each[1].types]
    assert sum(hooks.remove(part, kept, oldest=KEPT_FOR_WAITING)) == 0
    assert sum(hooks.remove(part, kept, oldest=60.0)) == (0 if hooked else 30)
