"""Membership of nodes on SQLite: file locks, which need no query."""

import asyncio
import os
import time
from contextlib import closing
from pathlib import Path

import pytest

from horae import Horae
from horae.domain.cluster.liveness import Death, LivenessLimits
from horae.runtime.components import NodeOptions
from horae.runtime.liveness import membership
from horae.runtime.liveness.heartbeat import Watcher
from horae.runtime.liveness.membership import FileMembership
from horae.runtime.liveness.node_record import record_of
from horae.runtime.timing import Timing
from horae.storage.engine.database import Database, side_car_path
from horae.storage.engine.sqlite.file_lock import is_abandoned
from tests.harness.applications import application, counted_statements, rows
from tests.harness.nodes import running_node
from tests.harness.waiting import until_stored

pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


def member(horae: Horae) -> FileMembership:
    found = membership.membership_of(
        horae.components.database,
        record_of(horae.registry, NodeOptions()),
        LivenessLimits(),
        Timing(),
    )
    assert isinstance(found, FileMembership)
    return found


def free(member: FileMembership) -> None:
    """Release its lock, as the system does when a process ends."""
    vars(member)["_lock"].release()


def test_a_node_is_seen_alive_by_others_without_being_disturbed(
    horae: Horae, database: Database
) -> None:
    one = member(horae)
    one.join(Watcher())
    with application(database) as elsewhere:
        two = member(elsewhere)
        two.join(Watcher())
        for _ in range(3):
            assert (one.may_miss_a_node, two.may_miss_a_node) == (False, False)
            assert (one.find_dead(), two.find_dead()) == ({}, {})
        two.leave()
    assert (one.may_miss_a_node, one.find_dead()) == (False, {})
    one.leave()
    assert list(side_car_path(database, "nodes").iterdir()) == []


def test_a_node_that_opens_the_file_by_a_link_is_seen_alive(
    horae: Horae, tmp_path: Path, database: Database
) -> None:
    link = tmp_path / "a-link"
    link.symlink_to(database.url.database or "")
    one = member(horae)
    one.join(Watcher())
    with closing(Horae(f"sqlite:///{link}")) as elsewhere:
        two = member(elsewhere)
        two.join(Watcher())
        assert (one.find_dead(), two.find_dead()) == ({}, {})
        assert (one.may_miss_a_node, two.may_miss_a_node) == (False, False)
        two.leave()
    one.leave()


def test_a_body_that_changes_the_folder_hides_no_other_node(
    horae: Horae, tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(database.url.database or "")
    monkeypatch.chdir(file.parent)
    other = member(horae)
    other.join(Watcher())
    with closing(Horae(f"sqlite:///{file.name}")) as relative:
        moved = member(relative)
        moved.join(Watcher())
        (tmp_path / "elsewhere").mkdir()
        os.chdir(tmp_path / "elsewhere")
        assert (moved.find_dead(), other.find_dead()) == ({}, {})
        # Engines of event loops and connections of child processes are made later, with this URL.
        assert relative.components.database.url == database.url
        moved.leave()
    other.leave()


def test_where_no_node_has_started_none_is_missed(horae: Horae, database: Database) -> None:
    assert not side_car_path(database, "nodes").exists()
    assert not member(horae).may_miss_a_node
    assert member(horae).find_dead() == {}


def test_a_lock_that_is_free_is_missed_without_a_query(horae: Horae) -> None:
    one, two = member(horae), member(horae)
    one.join(Watcher())
    two.join(Watcher())
    free(two)
    with counted_statements(horae) as statements:
        assert one.may_miss_a_node
    assert statements == []
    assert list(one.find_dead().values()) == [Death("its lock is free")]


@pytest.mark.parametrize("age", [0, 3600])
def test_a_file_that_no_row_names_is_removed_once_it_is_old(
    horae: Horae, database: Database, age: int
) -> None:
    one = member(horae)
    one.join(Watcher())
    orphan = side_car_path(database, "nodes") / "0123456789abcdef.lock"
    orphan.touch()
    os.utime(orphan, (time.time() - age, time.time() - age))
    assert one.find_dead() == {}
    assert orphan.exists() == (age == 0)
    one.leave()


def test_looking_makes_no_file(database: Database, tmp_path: Path) -> None:
    assert not is_abandoned(tmp_path / "nobody.lock")
    assert not list(tmp_path.glob("*.lock"))
    assert side_car_path(database, "nodes").name not in {path.name for path in tmp_path.iterdir()}


async def test_a_node_whose_lock_is_gone_is_found_soon(horae: Horae, database: Database) -> None:
    with closing(Horae(f"sqlite:///{database.url.database}")) as other:
        lost = member(other)
        lost.join(Watcher())
        async with running_node(horae) as node:
            free(lost)
            begun = asyncio.get_running_loop().time()
            await until_stored(
                horae, lambda: rows(horae, "SELECT id FROM horae_nodes") == [(node.id,)]
            )
            assert asyncio.get_running_loop().time() - begun < 5
