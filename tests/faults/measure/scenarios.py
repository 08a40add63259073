"""The faults that nodes suffer under a steady load, and how long each of them lasts."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

from tests.faults.measure import faults
from tests.faults.measure.faults import pooler, server
from tests.faults.measure.scene import Scene
from tests.harness import file_faults, server_faults
from tests.harness.pgbouncer import PgBouncer

Fault = Callable[[Scene], AbstractContextManager[object]]
Lasting = Callable[[Scene, float], AbstractContextManager[object]]
Part = TypeVar("Part")
P = ParamSpec("P")
EVERYWHERE: Final = ("sqlite", "postgresql", "pgbouncer")
POSTGRESQL: Final = ("postgresql", "pgbouncer")
BEHIND_POOLER: Final = ("pgbouncer",)
SQLITE: Final = ("sqlite",)


class Need(Enum):
    """What a scenario needs besides nodes and a database."""

    NETWORK = "a network between nodes and server that can fail"
    POOLER = "a pooler between nodes and server"
    DISK = "a small disk for the database"
    SERVER_CLOCK = "a server whose clock can be stepped"


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A fault under a steady load.

    `seconds`: how long it lasts; `briefly`: how long with shortened limits; `may_fail`: how many bodies it may fail that
    are tried once, because their process was killed; `recovers_within`: seconds until 90 % of the former rate is back;
    `stops_a_node`: whether a node is told to end during the fault, which a stopped process cannot notice;
    `checked`: what the outside checker must know, as in its `Settings`.
    """

    fault: Lasting
    seconds: float
    briefly: float
    on: tuple[str, ...] = EVERYWHERE
    needs: frozenset[Need] = frozenset()
    may_fail: int = 0
    recovers_within: float = 30.0
    stops_a_node: bool = True
    checked: Mapping[str, bool] = field(default_factory=dict[str, bool])
    settings: Mapping[str, str] = field(default_factory=dict[str, str])


def lasting(fault: Fault) -> Lasting:
    """Return a fault that does not need to know how long it will last."""
    return lambda scene, _seconds: fault(scene)


def of(
    part: Callable[[Scene], Part],
    fault: Callable[Concatenate[Part, P], AbstractContextManager[object]],
    *args: P.args,
    **values: P.kwargs,
) -> Lasting:
    """Return a fault of a part of a scene."""
    return lambda scene, _seconds: fault(part(scene), *args, **values)


CLOCK_SET: Final = {"steady_clock": False}
FROZEN: Final = {"frozen_processes": True}
FILE: Final[Callable[[Scene], Path]] = attrgetter("file")
URL: Final[Callable[[Scene], str]] = attrgetter("url")

SCENARIOS: Final[Mapping[str, Scenario]] = {
    "node killed": Scenario(fault=lasting(faults.node_killed), seconds=1, briefly=1, may_fail=10),
    "nodes killed every 3 s": Scenario(
        fault=lasting(partial(faults.nodes_killed, every=3.0)), seconds=20, briefly=5, may_fail=100
    ),
    "node stopped, longer than the death limit": Scenario(
        fault=lasting(faults.node_stopped), seconds=13, briefly=2.5, checked=FROZEN
    ),
    "interpreter held by a body": Scenario(
        fault=faults.interpreter_held, seconds=15, briefly=2, checked=FROZEN
    ),
    "machine slept, clocks 8 h later": Scenario(
        fault=lasting(partial(faults.machine_slept, seconds=8 * faults.HOURS)),
        seconds=13,
        briefly=2.5,
        needs=frozenset({Need.SERVER_CLOCK}),
        stops_a_node=False,
        checked={**CLOCK_SET, **FROZEN},
    ),
    "server restarted, fast": Scenario(
        fault=lasting(partial(faults.server_restarted, mode="fast")),
        seconds=1,
        briefly=1,
        on=POSTGRESQL,
    ),
    "server restarted, immediate": Scenario(
        fault=lasting(partial(faults.server_restarted, mode="immediate")),
        seconds=1,
        briefly=1,
        on=POSTGRESQL,
    ),
    "server away": Scenario(
        fault=of(server, server_faults.server_away, "immediate"),
        seconds=12,
        briefly=2.5,
        on=POSTGRESQL,
        checked=FROZEN,
    ),
    "server frozen": Scenario(
        fault=of(server, server_faults.frozen),
        seconds=13,
        briefly=2.5,
        on=POSTGRESQL,
        checked=FROZEN,
    ),
    "backends terminated once": Scenario(
        fault=of(server, server_faults.backends_terminated, every=1000.0),
        seconds=1,
        briefly=1,
        on=POSTGRESQL,
    ),
    "backends terminated every 0.5 s": Scenario(
        fault=of(server, server_faults.backends_terminated, every=0.5),
        seconds=15,
        briefly=2,
        on=POSTGRESQL,
    ),
    "connections of the server used up": Scenario(
        fault=of(server, server_faults.connections_used_up),
        seconds=15,
        briefly=2,
        on=POSTGRESQL,
        settings={"max_connections": "60"},
    ),
    "connection pools exhausted": Scenario(
        fault=faults.pool_exhausted, seconds=15, briefly=2, on=POSTGRESQL
    ),
    "server read-only": Scenario(
        fault=of(server, server_faults.read_only), seconds=15, briefly=2, on=POSTGRESQL
    ),
    "disk full": Scenario(
        fault=lasting(faults.disk_full),
        seconds=15,
        briefly=2,
        needs=frozenset({Need.DISK}),
        settings={"min_wal_size": "32MB", "max_wal_size": "48MB"},
    ),
    "table of jobs locked": Scenario(
        fault=of(URL, server_faults.table_locked, "horae_jobs"),
        seconds=30,
        briefly=2,
        on=POSTGRESQL,
    ),
    "table of schedules locked": Scenario(
        fault=of(URL, server_faults.table_locked, "horae_schedules"),
        seconds=30,
        briefly=2,
        on=POSTGRESQL,
    ),
    "table of nodes locked": Scenario(
        fault=of(URL, server_faults.table_locked, "horae_nodes"),
        seconds=30,
        briefly=2,
        on=POSTGRESQL,
        checked=FROZEN,
    ),
    "transaction idle": Scenario(
        fault=of(URL, server_faults.idle_transaction), seconds=120, briefly=2, on=POSTGRESQL
    ),
    "network silent": Scenario(
        fault=lasting(faults.network_silent),
        seconds=30,
        briefly=2.5,
        on=POSTGRESQL,
        needs=frozenset({Need.NETWORK}),
        checked=FROZEN,
    ),
    "network cut": Scenario(
        fault=lasting(faults.network_cut),
        seconds=15,
        briefly=2,
        on=POSTGRESQL,
        needs=frozenset({Need.NETWORK}),
        checked=FROZEN,
    ),
    "pooler away": Scenario(
        fault=of(pooler, PgBouncer.away),
        seconds=12,
        briefly=2.5,
        on=BEHIND_POOLER,
        needs=frozenset({Need.POOLER}),
        checked=FROZEN,
    ),
    "pooler paused": Scenario(
        fault=of(pooler, PgBouncer.paused),
        seconds=13,
        briefly=2.5,
        on=BEHIND_POOLER,
        needs=frozenset({Need.POOLER}),
        checked=FROZEN,
    ),
    "pooler told to reconnect": Scenario(
        fault=lasting(faults.pooler_reconnects),
        seconds=1,
        briefly=1,
        on=BEHIND_POOLER,
        needs=frozenset({Need.POOLER}),
    ),
    "server's clock 3 h ahead for a while": Scenario(
        fault=lasting(partial(faults.server_clock_wrong, seconds=3 * faults.HOURS)),
        seconds=15,
        briefly=5,
        on=POSTGRESQL,
        needs=frozenset({Need.SERVER_CLOCK}),
        checked=CLOCK_SET,
    ),
    "server's clock 3 h behind for a while": Scenario(
        fault=lasting(partial(faults.server_clock_wrong, seconds=-3 * faults.HOURS)),
        seconds=15,
        briefly=2,
        on=POSTGRESQL,
        needs=frozenset({Need.SERVER_CLOCK}),
        checked=CLOCK_SET,
    ),
    "nodes' clocks 3 h ahead for a while": Scenario(
        fault=lasting(partial(faults.node_clock_stepped, seconds=3 * faults.HOURS)),
        seconds=15,
        briefly=2,
        on=POSTGRESQL,
    ),
    "nodes' clocks 3 h behind for a while": Scenario(
        fault=lasting(partial(faults.node_clock_stepped, seconds=-3 * faults.HOURS)),
        seconds=15,
        briefly=2,
        on=POSTGRESQL,
    ),
    "clocks 3 h ahead for a while": Scenario(
        fault=lasting(partial(faults.clocks_stepped, seconds=3 * faults.HOURS)),
        seconds=15,
        briefly=5,
        on=SQLITE,
        checked=CLOCK_SET,
    ),
    "clocks 3 h behind for a while": Scenario(
        fault=lasting(partial(faults.clocks_stepped, seconds=-3 * faults.HOURS)),
        seconds=15,
        briefly=2,
        on=SQLITE,
        checked=CLOCK_SET,
    ),
    "write lock held by another process": Scenario(
        fault=of(FILE, file_faults.write_lock_held), seconds=30, briefly=2, on=SQLITE
    ),
    "writes refused": Scenario(
        fault=lasting(faults.writes_refused), seconds=15, briefly=2, on=SQLITE
    ),
}
