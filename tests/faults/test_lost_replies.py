"""Every statement of nodes and callers is committed, and its caller gets an error instead of the answer.

On SQLite the driver's error is raised after the commit; on PostgreSQL a proxy loses the answer of the server and resets
the connection. `TEST_EVERY_CALL=1` loses one answer in each run instead of many.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random
from typing import Final

import pytest
from sqlalchemy import make_url

from horae.storage.engine import POSTGRESQL, SQLITE, Database
from tests.faults.lost_replies.call_sites import CallSite, call_sites
from tests.faults.lost_replies.story import Story
from tests.faults.lost_replies.striking import Striking
from tests.harness.applications import url_of
from tests.harness.network import Network

SEED: Final = int(os.environ.get("TEST_SEED", "20260101"))
EVERY_CALL: Final = "TEST_EVERY_CALL" in os.environ
GROUPS: Final = len([*call_sites()]) if EVERY_CALL else 2
"""Runs, over which the calls are distributed at random."""

NOT_REACHED: Final = {  # functions, or single calls of them
    "Schedules._unless_same_secrets": "only for secret parameters: tests/runtime/test_sealed_secrets.py",
    "_results_before": "only for jobs that take results: tests/client/test_chains.py",
    "Claimer._claim_beyond": "only while claims are slow: tests/runtime/test_cursor_claims.py",
    "LaneClaimer.claim:cancelling.discard": "only for limits that discard: tests/storage/test_lanes.py",
    "Hooks.delete_orphans": "only with a store of large values: tests/runtime/test_large_values.py",
    "Hooks.large_values_of": "only with a store of large values: tests/runtime/test_large_values.py",
    "ClockWatch._make_jobs_due:premature.make_due": "only after the clock was set: tests/schedules/test_clock_steps.py",
    "ClockWatch._pull_in_schedules:clock_setbacks.pull_in": "only after the clock was set back: tests/schedules/test_clock_steps.py",
    "InlineClaims._hand_back_lost": "only after the answer to another call was lost: tests/client/test_inline.py",
    "Sweeper._clean:reading.find_occupied": "only if the report of a job is in the live store at that moment, which is a race",
    "_Execution._change_one": "only for jobs that have changed meanwhile: tests/client/test_bulk.py",
    "Jobs.cancel_group:reading.get": "only for groups whose members have ended: tests/client/test_groups.py",
    "JobStarts._insert_rest": "only for more than 10,000 members: tests/client/test_groups.py",
    "GroupCanceller.request_cancels": "only while members run: tests/client/test_groups.py",
    "GroupSweeper.sweep:follow_ups.cancel_group": "only after another node was killed: tests/faults/test_groups.py",
    "GroupSweeper.sweep:follow_ups.report_late": "only for ends in repeatable-read transactions: tests/storage/test_groups.py",
    "until_ended_async": "only in coroutines that wait: tests/client/test_waiting_bodies.py",
    "Deployments._today": "only with calendar functions: tests/schedules/test_exclusions.py",
    "Deployments.deploy:reading.of_module": "only with calendar functions: tests/schedules/test_exclusions.py",
    "Deployments.refresh:changes.set_computed": "only after the code has changed: tests/schedules/test_exclusions.py",
    "Deployments.refresh:check_startable": "only for schedules with limits: tests/schedules/test_limited_runs.py",
    "Deployments.refresh:reading.with_calendar": "only with calendar functions: tests/schedules/test_exclusions.py",
    "Schedules._with_days": "only with calendar functions: tests/schedules/test_exclusions.py",
    "Queues.reset": "only for declared queues: tests/client/test_declared_queues.py",
    "Schedules.reset": "only for declared schedules: tests/schedules/test_overrides.py",
    "Sweeper._clean:logs.forget": "only with log lines that are old: tests/runtime/test_job_logs.py",
    "schedules_row:reading.similar_to": "only for names that no schedule has: tests/cli/test_did_you_mean.py",
    "shown_names": "only for changes that name schedules by their ids: tests/api/test_audit.py",
    "writer_to": "only for bodies that log: tests/runtime/test_job_logs.py",
    "Queues.set_backend": "only with a backend: tests/runtime/test_dispatching.py",
    "check_backends": "only with a backend: tests/runtime/test_dispatching.py",
    "Dispatcher._deliver": "only with a backend: tests/runtime/test_dispatching.py",
    "Dispatcher.dispatch": "only with a backend: tests/runtime/test_dispatching.py",
    "Dispatcher._send_limited": "only with a backend: tests/runtime/test_dispatching_limits.py",
    "Dispatcher._send_lost": "only with a backend: tests/runtime/test_dispatching.py",
    "Dispatcher._compare:dispatching.withdraw_messages_of": "only with a backend: tests/runtime/test_dispatching.py",
    "Peers.run": "only after some seconds, and only with other nodes: tests/runtime/test_peers.py",
    "Heartbeat._beat_here": "only while the server accepts no new connection: tests/runtime/test_used_up_connections.py",
}
ONLY_ON: Final = {
    "DatabaseMembership": POSTGRESQL,
    "FileMembership": SQLITE,
    "ClockWatch.look:read_clock": POSTGRESQL,
}
"""Classes and functions that call only one kind of database."""


def shuffled() -> list[CallSite]:
    """Return all call sites in an order that the seed decides."""
    sites = list(call_sites())
    Random(SEED).shuffle(sites)
    return sites


@pytest.fixture
def network(database: Database, request: pytest.FixtureRequest) -> Iterator[Network | None]:
    """A network between the application and its server, if it has one."""
    with ExitStack() as stack:
        if database.dialect == SQLITE:
            yield None
        else:
            yield stack.enter_context(Network(request.getfixturevalue("postgres_server").port))


def url_through(network: Network | None, database: Database) -> str:
    url = url_of(database)
    return (
        url
        if network is None
        else make_url(url).set(port=network.port).render_as_string(hide_password=False)
    )


def expected(database: Database) -> set[str]:
    """Return the call sites that the story must reach on this kind of database."""
    return {
        str(site)
        for site in call_sites()
        if NOT_REACHED.keys().isdisjoint({site.function, f"{site.function}:{site.statement}"})
        and {
            ONLY_ON.get(name)
            for name in (
                site.function,
                site.function.split(".")[0],
                f"{site.function}:{site.statement}",
            )
        }
        <= {None, database.dialect}
    }


@pytest.mark.slow
def test_every_call_in_the_source_is_reached(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    striking = Striking(call_sites(), (), None)
    striking.install(monkeypatch)
    story = Story(url_of(database), monkeypatch)
    story.run()
    assert story.problems == []
    missed = expected(database) - {str(site) for site in striking.calls}
    assert missed == set(), (
        "let `Story` reach these calls, or name them in NOT_REACHED or LEFT_OUT with the reason"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("database", "group"),
    [
        # By day, one half of the answers is lost on each database, at night all are.
        pytest.param(
            database,
            group,
            marks=pytest.mark.nightly if not EVERY_CALL and group == by_night else (),
        )
        for by_night, database in enumerate((POSTGRESQL, SQLITE))
        for group in range(GROUPS)
    ],
    indirect=["database"],
)
def test_a_lost_answer_loses_and_repeats_nothing(
    database: Database, network: Network | None, monkeypatch: pytest.MonkeyPatch, group: int
) -> None:
    chosen = set(shuffled()[group::GROUPS])
    striking = Striking(call_sites(), chosen, network)
    striking.install(monkeypatch)
    with ExitStack() as stack:
        if network is not None:
            stack.enter_context(network.losing_answers(striking.is_lost))
        story = Story(url_through(network, database), monkeypatch)
        story.run()
    assert story.problems == []
    # A call may not be reached because an earlier one of the same function has failed.
    wanted = expected(database) & {str(site) for site in chosen}
    struck = wanted & {str(site) for site in striking.struck}
    assert len(struck) >= 0.8 * len(wanted)
    assert network is None or network.lost >= 0.9 * len(struck)
