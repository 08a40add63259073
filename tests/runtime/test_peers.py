"""How one of many nodes responds to hints: it claims if it is chosen, and names itself as busy if it has no slot."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from horae.domain.jobs.job import JobId, NodeId
from horae.runtime.claims.peers import Peers
from horae.runtime.signals import Signals
from horae.runtime.timing import PeersTiming
from horae.storage.engine.database import Database
from horae.storage.nodes import nodes, peers
from horae.storage.nodes.nodes import NodeRecord
from horae.wakeup.channel import Hint, HintKind, WakeupChannel
from horae.wakeup.silent import SilentChannel
from tests.harness.nodes import until

OWN = NodeId("own")
OTHERS = [NodeId(f"other {number}") for number in range(20)]


class SentHints(SilentChannel):
    def __init__(self) -> None:
        self.sent: list[Hint] = []

    def send(self, hint: Hint, *, piggybacked: bool = False) -> None:
        self.sent.append(hint)


@dataclass
class Worker:
    has_room: bool = True


@dataclass
class Scene:
    """A node among twenty others that claim the same jobs."""

    known: peers.LivePeers = field(default_factory=lambda: peers.LivePeers([OWN, *OTHERS], 21))
    channel: SentHints = field(default_factory=SentHints)
    worker: Worker = field(default_factory=Worker)
    woken: int = 0

    def __post_init__(self) -> None:
        self.signals = Signals()
        self.signals.work.connect(self._count)
        unused: Any = None
        self.peers = Peers(unused, OWN, self.channel, self.signals, PeersTiming(), Random(1))
        vars(self.peers)["_known"] = self.known

    def _count(self) -> None:
        self.woken += 1

    def receive(
        self, seed: int | None, count: int | None = 1, busy: tuple[NodeId, ...] = ()
    ) -> int:
        """Return how often the worker is woken by this hint."""
        before = self.woken
        hint = Hint(HintKind.WORK, count=count, seed=seed, busy=busy)
        self.peers.receive(hint, has_room=self.worker.has_room)
        return self.woken - before


def seeds(scene: Scene, *, chosen: bool) -> list[int]:
    return [seed for seed in range(200) if bool(scene.receive(seed)) is chosen]


def test_few_hints_wake_a_node_among_many() -> None:
    assert (
        10 <= len(seeds(Scene(), chosen=True)) <= 50
    )  # three of 21 nodes respond to each of 200 hints


@pytest.mark.parametrize(("seed", "count"), [(None, None), (None, 1), (3, None)])
def test_a_hint_without_a_number_wakes_every_node(seed: int | None, count: int | None) -> None:
    assert Scene().receive(seed, count) == 1


def test_few_nodes_among_many_respond_to_the_end_of_a_job() -> None:
    scene = Scene()
    responses: list[int] = []
    scene.signals.ended_elsewhere.connect(lambda: responses.append(len(responses)))
    for number in range(1, 201):
        scene.peers.receive_ended(Hint(HintKind.ENDED, (JobId(number),)))
    assert 10 <= len(responses) <= 50
    before = len(responses)
    scene.peers.receive_ended(Hint(HintKind.ENDED))  # it may be about any job
    assert len(responses) == before + 1


def test_a_hint_for_many_jobs_wakes_every_node() -> None:
    assert sum(Scene().receive(seed, 19) for seed in range(50)) == 50


def test_a_node_that_does_not_know_the_others_responds() -> None:
    assert sum(Scene(known=peers.LivePeers()).receive(seed) for seed in range(50)) == 50


def test_a_chosen_node_without_a_slot_names_itself_as_busy_once() -> None:
    scene = Scene()
    chosen = seeds(scene, chosen=True)
    scene.worker.has_room = False
    for seed in chosen:
        assert scene.receive(seed) == 1  # it claims when a slot becomes free
    [sent] = scene.channel.sent
    assert (sent.kind, sent.count, sent.busy) == (HintKind.WORK, 1, (OWN,))


def test_a_node_that_is_not_chosen_keeps_silent_when_it_is_busy() -> None:
    scene = Scene()
    others = seeds(scene, chosen=False)
    scene.worker.has_room = False
    for seed in others:
        scene.receive(seed)
    assert scene.channel.sent == []


def test_busy_nodes_are_passed_over_until_all_others_are_asked() -> None:
    scene = Scene()
    [seed, *_] = seeds(scene, chosen=False)
    assert scene.receive(seed, busy=tuple(OTHERS[:-2])) == 1
    assert scene.receive(seed) == 1  # still known


def test_a_node_whose_slots_a_claim_has_filled_passes_on_the_rest() -> None:
    scene = Scene()
    seed = next(seed for seed in range(200) if scene.receive(seed, 8))
    assert scene.receive(seed, 8) == 1
    scene.peers.pass_on(5)
    [sent] = scene.channel.sent
    assert (sent.count, sent.busy) == (3, (OWN,))


def test_nodes_wake_at_different_times_for_a_job_that_becomes_due() -> None:
    scene = Scene()
    delays = [scene.peers.delay(key) for key in range(200)]
    assert 10 <= delays.count(0.0) <= 50
    assert max(delays) <= 0.1 * 21
    scene.receive(next(iter(seeds(scene, chosen=True))))
    assert (
        scene.peers.delay(next(key for key in range(200) if delays[key])) == 0.0
    )  # only few may know of this job


def test_many_nodes_search_less_often_each_and_more_often_together() -> None:
    paces = [
        Scene(known=peers.LivePeers([OWN], informed)).peers.pace() for informed in (1, 2, 4, 10, 50)
    ]
    assert paces == [1.0, 1.0, 2.0, 5.0, 5.0]


def record(name: str, **changes: Any) -> NodeRecord:
    given: dict[str, Any] = {
        "id": NodeId(name),
        "name": name,
        "host": "h",
        "pid": 1,
        "version": "1",
        "roles": '["worker"]',
        "queues": None,
        "types": '["a"]',
        "concurrency": 1,
        "lock_key": None,
    }
    given.update(changes)
    return NodeRecord(**given)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_peers_are_live_workers_of_the_same_types_and_queues(database: Database) -> None:
    for each in (
        record("own"),
        record("same"),
        record("silent"),
        record("fewer queues", queues='["x"]'),
        record("other types", types='["b"]'),
        record("scheduler", roles='["scheduler"]'),
        *(
            record(name, roles='["celery worker"]', queues='["celery"]')
            for name in ("celery", "celery too")
        ),
    ):
        database.transact(nodes.register, each)
    with database.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE horae_nodes SET heartbeat_at = heartbeat_at - interval '1 minute' WHERE id = 'silent'"
        )
    found = database.autocommit(peers.peers_of, NodeId("own"))
    assert (sorted(found.alike), found.informed) == (["own", "same"], 5)
    assert sorted(database.autocommit(peers.peers_of, NodeId("celery")).alike) == [
        "celery",
        "celery too",
    ]
    assert not database.autocommit(peers.peers_of, NodeId("gone")).alike


_conforms: type[WakeupChannel] = SentHints


async def test_a_node_leaves_what_it_has_put_off_to_others() -> None:
    """Others hear of it when it is due, and this node looks for due jobs a little later than they."""
    scene = Scene(known=peers.LivePeers([OWN], 1))
    assert scene.peers.delay(1) == 0
    for seconds in (60, 0, 0, 30):  # one hint for all of them
        scene.peers.give_way(seconds)
    await until(lambda: scene.channel.sent)
    [sent] = scene.channel.sent
    assert (sent.kind, sent.count, sent.busy) == (HintKind.WORK, 1, (OWN,))
    assert scene.receive(None, busy=sent.busy) == 0
    assert scene.peers.delay(1) > 0
