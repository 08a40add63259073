"""`horae status`: whether anything is wrong now, in a sentence, and what."""

from typing import Any

import typer
from rich.text import Text

from horae.api.overview import take_overview
from horae.app import Horae
from horae.cli.command import Answer, on_database
from horae.cli.commands.doctor import print_finding
from horae.cli.failures import DONE, FAILED
from horae.cli.printing import console
from horae.client.doctor import Finding
from horae.client.operations import Overview
from horae.domain.jobs import JobState
from horae.sentences import counted


@on_database
def status(horae: Horae) -> Answer:
    """Say whether anything is wrong now, and what.

    It is the list that the dashboard begins with. Exits with 1 if something needs action; what is
    only paused, or worth a look, does not. `horae doctor` also checks the database, the server and
    the settings, and takes longer.
    """
    taken = take_overview(horae.components, horae.settings)
    values: dict[str, Any] = {
        "ok": taken.is_well,
        "summary": taken.summary,
        "at": taken.at,
        "problems": [as_values(each, taken) for each in taken.problems],
        "waiting": taken.states[JobState.PENDING],
        "running": taken.states[JobState.STARTED],
        "nodes": taken.nodes_alive,
        "slots": taken.slots,
    }

    def show() -> None:
        console().print(Text(taken.summary, style="bold"))
        for each in taken.problems:
            print_finding(each)
        typer.echo(
            f"{counted(taken.nodes_alive, 'node')} with {counted(taken.slots, 'slot')};"
            f" {counted(values['running'], 'job')} running, {values['waiting']:,} waiting"
        )

    return Answer(values, show, DONE if taken.is_well else FAILED)


def as_values(found: Finding, taken: Overview) -> dict[str, Any]:
    """Return a problem as `--json` prints it; the fields are documented and stable."""
    return {
        "level": found.level,
        "kind": found.kind,
        "subject": found.check,
        "message": found.message,
        "advice": found.advice,
        "since": found.began(taken.at),
        "about": found.about,
        "counted": found.counted,
        "deeds": found.deeds,
    }
