"""The rounds: within each, all peers take turns at one verb after the other."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.figures import percentile
from benchmarks.peers.catalogue import Peer
from benchmarks.peers.conversation import AdapterFailed, Conversation

FIRES_WITHIN = 300.0
"""Seconds that a peer has for its schedules; they are due within the first 80."""
WITHIN = 90.0
"""Seconds that a peer has for one verb of one round."""
GROWTH = 8
"""How much larger than its trial a drain may be: short ones show too low a rate."""


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is measured in one round."""

    rounds: int = 3
    singles: int = 1000
    bulk: int = 10_000
    jobs: int = 20_000
    """Of one drain, at most: a slow peer gets what it runs in `drain_seconds`, as its rate shows."""
    samples: int = 50
    schedules: int = 1000
    """Due at the same moment, once in the first round, because each peer waits for a full minute."""
    drain_seconds: float = 8.0
    trial: int = 300
    """Jobs of the first drain, which tries the rate of a peer and counts for nothing."""


@dataclass(slots=True)
class Measured:
    """The samples of one peer, one of each round; rates are of a second, latencies in milliseconds."""

    peer: Peer
    enqueue: list[float] = field(default_factory=list[float])
    bulk: list[float] = field(default_factory=list[float])
    drain: list[float] = field(default_factory=list[float])
    latencies: list[float] = field(default_factory=list[float])
    """All samples of all rounds."""
    fires: list[float] = field(default_factory=list[float])
    """How late each of the schedules ran that were due at the same moment."""
    drained: int = 0
    """Jobs of one drain."""
    remarks: list[str] = field(default_factory=list[str])
    failure: str = ""
    """Why it was left out, from the round in which that happened."""

    @property
    def p50(self) -> float:
        return percentile(self.latencies, 0.5)

    @property
    def p99(self) -> float:
        return percentile(self.latencies, 0.99)


Open = Callable[[Peer, Path], Conversation]
"""Makes the conversation with a peer, given the folder that is its own."""
Report = Callable[[str], None]
"""Shows what is being measured."""


def measure(
    peers: Sequence[Peer], open_peer: Open, folder: Path, scale: Scale, report: Report
) -> list[Measured]:
    """Measure all peers. One that fails is left out from then on; its samples so far stay."""
    found = {peer.name: Measured(peer) for peer in peers}
    with ExitStack() as opened:
        talks: dict[str, Conversation] = {}
        for peer in peers:
            own = folder / peer.name
            own.mkdir()
            report(f"starts: {peer.name}")
            try:
                talks[peer.name] = opened.enter_context(open_peer(peer, own))
                found[peer.name].drained = _drain_size(talks[peer.name], scale)
            except (AdapterFailed, OSError) as error:
                found[peer.name].failure = str(error)
        for round_ in range(1, scale.rounds + 1):
            for verb, take in TAKES.items():
                for name, measured in _in_turn(found, round_):
                    if measured.failure:
                        continue
                    report(f"round {round_} of {scale.rounds}, {verb}: {name}")
                    try:
                        take(talks[name], measured, scale)
                    except AdapterFailed as error:
                        measured.failure = str(error)
    return list(found.values())


def _in_turn(found: Mapping[str, Measured], round_: int) -> list[tuple[str, Measured]]:
    """Return the peers, every other round from the last to the first, so that none is always warm."""
    order = list(found.items())
    return order if round_ % 2 else order[::-1]


def _drain_size(talk: Conversation, scale: Scale) -> int:
    """Return how many jobs the peer runs in the time of one drain, as growing trials show."""
    count = min(scale.trial, scale.jobs)
    while True:
        seconds = talk.ask("drain", count, WITHIN)["seconds"]
        affordable = min(scale.jobs, int(count * scale.drain_seconds / seconds))
        if affordable <= count * GROWTH:
            return max(count, affordable)
        count *= GROWTH


def _take_enqueue(talk: Conversation, measured: Measured, scale: Scale) -> None:
    seconds = talk.ask("enqueue", scale.singles, WITHIN)["seconds"]
    measured.enqueue.append(scale.singles / seconds)


def _take_bulk(talk: Conversation, measured: Measured, scale: Scale) -> None:
    answer = talk.ask("bulk", scale.bulk, WITHIN)
    if "unsupported" not in answer:
        measured.bulk.append(scale.bulk / answer["seconds"])


def _take_drain(talk: Conversation, measured: Measured, scale: Scale) -> None:
    del scale
    answer = talk.ask("drain", measured.drained, WITHIN)
    measured.drain.append(measured.drained / answer["seconds"])
    if answer["bodies"] != measured.drained:
        measured.remarks.append(f"ran {answer['bodies']:,} bodies for {measured.drained:,} jobs")


def _take_pick_up(talk: Conversation, measured: Measured, scale: Scale) -> None:
    measured.latencies += talk.ask("pick-up", scale.samples, WITHIN)["milliseconds"]


def _take_fires(talk: Conversation, measured: Measured, scale: Scale) -> None:
    if scale.schedules and not measured.fires:
        answer = talk.ask("fires", scale.schedules, FIRES_WITHIN)
        measured.fires += answer.get("milliseconds", [])


TAKES: Mapping[str, Callable[[Conversation, Measured, Scale], None]] = {
    "enqueue": _take_enqueue,
    "bulk": _take_bulk,
    "drain": _take_drain,
    "pick-up": _take_pick_up,
    "fires": _take_fires,
}
