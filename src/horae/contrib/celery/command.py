"""`horae import celery`: prints a Celery application as code of Horae. Needs no database."""

import json
from typing import Annotated

import typer

from horae.cli.loading import find
from horae.cli.options import AsJson
from horae.contrib.celery.library import celery_module
from horae.contrib.celery.moving import read_application, written

import_app = typer.Typer()


@import_app.callback()
def import_from() -> None:
    """Print what another job system declares as code of Horae."""


@import_app.command("celery")
def import_celery(
    application: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:ATTRIBUTE", help="The Celery application, such as shop.celery:app."
        ),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Print the tasks and the beat_schedule of a Celery application as code of Horae.

    Imports the application and its tasks, and connects to nothing.
    """
    celery_module("celery")
    _, found = find(application)
    code = written(read_application(found, application))
    typer.echo(json.dumps({"code": code}) if as_json else code, nl=as_json)
