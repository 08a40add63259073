"""Measures Horae beside other Python job systems on the same servers: `python -m benchmarks.peers`.

Each peer runs in an environment of its own, is called as its documentation says, and takes turns
with the others. The exit status is 1 if Horae falls short of a budget, or could not be measured.
"""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from benchmarks.command import (
    machine,
    page,
    parser_of,
    print_conditions,
    print_missed,
    table,
    write_json,
)
from benchmarks.peers.catalogue import NOT_COMPARED, PEERS, Peer
from benchmarks.peers.conversation import Conversation
from benchmarks.peers.environments import InstallationFailed, python_of
from benchmarks.peers.protocol import Place
from benchmarks.peers.report import as_json, budgets, peer_table
from benchmarks.peers.rounds import Measured, Scale, measure
from tests.harness.postgres import PostgresServer, database_name
from tests.harness.redis import RedisServer

QUICK = Scale(
    rounds=1,
    singles=100,
    bulk=1000,
    jobs=1000,
    samples=10,
    schedules=0,
    drain_seconds=2.0,
    trial=50,
)
NAMES = tuple(peer.name for peer in PEERS)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    scale = QUICK if options.quick else Scale(rounds=options.rounds, jobs=options.jobs)
    console = page()
    chosen = chosen_peers(options.only)
    with ExitStack() as opened:
        status = opened.enter_context(console.status("installs"))
        pythons, left_out = installed(chosen, status.update)
        postgres = opened.enter_context(PostgresServer())
        redis = opened.enter_context(RedisServer())
        folder = Path(opened.enter_context(TemporaryDirectory(prefix="horae-peers-")))
        stated = conditions(scale)
        peers = [peer for peer in chosen if peer.name in pythons]
        numbers = {peer.name: number for number, peer in enumerate(peers)}

        def open_peer(peer: Peer, own: Path) -> Conversation:
            name = database_name(postgres.create_database())
            place = Place(
                f"postgresql://postgres@127.0.0.1:{postgres.port}/{name}",
                redis.url(numbers[peer.name]),
                own,
                peer.variant,
            )
            module = f"{peer.modules}.{peer.adapter}"
            command = [str(pythons[peer.name]), "-m", "benchmarks.peers.adapter", module]
            return Conversation(peer.name, command, place.as_environment(), own / "log")

        found = measure(peers, open_peer, folder, scale, status.update)
    return report(console, [*found, *left_out], stated, options.json)


def chosen_peers(names: Sequence[str] | None) -> list[Peer]:
    """Return the named peers, and Horae on the same kind of store; all if none is named."""
    named = [peer for peer in PEERS if names is None or peer.name in names]
    kinds = {peer.durability for peer in named}
    return [peer for peer in PEERS if peer in named or (peer.is_horae and peer.durability in kinds)]


def installed(
    peers: Sequence[Peer], say: Callable[[str], None]
) -> tuple[dict[str, Path], list[Measured]]:
    """Return the interpreters of the peers, and those that could not be installed."""
    pythons: dict[str, Path] = {}
    left_out: list[Measured] = []
    for peer in peers:
        say(f"installs: {peer.name}")
        try:
            pythons[peer.name] = python_of(peer)
        except InstallationFailed as error:
            left_out.append(Measured(peer, failure=str(error)))
    return pythons, left_out


def report(
    console: Console, found: Sequence[Measured], stated: Mapping[str, str], file: Path | None
) -> int:
    """Print what was measured, write it to the file, and return the exit status."""
    figures = budgets(found)
    print_conditions(console, stated)
    console.print(peer_table(found), table(figures), sep="\n\n")
    for name, reason in NOT_COMPARED.items():
        console.print(f"[dim]not compared: {name}: {reason}[/dim]", highlight=False)
    write_json(
        file,
        {
            "conditions": stated,
            "peers": [as_json(each) for each in found],
            "figures": [figure.as_json() for figure in figures],
            "not compared": NOT_COMPARED,
        },
    )
    for each in found:
        for remark in each.remarks:
            console.print(f"remark: {each.peer.name}: {remark}", highlight=False, markup=False)
        if each.failure:
            console.print(f"left out: {each.failure}", highlight=False, markup=False)
    missed = print_missed(console, figures)
    return 1 if missed or any(each.failure for each in found if each.peer.is_horae) else 0


def conditions(scale: Scale) -> dict[str, str]:
    """Return the conditions by name."""
    return {
        **machine(),
        "horae": version("horae"),
        "servers": "PostgreSQL with its default settings; Redis with neither RDB nor AOF",
        "scale": (
            f"{scale.rounds} rounds; {scale.singles:,} enqueued one by one, {scale.bulk:,} at once, "
            f"drains of up to {scale.jobs:,}, {scale.samples} pick-ups, "
            f"once {scale.schedules:,} schedules due at the same moment"
        ),
        "figures": "median (lowest-highest); the peers take turns within each round",
    }


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    return parser_of(
        "benchmarks.peers",
        __doc__,
        NAMES,
        Scale(),
        noun="peer",
        only="measure these beside Horae",
        quick="little, once: whether all runs, not how fast",
    ).parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
