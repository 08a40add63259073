"""Laws of what stays changed at run time when a module is deployed again."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from horae.client.schedules.definition import (
    Definition,
    alter,
    declared_values,
    fields_of,
    redeclare,
    restore,
)
from horae.domain.schedules.schedule import Overlap, Rules
from horae.domain.schedules.trigger import parse_trigger
from horae.storage.schedules.rows import STATISTICS, StoredSchedule
from horae.types.registry import Registry

TRIGGERS = st.sampled_from(["0 3 * * *", "0 4 * * *", "30 * * * *"])
FIELDS = ("trigger", "overlap", "max_retries", "exclude", "queue", "priority", "params")


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    rules = Rules(
        key="shop.purge",
        trigger=parse_trigger("cron", draw(TRIGGERS)),
        overlap=draw(st.sampled_from([Overlap.SKIP, Overlap.BUFFER_ALL])),
        max_retries=draw(st.sampled_from([None, 3])),
        exclude=draw(st.sampled_from([(), ("2026-12-24",)])),
    )
    params = draw(st.sampled_from([None, '{"region": "eu"}', '{"region": "us"}']))
    queue, priority = draw(st.sampled_from(["default", "slow"])), draw(st.integers(0, 2))
    return Definition(
        name="purge",
        job_type="purge",
        params=params,
        rules=rules,
        queue=queue,
        priority=priority,
        module="shop",
    )


def stored(definition: Definition) -> StoredSchedule:
    """The row that a definition is written to."""
    empty: dict[str, Any] = dict.fromkeys(StoredSchedule._fields)
    values: dict[str, Any] = {
        **empty,
        **dict.fromkeys(STATISTICS, 0),
        **definition.columns,
        "name": "purge",
        "module": "shop",
    }
    return StoredSchedule(**values)


def fields(definition: Definition) -> dict[str, Any]:
    return fields_of(definition.columns)


class AnyParameters(Registry):
    """A registry whose types take whatever parameters are stored."""

    def get(self, name: str) -> Any:
        del name
        loads_anything = type("Any", (), {"load": staticmethod(lambda _text: None)})
        return type(
            "Kind",
            (),
            {"parameters": loads_anything, "named_limits": (), "tags": (), "max_attempts": 1},
        )


@given(definitions(), st.lists(definitions(), min_size=1, max_size=4), definitions())
def test_a_field_keeps_its_change_unless_its_declaration_changes(
    declared: Definition, changes: list[Definition], again: Definition
) -> None:
    row = stored(declared)
    for change in changes:
        row = stored(alter(row, change))
    first, current, new = fields(declared), fields_of(row._asdict()), fields(again)
    assert declared_values(row) == {
        name: first[name] for name in FIELDS if current[name] != first[name]
    }

    after = fields(redeclare(row, again, AnyParameters()))
    for name in FIELDS:
        was_changed, is_declared_anew = current[name] != first[name], new[name] != first[name]
        assert after[name] == (current[name] if was_changed and not is_declared_anew else new[name])


@given(definitions(), definitions(), definitions())
def test_after_any_deployment_a_reset_gives_what_is_declared(
    declared: Definition, change: Definition, again: Definition
) -> None:
    row = stored(alter(stored(declared), change))
    assert fields(restore(row, AnyParameters())) == fields(declared)
    deployed = stored(redeclare(row, again, AnyParameters()))
    assert fields(restore(deployed, AnyParameters())) == fields(again)
    assert restore(deployed, AnyParameters()).overrides is None
