"""The roles of a process: what is accepted, and what is refused with what is allowed."""

from collections.abc import Iterable
from typing import Any

import pytest

from horae import Horae
from horae.client.doctor.finding import Level
from horae.client.doctor.schedules import schedule_findings
from horae.client.doctor.work import node_findings
from horae.domain.cluster.roles import ALL_ROLES, NodeRole, parse_roles
from horae.domain.jobs.job import NodeId
from horae.errors import ConfigurationError, InvalidRequest
from horae.runtime.components import NodeKeywords, options_from
from horae.settings import settings
from horae.storage.nodes.nodes import NodeView
from horae.storage.schedules.health import ScheduleHealth

ALLOWED = "expected one or more of worker, scheduler, web"


@pytest.mark.parametrize(
    ("given", "roles"),
    [
        ("worker", (NodeRole.WORKER,)),
        ("web, worker", (NodeRole.WORKER, NodeRole.WEB)),
        (["scheduler", "worker", "worker"], (NodeRole.WORKER, NodeRole.SCHEDULER)),
        ("worker,scheduler,web,", ALL_ROLES),
    ],
)
def test_roles_are_read(given: str | Iterable[str], roles: tuple[NodeRole, ...]) -> None:
    assert parse_roles(given) == roles


@pytest.mark.parametrize("given", ["", " , ", [], "workers", "worker,Web"])
def test_none_and_unknown_ones_are_refused(given: str | Iterable[str]) -> None:
    with pytest.raises(InvalidRequest, match=ALLOWED):
        parse_roles(given)


@pytest.mark.parametrize("text", ["", "janitor"])
def test_the_variable_is_checked(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HORAE_ROLES", text)
    with pytest.raises(ConfigurationError, match=f"HORAE_ROLES.*{ALLOWED}"):
        settings()


def test_the_variable_and_the_argument_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert settings().roles == ALL_ROLES
    monkeypatch.setenv("HORAE_ROLES", "scheduler,worker")
    assert settings().roles == (NodeRole.WORKER, NodeRole.SCHEDULER)
    assert settings(roles=["web"]).roles == (NodeRole.WEB,)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, (True, True, False)),
        ({"roles": ("worker",)}, (True, False, False)),
        ({"roles": ("scheduler", "web")}, (False, True, True)),
        ({"scheduler": False}, (True, False, False)),
        ({"roles": ("worker", "scheduler"), "scheduler": False}, (True, False, False)),
        ({"worker": False, "scheduler": False}, (False, False, False)),
    ],
)
def test_a_node_has_the_roles_that_it_is_given(
    given: NodeKeywords, expected: tuple[bool, bool, bool]
) -> None:
    options = options_from(ALL_ROLES, given)
    assert (options.worker, options.scheduler, options.web) == expected


def test_a_node_that_would_only_be_a_web_server_is_refused(tmp_path: object) -> None:
    horae = Horae(f"sqlite:///{tmp_path}/horae.db", roles=("web",))
    with pytest.raises(ConfigurationError, match="needs the role worker or scheduler"):
        horae.node()
    with pytest.raises(ConfigurationError, match=ALLOWED):
        horae.node(roles=("boss",))
    horae.close()


def node(*roles: str) -> NodeView:
    given: dict[str, Any] = dict.fromkeys(NodeView.__dataclass_fields__)
    given |= {
        "id": NodeId("a"),
        "roles": list(roles),
        "types": ["a"],
        "concurrency": 1,
        "running": 0,
    }
    return NodeView(**given)


def schedules(count: int) -> ScheduleHealth:
    return ScheduleHealth(late=[], failing=[], job_types={"a": count} if count else {})


@pytest.mark.parametrize(
    ("roles", "count", "messages"),
    [
        (["worker", "scheduler"], 2, []),
        (["worker"], 0, []),
        (
            ["worker"],
            2,
            ["2 enabled schedules, and no live node has the role scheduler, so none will start"],
        ),
        (["scheduler"], 2, ["1 node alive, and none has the role worker, so no job runs"]),
    ],
)
def test_the_doctor_warns_of_a_role_that_no_live_node_has(
    roles: list[str], count: int, messages: list[str]
) -> None:
    alive = [node(*roles)]
    found = [*node_findings(alive, []), *schedule_findings(schedules(count), alive, known=["a"])]
    assert [finding.message for finding in found if finding.level is Level.WARNING] == messages
    assert all(finding.level is not Level.PROBLEM for finding in found)
