"""The common shape of commands: call the application on an existing database, print the answer."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

import typer

from horae.cli.context import opened, target_of
from horae.cli.failures import DONE
from horae.cli.options import AsJson
from horae.cli.printing import Columns, print_fields, print_json, print_table


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command prints: values for `--json`, and a text, or a call that prints, for people."""

    values: Any
    text: str | Callable[[], None]
    exit_code: int = DONE


def table(name: str, items: Sequence[Any], columns: Columns, *, empty: str) -> Answer:
    """Return items as a table, and as JSON under a name."""
    return Answer({name: items}, functools.partial(print_table, columns, items, empty=empty))


def fields(values: Any, shown: Iterable[tuple[str, object]]) -> Answer:
    """Return an answer that is shown as one line for each name and value."""
    return Answer(values, functools.partial(print_fields, shown))


def print_answer(answer: Answer, *, as_json: bool) -> None:
    """Print an answer; raises Exit unless the command has succeeded."""
    if as_json:
        print_json(answer.values)
    elif isinstance(answer.text, str):
        typer.echo(answer.text)
    else:
        answer.text()
    if answer.exit_code != DONE:
        raise typer.Exit(answer.exit_code)


def printed(command: Callable[..., Answer]) -> Callable[..., None]:
    """Make a command of a function: it has the option `--json` as well, and prints the answer."""

    @functools.wraps(command)
    def call(*, as_json: bool, **given: Any) -> None:
        print_answer(command(**given), as_json=as_json)

    own = inspect.signature(command).parameters.values()
    last = Parameter("as_json", Parameter.KEYWORD_ONLY, default=False, annotation=AsJson)
    call.__signature__ = inspect.Signature([*own, last])  # type: ignore[attr-defined]
    return call


def on_database(
    command: Callable[..., Answer], *, needs_application: bool = False, emergency: bool = False
) -> Callable[..., None]:
    """Make a printed command of a function of the application, opened on an existing database.

    `emergency`: with --database it works even if the application cannot be loaded.
    """

    @functools.wraps(command)
    def call(context: typer.Context, **given: Any) -> Answer:
        if needs_application:
            _ = target_of(context).application
        if emergency:
            target_of(context).do_without_application()
        with opened(context) as horae:
            return command(horae, **given)

    _, *own = inspect.signature(command).parameters.values()
    first = Parameter("context", Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    call.__signature__ = inspect.Signature([first, *own])  # type: ignore[attr-defined]
    return printed(call)


on_application = functools.partial(on_database, needs_application=True)
"""Make a command that needs the job types of an application, named by --app or HORAE_APP."""
