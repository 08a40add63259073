"""Who may read the files that a node makes."""

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from horae import Horae
from horae.storage.engine.database import Database
from horae.storage.migrations.runner import upgrade
from tests.harness.nodes import running_node


@pytest.fixture(params=[0, 0o022], ids=oct, autouse=True)
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def modes_while_a_node_runs(file: Path) -> dict[str, int]:
    """The modes of the database and of all that is beside it, by path."""
    with closing(Database(f"sqlite:///{file}")) as database:
        upgrade(database)
    with closing(Horae(f"sqlite:///{file}")) as horae:

        @horae.job(max_count=None)
        def work() -> None: ...

        async with running_node(horae):
            job = await horae.aio.jobs.start("work")
            await horae.aio.jobs.wait(job.id, timeout="20s")
            horae.components.live.read([job.id])  # a read creates the file
            return {
                str(path.relative_to(file.parent)): mode_of(path) for path in file.parent.rglob("*")
            }


async def test_all_that_is_made_is_its_user_s_alone(tmp_path: Path) -> None:
    modes = await modes_while_a_node_runs(tmp_path / "horae.db")
    folders = {"horae.db-nodes"}
    assert modes.keys() >= {
        *folders,
        "horae.db",
        "horae.db-wal",
        "horae.db-shm",
        "horae.db-live",
        "horae.db-live-wal",
    }
    assert any(name.endswith(".begun") for name in modes)
    assert any(name.endswith(".lock") and "nodes" in name for name in modes)
    assert {modes[folder] for folder in folders} == {0o700}
    assert {
        name: mode for name, mode in modes.items() if name not in folders and mode != 0o600
    } == {}


async def test_a_database_keeps_its_mode_and_what_is_beside_it_follows(tmp_path: Path) -> None:
    file = tmp_path / "horae.db"
    file.touch()
    file.chmod(0o660)
    modes = await modes_while_a_node_runs(file)
    assert {
        modes[name] for name in ("horae.db", "horae.db-wal", "horae.db-live", "horae.db-live-wal")
    } == {0o660}
    assert modes["horae.db-nodes"] == 0o770


async def test_readers_of_a_database_do_not_read_what_is_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "horae.db"
    file.touch()
    file.chmod(0o644)
    modes = await modes_while_a_node_runs(file)
    assert (modes["horae.db"], modes["horae.db-live"], modes["horae.db-nodes"]) == (
        0o644,
        0o600,
        0o700,
    )
