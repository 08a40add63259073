"""`crash_everywhere`: jobs of all kinds, right and wrong ones, killed at every point."""

import asyncio
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from horae import Horae, HoraeError, JobContext, JobType, Snooze
from horae.testing import CrashReport, crash_everywhere

HERE = __file__
PAID = "CREATE TABLE IF NOT EXISTS paid (number INTEGER)"
INSERT = text("INSERT INTO paid VALUES (:number)")


class Gateway:
    """A payment provider in memory, which remembers keys if it is given any."""

    def __init__(self) -> None:
        self.charged: list[int] = []
        self.keys: set[str] = set()

    def charge(self, number: int, key: str | None = None) -> None:
        if key is None or key not in self.keys:
            self.charged.append(number)
        if key is not None:
            self.keys.add(key)

    def forget(self) -> None:
        self.charged.clear()
        self.keys.clear()


gateway = Gateway()


@pytest.fixture
def horae() -> Iterator[Horae]:
    gateway.forget()
    with closing(Horae("sqlite:///never-opened.db")) as horae:
        yield horae
    assert not Path("never-opened.db").exists()


def prepare(connection: Connection) -> None:
    gateway.forget()
    connection.execute(text(PAID))


def effects(connection: Connection) -> list[str]:
    rows = [f"row {number}" for (number,) in connection.execute(text("SELECT number FROM paid"))]
    return rows + [f"charge {number}" for number in gateway.charged]


def kinds(report: CrashReport) -> list[str]:
    return [point.kind for point in report.points]


def line_of(mark: str) -> str:
    number = next(
        number for number, line in enumerate(Path(HERE).read_text().splitlines(), 1) if mark in line
    )
    return f"{HERE}:{number}"


def test_a_charge_before_a_transaction_that_is_lost_comes_out_twice(horae: Horae) -> None:
    @horae.job(transaction="read committed", max_attempts=3)
    def pay(job: JobContext, number: int) -> None:
        gateway.charge(number)
        job.progress.set(50)  # MARK: progress
        job.connection.execute(INSERT, {"number": number})  # MARK: insert

    report = crash_everywhere(pay, {"number": 7}, prepare=prepare, effects=effects)
    assert kinds(report)[:2] == ["progress", "statement"]
    assert kinds(report)[-2:] == ["commit", "end"]
    assert [point.where for point in report.points[:2]] == [
        line_of("MARK: progress"),
        line_of("MARK: insert"),
    ]
    wrong = {bad.point.number: bad for bad in report.bad}
    assert set(wrong) == set(range(1, len(report.points)))  # not after its commit
    assert {(bad.twice, bad.missing) for bad in report.bad} == {(("charge 7",), ())}
    with pytest.raises(
        AssertionError, match=r"pay: killed at \d points, at 1 of them without consequences"
    ) as caught:
        report.check()
    assert (
        f"point 2, statement INSERT INTO paid VALUES (?) at {line_of('MARK: insert')}: twice: 'charge 7'"
        in str(caught.value)
    )


def test_with_a_key_it_comes_out_once(horae: Horae) -> None:
    @horae.job(transaction="read committed", max_attempts=3)
    def pay(job: JobContext, number: int) -> None:
        gateway.charge(number, key=f"job {job.id}")
        job.progress.set(50)
        job.connection.execute(INSERT, {"number": number})

    report = crash_everywhere(pay, {"number": 7}, prepare=prepare, effects=effects)
    report.check()
    assert len(report.points) >= 4
    assert str(report).splitlines() == [
        f"pay: killed at {len(report.points)} points, at {len(report.points)} of them without consequences"
    ]


def test_a_function_without_a_transaction(horae: Horae) -> None:
    @horae.job
    def twice(job: JobContext) -> None:
        for number in job.progress.track(range(2)):
            gateway.charge(number)

    report = crash_everywhere(
        twice, prepare=gateway.forget, effects=lambda: Counter(gateway.charged)
    )
    assert set(kinds(report)) == {"progress", "end"}
    assert report.points[-1].detail == "before its end is written"
    last = report.bad[-1]
    assert (last.point, set(last.twice)) == (report.points[-1], {0, 1})


def test_a_coroutine_is_killed_where_it_waits(horae: Horae) -> None:
    @horae.job(transaction="read committed", max_attempts=3)
    async def pay(job: JobContext) -> None:
        await asyncio.sleep(0)  # MARK: first wait
        await job.async_connection.execute(INSERT, {"number": 1})  # MARK: async insert
        await helper()

    async def helper() -> None:
        await asyncio.sleep(0)  # MARK: in a helper
        gateway.charge(1)

    report = crash_everywhere(pay, prepare=prepare, effects=effects)
    waits = [point.where for point in report.points if point.kind == "await"]
    assert (waits[0], waits[-1]) == (line_of("MARK: first wait"), line_of("MARK: in a helper"))
    [insert] = [point for point in report.points if point.detail.startswith("INSERT INTO paid")]
    assert insert.where == line_of("MARK: async insert")
    assert {bad.twice for bad in report.bad} == {("charge 1",)}
    assert report.bad[0].point.number > report.points.index(insert)


def test_effects_after_a_cancel_are_rolled_back(horae: Horae) -> None:
    """A kill is no exception: `finally` and `except` do not run."""

    @horae.job
    async def careful() -> None:
        try:
            await asyncio.sleep(0)
        except BaseException:
            gateway.charge(1)
            raise
        finally:
            gateway.charge(2)

    report = crash_everywhere(
        careful, prepare=gateway.forget, effects=lambda: list(gateway.charged)
    )
    assert [bad.point.kind for bad in report.bad] == ["end"]


def test_a_body_that_leaves_something_behind_does_not_finish(horae: Horae) -> None:
    lock: list[int] = []

    @horae.job
    def exclusive(job: JobContext) -> None:
        if lock:
            raise RuntimeError("locked")
        lock.append(job.id)
        job.check()
        lock.clear()

    report = crash_everywhere(exclusive, prepare=lock.clear, effects=lambda: len(lock))
    [bad] = report.bad
    assert bad.error == "it is failed: RuntimeError: locked"
    assert str(bad).endswith("the job did not finish: it is failed: RuntimeError: locked")


def test_a_body_that_starts_another_job_uses_the_temporary_database(horae: Horae) -> None:
    @horae.job(max_count=None)
    def child() -> None: ...

    @horae.job(transaction="read committed", max_attempts=2)
    def parent(job: JobContext) -> None:
        job.check()
        horae.jobs.start(child, session=job.connection)
        job.check()

    def children(connection: Connection) -> int:
        return int(
            connection.execute(
                text("SELECT count(*) FROM horae_jobs WHERE type = 'child'")
            ).scalar_one()
        )

    report = crash_everywhere(parent, effects=children, application=horae)
    report.check()
    assert horae.settings.database == "sqlite:///never-opened.db"


def test_a_subclass_of_a_job_type() -> None:
    class Pay(JobType[None]):
        type = "pay"

        def run(self, job: JobContext[None]) -> None:
            job.progress.set(10)
            gateway.charge(3)

    report = crash_everywhere(Pay, prepare=gateway.forget, effects=lambda: list(gateway.charged))
    assert [(bad.point.kind, bad.twice) for bad in report.bad] == [("end", (3,))]


def test_a_job_that_snoozes_is_run_again_at_once(horae: Horae) -> None:
    @horae.job
    def patient(job: JobContext) -> None:
        gateway.charge(1, key=f"job {job.id}")
        if job.claim.lease < 3:
            raise Snooze("1h")

    crash_everywhere(patient, prepare=gateway.forget, effects=lambda: list(gateway.charged)).check()


def test_effects_that_cannot_be_counted_are_compared(horae: Horae) -> None:
    total = {"sum": 0.0}

    @horae.job
    def add(job: JobContext) -> None:
        total["sum"] += 1.5
        job.check()

    report = crash_everywhere(
        add, prepare=lambda: total.update(sum=0.0), effects=lambda: total["sum"]
    )
    assert str(report.bad[0]).endswith("expected 1.5, found 3.0")


def test_a_job_that_fails_without_crashes_is_refused(horae: Horae) -> None:
    @horae.job
    def broken() -> None:
        raise ValueError("no")

    @horae.job
    def endless() -> None:
        asyncio.run(asyncio.sleep(3600))

    with pytest.raises(
        HoraeError, match=r"^the job does not finish undisturbed: it is failed: ValueError: no$"
    ):
        crash_everywhere(broken, effects=list)
    with pytest.raises(HoraeError, match=r"^the body of 'endless' has not ended within 0.1 s$"):
        crash_everywhere(endless, effects=list, timeout=0.1)


def test_the_process_ends_although_killed_bodies_are_left_behind(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(
        textwrap.dedent("""
            import asyncio
            from horae import Horae, JobContext
            from horae.testing import crash_everywhere
            from sqlalchemy import text

            horae = Horae()

            @horae.job(transaction="read committed")
            async def pay(job: JobContext) -> None:
                await job.async_connection.execute(text("CREATE TABLE paid (number INTEGER)"))
                await asyncio.sleep(0)

            crash_everywhere(pay, effects=lambda: 1).check()
            print("over")
        """)
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "shop.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("over\n", "", 0)
